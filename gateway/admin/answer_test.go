package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
)

// What an operator asked for is refused by a code and a status that agree, and only the
// log has the cause.
func TestRefusals(t *testing.T) {
	const secret = "postgres://user:password@store"
	corrupt := api.Job{Progress: json.RawMessage("{")} // as a row that was tampered with has it
	for name, c := range map[string]struct {
		body   any
		err    error
		status int
		code   arm.Code
	}{
		"an answer that cannot be written": {corrupt, nil, http.StatusInternalServerError, arm.InternalServerError},
		"an error that no one expects":     {nil, errors.New(secret), http.StatusInternalServerError, arm.InternalServerError},
		"a store that does not answer":     {nil, fmt.Errorf("%s: %w", secret, inventory.ErrUnavailable), http.StatusServiceUnavailable, arm.ServiceUnavailable},
		"a request that conflicts":         {nil, arm.NewError(arm.Conflict), http.StatusConflict, arm.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			core, logged := observer.New(zap.ErrorLevel)
			l := &listener{Options: Options{Log: zap.New(core)}}
			w := httptest.NewRecorder()
			l.serve(func(http.ResponseWriter, *http.Request) (int, any, error) { return http.StatusOK, c.body, c.err }).
				ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/admin/jobs", nil))
			var answer struct{ Error arm.Error }
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if w.Code != c.status || answer.Error.Code != c.code || answer.Error.Message == "" || strings.Contains(answer.Error.Message, secret) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, c.status, c.code)
			}
			if lines := logged.Len(); (lines > 0) != (c.status >= http.StatusInternalServerError) {
				t.Errorf("%d lines in the log", lines)
			}
		})
	}
}
