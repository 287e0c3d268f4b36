package batch

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/tracing"
)

// answer is the answer to one request of a batch, without its content.
type answer struct {
	Name          json.RawMessage   `json:"name,omitempty"`
	Status        int               `json:"httpStatusCode"`
	Headers       map[string]string `json:"headers"`
	ContentLength int               `json:"contentLength"`
}

// encode writes an answer as it stands in that of its batch. Content that is JSON
// stands there as it came, any other as a text.
func encode(name json.RawMessage, status int, h http.Header, content []byte) []byte {
	a := answer{Name: name, Status: status, Headers: map[string]string{}, ContentLength: len(content)}
	for name, values := range h {
		if len(values) > 0 {
			a.Headers[spelling(name)] = strings.Join(values, ", ")
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
		if content, err = json.Marshal(string(content)); err != nil { // a text has a JSON form
			panic(err)
		}
	}
	text = append(text[:len(text)-1], `,"content":`...)
	return append(append(text, content...), '}')
}

// encodedSize is how long content becomes when it is encoded: in a text, up to six
// bytes stand for one.
func encodedSize(content []byte) int64 {
	size := int64(len(content))
	if json.Valid(content) {
		return size
	}
	for rest := content; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		switch {
		case r < ' ', r == '<', r == '>', r == '&', r == '\u2028', r == '\u2029':
			size += 6 - int64(n)
		case r == utf8.RuneError && n == 1:
			size += 2
		case r == '"', r == '\\':
			size++
		}
		rest = rest[n:]
	}
	return size
}

// encodeError writes the answer to a request that was not sent.
func encodeError(name json.RawMessage, caller *Caller, fault *arm.Error) []byte {
	h := http.Header{
		"Content-Type":             {"application/json; charset=utf-8"},
		tracing.CorrelationHeader:  {caller.Correlation},
		tracing.FailureCauseHeader: {"gateway"},
	}
	exchange.SetRetryAfter(h, fault.RetryAfter)
	return encode(name, fault.Status, h, fault.Body())
}

// spellings are names that are not written as net/http writes them.
var spellings = map[string]string{
	"Etag": "ETag", "Azure-Asyncoperation": "Azure-AsyncOperation", "Www-Authenticate": "WWW-Authenticate",
}

// spelling is the name of a header as ARM writes it: readers of JSON do not fold.
func spelling(name string) string {
	if strings.HasPrefix(name, "X-Ms-") {
		return strings.ToLower(name)
	}
	if s := spellings[name]; s != "" {
		return s
	}
	return name
}
