package batch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/internal/jsontext"
)

// headers is a JSON object of headers by name, each value a string or a list of strings.
// Its form is checked with the batch; it is read when the request is made.
type headers json.RawMessage

// check refuses headers of another form.
func (h *headers) check(path string) (fault *arm.Error) {
	switch kindOf(*h) {
	case "object":
	case "null":
		*h = nil
		return nil
	default:
		return misplaced(*h, path)
	}
	_ = jsontext.Object(*h, func(m jsontext.Member) error {
		if !textOrTexts(m.Value) {
			fault = invalid(path, fmt.Sprintf("the header '%s' is neither a text nor a list of texts", exchange.ShownName(m.Key)))
			return fault
		}
		return nil
	})
	return fault
}

// textOrTexts reports whether a value is a string, null, or a list of strings and nulls.
func textOrTexts(value []byte) bool {
	text := func(value []byte) bool { return value[0] == '"' || value[0] == 'n' }
	if value[0] != '[' {
		return text(value)
	}
	all := true
	_ = jsontext.Array(value, func(e jsontext.Element) error {
		all = all && text(e.Text)
		return nil
	})
	return all
}

// Bounds of a request's headers, the same as outside of a batch.
const (
	longestHeader = 16 << 10
	mostHeaders   = 100
)

// droppedHeaders lists headers that have no meaning in a batch, or a false one.
var droppedHeaders = []string{"Host", "Content-Length", "Content-Encoding", "Accept-Encoding", "Expect"}

// commandHeader is the header that requestHeaderDetails calls commandName.
const commandHeader = "X-Ms-Command-Name"

// Header returns the headers of the request, and defaults for those it lacks. If several
// members set a header, the last counts, in the order details, dictionary, headers.
func (q *Request) Header(defaults http.Header) (http.Header, *arm.Error) {
	h := headerReader{header: http.Header{}}
	for _, from := range []headers{q.details, q.dictionary, q.headers} {
		if len(from) == 0 {
			continue
		}
		if err := jsontext.Object(from, h.add); err != nil {
			return nil, h.fault
		}
	}
	for _, name := range droppedHeaders {
		delete(h.header, name)
	}
	for name, values := range defaults {
		if len(h.header[name]) == 0 {
			h.header[name] = values
		}
	}
	if len(q.Content) > 0 && len(h.header["Content-Type"]) == 0 {
		h.header["Content-Type"] = []string{"application/json; charset=utf-8"}
	}
	return h.header, nil
}

type headerReader struct {
	header       http.Header
	count, bytes int // of all values given
	fault        *arm.Error
}

// add reads one header. The error is also in h.fault.
func (h *headerReader) add(m jsontext.Member) error {
	var values []string
	value := func(e jsontext.Element) error {
		one, fault := h.value(m.Key, e.Text)
		if fault != nil {
			h.fault = fault
			return fault
		}
		values = append(values, one)
		return nil
	}
	var err error
	switch m.Value[0] {
	case '"':
		err = value(jsontext.Element{Text: m.Value})
	case '[':
		err = jsontext.Array(m.Value, value)
	}
	if err == nil && len(values) > 0 {
		h.header[headerName(m.Key)] = values
	}
	return err
}

// value reads one value of a header. It does not decode a value longer than the bound for
// all values.
func (h *headerReader) value(key, text []byte) (string, *arm.Error) {
	const longestEscape = 6 // of a single byte
	if h.count++; h.count > mostHeaders {
		return "", tooMuch("headers", mostHeaders)
	}
	if len(key) > longestHeader || len(text) > longestEscape*longestHeader {
		return "", tooMuch("bytes", longestHeader)
	}
	name := headerName(key)
	value, _ := jsontext.Text(text)
	if !validName(name) || !validValue(value) {
		return "", arm.NewError(arm.InvalidRequestHeader, name, "it holds what no header may hold").WithTarget(name)
	}
	if h.bytes += len(name) + len(value); h.bytes > longestHeader {
		return "", tooMuch("bytes", longestHeader)
	}
	return value, nil
}

// headerName returns the header that a key of a batch's headers stands for.
func headerName(key []byte) string {
	if strings.EqualFold(string(key), "commandName") {
		return commandHeader
	}
	return http.CanonicalHeaderKey(string(key))
}

// tooMuch refuses headers that are too many or too long.
func tooMuch(what string, most int) *arm.Error {
	return arm.NewError(arm.InvalidRequestHeader, "*", fmt.Sprintf("there is too much of it: at most %d %s are allowed", most, what)).
		WithStatus(http.StatusRequestHeaderFieldsTooLarge)
}

func validName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

func validValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
