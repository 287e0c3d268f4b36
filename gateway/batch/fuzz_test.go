package batch

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Whatever is sent as a batch is refused as a whole, or made of requests that
// are fit for the wire, and whose answers are JSON.
func FuzzBatch(f *testing.F) {
	for _, seed := range []string{
		`{"requests":[{"httpMethod":"get","name":1e9,"url":"/a b?c=d'e","headers":{"If-Match":["x"],"a":null}}]}`,
		`{"requests":[{"httpMethod":"PUT","name":"\u0000<","relativeUrl":"http://portico.example?x","content":{"a":1},"requestHeaderDetails":{"commandName":"b"}}]}`,
		`{"Requests":[{"HTTPMETHOD":"x","URL":"//evil","content":null,"name":null}]}`,
		`{"requests":[{"httpMethod":"GET","url":"http://portico.example@evil/","headers":{"x":"\r\n","é":""}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		requests, fault := Read(content, 10)
		if fault != nil {
			if fault.Status != http.StatusBadRequest || len(requests) != 0 {
				t.Errorf("%v, %d requests", fault, len(requests))
			}
			return
		}
		for i := range requests {
			q := &requests[i]
			target, fault := q.Target(func(host string) bool { return host == "portico.example" })
			if fault == nil && (!strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") && !strings.Contains(q.URL+q.RelativeURL, "://") ||
				strings.IndexFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) >= 0) {
				t.Errorf("%q", target)
			}
			header, fault := q.Header(http.Header{})
			for name, values := range header {
				if fault != nil || !validName(name) || len(values) == 0 || !validValue(strings.Join(values, "")) {
					t.Errorf("%q: %q", name, values)
				}
			}
			if answer := encode(q.Name, 200, http.Header{"A": {"b"}}, q.Content); !json.Valid(answer) {
				t.Errorf("%s", answer)
			}
		}
	})
}
