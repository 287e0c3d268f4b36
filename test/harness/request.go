package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// callBound ends a call without an answer; it exceeds the 60 seconds after which
// Portico itself gives up on a provider.
const callBound = 90 * time.Second

// Request is one call. The zero values mean: GET, no body, no headers.
type Request struct {
	Method string
	Path   string // with its query; sent unchanged
	Body   string // sent as application/json unless Header says otherwise
	Header http.Header
	// Anonymous omits the Authorization header, which otherwise has the first token of
	// Portico's configuration.
	Anonymous bool
}

// Header makes a header of name, value, name, value, …
func Header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// Answer is the answer to a call, its body read to the end.
type Answer struct {
	Request Request
	Status  int
	Header  http.Header
	Body    []byte
}

// Want ends the test unless the answer has one of these statuses. It returns
// the answer, for chaining.
func (a Answer) Want(t testing.TB, statuses ...int) Answer {
	t.Helper()
	if slices.Contains(statuses, a.Status) {
		return a
	}
	t.Fatalf("%s %s: status %d, want %v; body: %s", a.method(), a.Request.Path, a.Status, statuses, a.Body)
	return a
}

// WantError ends the test unless the answer has this status and an ARM error
// of this code.
func (a Answer) WantError(t testing.TB, status int, code string) Answer {
	t.Helper()
	a.Want(t, status)
	if got := a.ErrorCode(); got != code {
		t.Fatalf("%s %s: error code %q, want %q; body: %s", a.method(), a.Request.Path, got, code, a.Body)
	}
	return a
}

// ErrorCode is the code of the ARM error in the body, "" if there is none.
func (a Answer) ErrorCode() string {
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(a.Body, &body) != nil {
		return ""
	}
	return body.Error.Code
}

// JSON decodes the body into a generic value, or ends the test.
func (a Answer) JSON(t testing.TB) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.Body, &v); err != nil {
		t.Fatalf("%s %s: %v; body: %s", a.method(), a.Request.Path, err, a.Body)
	}
	return v
}

// Values are the objects in the body's value array; without one the test ends.
func (a Answer) Values(t testing.TB) []map[string]any {
	t.Helper()
	var v struct {
		Value []map[string]any `json:"value"`
	}
	if err := json.Unmarshal(a.Body, &v); err != nil || v.Value == nil {
		t.Fatalf("%s %s: no value array (%v); body: %s", a.method(), a.Request.Path, err, a.Body)
	}
	return v.Value
}

func (a Answer) method() string {
	if a.Request.Method == "" {
		return http.MethodGet
	}
	return a.Request.Method
}

// send makes one call of base with client and reads the answer.
func send(ctx context.Context, client *http.Client, base, token string, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, base+r.Path, body)
	if err != nil {
		return Answer{}, err
	}
	if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" && !r.Anonymous {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	maps.Copy(req.Header, r.Header)
	if host := r.Header.Get("Host"); host != "" {
		req.Header.Del("Host")
		req.Host = host
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var text bytes.Buffer
	if _, err := text.ReadFrom(resp.Body); err != nil {
		return Answer{}, fmt.Errorf("%s %s: reading the answer: %w", r.Method, r.Path, err)
	}
	return Answer{Request: r, Status: resp.StatusCode, Header: resp.Header, Body: text.Bytes()}, nil
}

// newClient is an HTTP client that uses no proxy and follows no redirect. Close its
// idle connections before its server ends: a server that stops cleanly waits for them.
func newClient(transport *http.Transport) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
