package exchange

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"portico/arm"
	"portico/inventory"
)

func TestUnknownFailures(t *testing.T) {
	x := &Exchange{}
	if fault := x.faultOf(errors.New("inner")); fault.Status != 500 || fault.Code != arm.InternalServerError || strings.Contains(fault.Message, "inner") || fault.RetryAfter != 0 {
		t.Errorf("%+v", fault)
	}
	if fault := x.faultOf(fmt.Errorf("a: %w", inventory.ErrUnavailable)); fault.Code != arm.ServerTimeout || fault.RetryAfter != arm.OutageRetryAfter {
		t.Errorf("%+v", fault)
	}
	refusal := arm.NewError(arm.NotImplemented)
	if fault := x.faultOf(fmt.Errorf("a: %w", refusal)); fault != refusal {
		t.Errorf("%+v", fault)
	}
}

// Retry-After counts whole seconds, and never less than was asked for.
func TestRetryAfterOfFaults(t *testing.T) {
	handler := Begin(&Settings{})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fault := arm.NewError(arm.Conflict)
		fault.RetryAfter = 1100 * time.Millisecond
		Fail(w, r, fault)
	}))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if w.Header().Get("Retry-After") != "2" || w.Code != 409 {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestRequestOutsideTheChain(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a request without an exchange was served")
		}
	}()
	From(httptest.NewRequest(http.MethodGet, "/", http.NoBody))
}
