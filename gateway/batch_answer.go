package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/tracing"
)

// batchedAnswer is the answer to one request of a batch, but for its content.
type batchedAnswer struct {
	Name          json.RawMessage   `json:"name,omitempty"`
	Status        int               `json:"httpStatusCode"`
	Headers       map[string]string `json:"headers"`
	ContentLength int               `json:"contentLength"`
}

// answerOf is an answer as it stands in that of its batch. Content that is JSON
// stands there as it came, any other as a text.
func answerOf(name json.RawMessage, status int, h http.Header, content []byte) []byte {
	a := batchedAnswer{Name: name, Status: status, Headers: map[string]string{}, ContentLength: len(content)}
	for name, values := range h {
		if len(values) > 0 {
			a.Headers[spelled(name)] = strings.Join(values, ", ")
		}
	}
	text, err := json.Marshal(a)
	if err != nil { // the name was read from JSON, the rest has a JSON form
		panic(err)
	}
	if len(content) == 0 {
		return text
	}
	if !json.Valid(content) {
		content = quote(string(content))
	}
	text = append(text[:len(text)-1], `,"content":`...)
	return append(append(text, content...), '}')
}

// sizeInBatch is how long content becomes in the answer of its batch, where what is
// no JSON is a text: at most, six bytes stand for one.
func sizeInBatch(content []byte) int64 {
	size := int64(len(content))
	if json.Valid(content) {
		return size
	}
	for rest := content; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case r < ' ', r == '<', r == '>', r == '&', r == utf8.RuneError && n == 1, r == '\u2028', r == '\u2029':
			size += 6 - int64(n)
		case r == '"', r == '\\':
			size++
		}
		rest = rest[n:]
	}
	return size
}

// refusalOf is the front door's own refusal of a request that never became one.
func refusalOf(name json.RawMessage, caller *batchCaller, fault *arm.Error) []byte {
	h := http.Header{
		"Content-Type":             {"application/json; charset=utf-8"},
		tracing.CorrelationHeader:  {caller.Correlation},
		tracing.FailureCauseHeader: {"gateway"},
	}
	exchange.SetRetryAfter(h, fault.RetryAfter)
	return answerOf(name, fault.Status, h, fault.Body())
}

// spellings are names that are not written as net/http writes them.
var spellings = map[string]string{
	"Etag": "ETag", "Azure-Asyncoperation": "Azure-AsyncOperation", "Www-Authenticate": "WWW-Authenticate",
}

// spelled is the name of a header as ARM writes it: readers of JSON do not fold.
func spelled(name string) string {
	if strings.HasPrefix(name, "X-Ms-") {
		return strings.ToLower(name)
	}
	if s := spellings[name]; s != "" {
		return s
	}
	return name
}
