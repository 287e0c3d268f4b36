package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"portico/gateway/admin/api"
	"portico/test/harness"
)

// longestExplained is how much content a request may have that is explained.
const longestExplained = 32 << 10

// longestHead is how much of a request line, or of headers, connections take.
const longestHead = 16 << 10

// explained asks for the explanation of a row's message, before it is sent; nil for one
// that a question has no room for: what HTTP itself refuses, headers that occur twice,
// another host.
func (w *world) explained(t *testing.T, m message) *api.Explanation {
	t.Helper()
	q := api.Question{Method: m.verb(), Path: m.target, Content: m.body, Header: map[string]string{}}
	plain := strings.HasPrefix(m.target, "/") && utf8.ValidString(m.target) && utf8.ValidString(m.body) &&
		!strings.ContainsFunc(m.target, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '"' })
	if m.host != "" || m.framed || !plain || len(m.body)+len(m.target) > longestExplained || strings.Trim(m.verb(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return nil
	}
	if len(m.target)+len(strings.Join(m.header, "\r\n")) > longestHead {
		return nil
	}
	for _, line := range m.header {
		name, value, found := strings.Cut(line, ":")
		name = http.CanonicalHeaderKey(name)
		if _, twice := q.Header[name]; !found || twice || strings.TrimSpace(value) == "" || slices.Contains(unexplained, name) {
			return nil
		}
		q.Header[name] = strings.TrimSpace(value)
	}
	return w.explain(t, q)
}

// explainedRaw asks for the explanation of a row's message as it is sent; nil for one that
// is too long for a question.
func (w *world) explainedRaw(t *testing.T, m message) *api.Explanation {
	t.Helper()
	return w.explain(t, api.Question{Raw: m.bytes(w.address)})
}

// longestQuestion is how much a question may have.
const longestQuestion = 64 << 10

func (w *world) explain(t *testing.T, q api.Question) *api.Explanation {
	t.Helper()
	body, err := json.Marshal(q)
	harness.OK(t, err)
	if len(body) > longestQuestion {
		return nil
	}
	answer, err := w.client.Post("http://"+w.admin+"/admin/explain", "application/json", bytes.NewReader(body))
	harness.OK(t, err)
	defer answer.Body.Close()
	var e api.Explanation
	if err := json.NewDecoder(answer.Body).Decode(&e); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("explain %s %s: %d, %v", q.Method, q.Path, answer.StatusCode, err)
	}
	return &e
}

// unexplained are headers about the connection, or about who is behind it.
var unexplained = []string{"Connection", "Content-Length", "Expect", "Host", "Origin", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Forwarded-For"}

// happened compares an explanation with what happened.
func (r row) happened(t *testing.T, e *api.Explanation, got reply, reached []received) {
	t.Helper()
	v := e.Verdict
	own := got.header.Get("x-ms-failure-cause") == "gateway"
	switch v.Outcome {
	case api.Answered, api.Refused:
		code := ""
		if own && r.verb() != http.MethodHead {
			code = got.failure(t).Error.Code
		}
		if got.status != v.Status || own && r.verb() != http.MethodHead && code != v.Code {
			t.Errorf("explained as %q\nbut it is answered with %s", v.Summary, got)
		}
		if len(reached) > len(e.Calls) {
			t.Errorf("explained as %q\nbut providers got %v", v.Summary, reached)
		}
	case api.Forwarded:
		for _, x := range reached {
			if !slices.ContainsFunc(e.Calls, func(c api.ExplainedCall) bool { return strings.HasSuffix(x.region, c.Region) }) {
				t.Errorf("explained as %q\nbut %s got %s %s", v.Summary, x.region, x.method, x.target)
			}
		}
		if len(reached) == 0 {
			t.Errorf("explained as %q\nbut no provider got anything, and it is answered with %s", v.Summary, got)
		}
	case api.Open:
	default:
		t.Errorf("%q is no outcome", v.Outcome)
	}
}
