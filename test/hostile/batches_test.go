package hostile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

const batchPath = "/batch?api-version=2020-06-01"

// batched is the answer to one request in a batch.
type batched struct {
	HTTPStatusCode int
	Headers        map[string]string
	ContentLength  int
	Content        json.RawMessage
}

func (b batched) code() string {
	var fault struct{ Error struct{ Code string } }
	_ = json.Unmarshal(b.Content, &fault)
	return fault.Error.Code
}

// batchOf is a batch of n GETs of one path.
func batchOf(n int, path string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(`{"name":"%d","httpMethod":"GET","url":%q}`, i, path)
	}
	return `{"requests":[` + strings.Join(parts, ",") + `]}`
}

// answers are the answers within a batch's answer.
func answers(t *testing.T, a harness.Answer) []batched {
	t.Helper()
	var got struct{ Responses []batched }
	if err := json.Unmarshal(a.Body, &got); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	return got.Responses
}

func statuses(all []batched) (codes []int) {
	for _, b := range all {
		codes = append(codes, b.HTTPStatusCode)
	}
	return codes
}

// inBatch sends a batch of one request, and returns the answer to it.
func (w world) inBatch(t *testing.T, method, url string, headers map[string]string) batched {
	t.Helper()
	text, err := json.Marshal(map[string]any{"requests": []any{map[string]any{"httpMethod": method, "url": url, "headers": headers}}})
	harness.OK(t, err)
	all := answers(t, w.as(t, alice, http.MethodPost, batchPath, string(text)).Want(t, 200))
	if len(all) != 1 {
		t.Fatalf("%d answers", len(all))
	}
	return all[0]
}

// begin sends a batch that must be polled, and returns the path of its result.
func (w world) begin(t *testing.T, who harness.Token, body string) string {
	t.Helper()
	return w.resultOf(w.as(t, who, http.MethodPost, batchPath, body).Want(t, 202))
}

// resultOf is the path of an accepted batch's result.
func (w world) resultOf(accepted harness.Answer) string {
	return strings.TrimPrefix(accepted.Header.Get("Location"), w.Portico.URL)
}

// end polls a batch to its end.
func (w world) end(t *testing.T, who harness.Token, poll string) []batched {
	t.Helper()
	var a harness.Answer
	eventuallySettled(t, "end of a batch", func() bool {
		a = w.as(t, who, http.MethodGet, poll, "").Want(t, 200, 202)
		return a.Status == 200
	})
	return answers(t, a)
}
