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

// encode returns an answer as an element of the batch's answer. JSON content is copied
// unchanged, other content becomes a string.
func encode(name json.RawMessage, status int, h http.Header, content []byte) []byte {
	a := answer{Name: name, Status: status, Headers: map[string]string{}, ContentLength: len(content)}
	for name, values := range h {
		if len(values) > 0 {
			a.Headers[headerSpelling(name)] = strings.Join(values, ", ")
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
		if content, err = json.Marshal(string(content)); err != nil { // a string always marshals
			panic(err)
		}
	}
	text = append(text[:len(text)-1], `,"content":`...)
	return append(append(text, content...), '}')
}

// encodedSize returns the length of content once it is encoded: in a string, one byte can
// become six.
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

// encodeError returns the answer to a request that was not sent.
func encodeError(name json.RawMessage, caller *Caller, fault *arm.Error) []byte {
	h := http.Header{
		"Content-Type":             {"application/json; charset=utf-8"},
		tracing.CorrelationHeader:  {caller.Correlation},
		tracing.FailureCauseHeader: {"gateway"},
	}
	exchange.SetRetryAfter(h, fault.RetryAfter)
	return encode(name, fault.Status, h, fault.Body())
}

// headerSpellings maps names in net/http's spelling to ARM's.
var headerSpellings = map[string]string{
	"Etag": "ETag", "Azure-Asyncoperation": "Azure-AsyncOperation", "Www-Authenticate": "WWW-Authenticate",
}

// headerSpelling returns the name of a header as ARM writes it: readers of JSON match
// case.
func headerSpelling(name string) string {
	if strings.HasPrefix(name, "X-Ms-") {
		return strings.ToLower(name)
	}
	if s := headerSpellings[name]; s != "" {
		return s
	}
	return name
}
