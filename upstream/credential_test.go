package upstream

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Each provider is told its own secret and no other's, in place of what the call brings.
// One that it does not accept is the operator's fault, as a certificate is, and the secret
// is not told to anybody else.
func TestCredentialOfAProvider(t *testing.T) {
	const secret, wrong = "Bearer the-secret-of-a", "Bearer not-accepted"
	seen := make(chan http.Header, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/demanding" && r.Header.Get("Authorization") != secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		seen <- r.Header.Clone()
	}))
	t.Cleanup(server.Close)
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		core, lines := observer.New(zap.DebugLevel)
		c := newClient(t, Options{Log: zap.New(core), Identities: Identities{
			"Contoso.A": {Header: "Authorization", Value: secret}, "Contoso.B": {Header: "X-Contoso-Key", Value: "b"}, "Contoso.Wrong": {Header: "Authorization", Value: wrong},
		}})
		call := func(identity, path string) (http.Header, error) {
			endpoint := endpointOf(at(t, server))
			endpoint.Identity = identity
			header := http.Header{"X-Contoso-Key": {"a client's"}}
			status, _, err := do(c, Call{Endpoint: endpoint, Method: method, Path: path, Header: header})
			if len(header["Authorization"]) > 0 || header.Get("X-Contoso-Key") != "a client's" {
				t.Errorf("the caller's headers are changed: %v", header)
			}
			if err != nil || status != http.StatusOK {
				return nil, fmt.Errorf("%d: %w", status, err)
			}
			return <-seen, nil
		}
		if h, err := call("Contoso.A", "/demanding"); err != nil || h.Get("X-Contoso-Key") != "a client's" {
			t.Errorf("a: %v, %v", h, err)
		}
		if h, err := call("Contoso.B", "/"); err != nil || h.Get("Authorization") != "" || fmt.Sprint(h["X-Contoso-Key"]) != "[b]" {
			t.Errorf("b: %v, %v", h, err)
		}
		if h, err := call("", "/"); err != nil || h.Get("Authorization") != "" {
			t.Errorf("none: %v, %v", h, err)
		}
		_, err := call("Contoso.Wrong", "/demanding")
		if fault := faultOf(t, err); ErrorKind(err) != "untrusted" || method == http.MethodPut && fault.Sent {
			t.Errorf("a wrong one: %+v", fault)
		}
		if text := fmt.Sprint(lines.All()); strings.Contains(text, "not-accepted") || !strings.Contains(text, "does not accept the credential") {
			t.Errorf("the log says %s", text)
		}
		// A 401 without a credential is an answer to the caller.
		endpoint := endpointOf(at(t, server))
		if status, _, err := do(c, Call{Endpoint: endpoint, Method: method, Path: "/demanding"}); err != nil || status != http.StatusUnauthorized {
			t.Errorf("without one: %d, %v", status, err)
		}
	}
}
