package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/jsonscan"
)

// batchedRequest is one request of a batch. Name, content and headers are parts of
// the batch's content. Headers come under any of three names; of those in the
// details, one is not called as on the wire.
type batchedRequest struct {
	Name        json.RawMessage // a text or a number; comes back with the answer
	Method      string
	URL         string // relative, or on the public host
	RelativeURL string
	Content     json.RawMessage
	Headers     batchHeaders
	Dictionary  batchHeaders
	Details     batchHeaders
}

// batchHeaders is an object of headers by name; a value is a text, or a list of
// texts. It has that form, and is read when the request is made.
type batchHeaders json.RawMessage

// Bounds of the parts of a request in a batch, as they are written.
const (
	longestBatchName   = 260
	longestBatchMethod = 64
)

// readBatch reads the content of a batch, whose members match without case; of one
// that occurs twice the last counts. What is wrong with its form refuses the whole
// of it, before anything was sent. The requests are counted before they are read.
func readBatch(content []byte, most int) ([]batchedRequest, *arm.Error) {
	if len(content) == 0 {
		return nil, badBatch("requests", "there is no content")
	}
	list, fault := batchList(content)
	if fault != nil {
		return nil, fault
	}
	n := 0
	_ = jsonscan.Array(list, func(jsonscan.Element) error { n++; return nil })
	switch {
	case n == 0:
		return nil, badBatch("requests", "requests holds no request")
	case n > most:
		return nil, badBatch("requests", fmt.Sprintf("requests holds %d requests, and may hold %d", n, most))
	}
	requests := make([]batchedRequest, 0, n)
	err := jsonscan.Array(list, func(e jsonscan.Element) error {
		var q batchedRequest
		if fault = q.read(e.Text, fmt.Sprintf("requests[%d]", len(requests))); fault != nil {
			return fault
		}
		requests = append(requests, q)
		return nil
	})
	if err != nil {
		return nil, fault
	}
	return requests, nil
}

// batchList finds the requests in the content of a batch, and checks all of it.
func batchList(content []byte) (list []byte, fault *arm.Error) {
	list = []byte("[]")
	if content = bytes.TrimSpace(content); kindOf(content) == "array" {
		return nil, misplaced(content, "")
	}
	err := jsonscan.Object(content, func(m jsonscan.Member) error {
		switch {
		case !bytes.EqualFold(m.Key, []byte("requests")):
		case jsonscan.Null(m.Value):
			list = []byte("[]")
		case kindOf(m.Value) != "array":
			fault = misplaced(m.Value, "requests")
			return fault
		default:
			list = m.Value
		}
		return nil
	})
	if err != nil && fault == nil {
		fault = arm.NewError(arm.InvalidRequestContent, err.Error())
	}
	return list, fault
}

func badBatch(target, why string) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, why).About(target)
}

// misplaced refuses a value at a path that holds no such kind of value.
func misplaced(value []byte, path string) *arm.Error {
	return badBatch(path, fmt.Sprintf("A value of the kind '%s' cannot stand here. Path '%s'", kindOf(value), path))
}

// kindOf names the kind of a JSON value.
func kindOf(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// read reads a request of a batch, which stands at a path in it. null is a request
// without members.
func (q *batchedRequest) read(text []byte, path string) (fault *arm.Error) {
	switch kindOf(text) {
	case "object":
	case "null":
		text = []byte("{}")
	default:
		return misplaced(text, path)
	}
	var texts [3][]byte
	_ = jsonscan.Object(text, func(m jsonscan.Member) error { // well-formed, as a part of what is
		if fault = q.member(m, path, &texts); fault != nil {
			return fault
		}
		return nil
	})
	if fault != nil {
		return fault
	}
	if err := q.check(texts); err != nil {
		return badBatch(path, fmt.Sprintf("%s: %v", path, err))
	}
	return nil
}

// batchTexts are the members that are texts; null leaves them as they are.
var batchTexts = [3]string{"httpMethod", "url", "relativeUrl"}

// member notes a member of a request in a batch.
func (q *batchedRequest) member(m jsonscan.Member, path string, texts *[3][]byte) *arm.Error {
	for i, name := range batchTexts {
		if !bytes.EqualFold(m.Key, []byte(name)) || jsonscan.Null(m.Value) {
			continue
		}
		if m.Value[0] != '"' {
			return misplaced(m.Value, path+"."+name)
		}
		texts[i] = m.Value
	}
	for _, part := range [...]struct {
		name string
		into *json.RawMessage
	}{{"name", &q.Name}, {"content", &q.Content}} {
		if bytes.EqualFold(m.Key, []byte(part.name)) {
			*part.into = m.Value
		}
	}
	for _, part := range [...]struct {
		name string
		into *batchHeaders
	}{{"headers", &q.Headers}, {"requestHeaderDictionary", &q.Dictionary}, {"requestHeaderDetails", &q.Details}} {
		if bytes.EqualFold(m.Key, []byte(part.name)) {
			*part.into = m.Value
			return part.into.check(path + "." + part.name)
		}
	}
	return nil
}

// check holds headers to their form.
func (h *batchHeaders) check(path string) (fault *arm.Error) {
	switch kindOf(*h) {
	case "object":
	case "null":
		*h = nil
		return nil
	default:
		return misplaced(*h, path)
	}
	_ = jsonscan.Object(*h, func(m jsonscan.Member) error {
		if !textOrTexts(m.Value) {
			fault = badBatch(path, fmt.Sprintf("the header '%s' is neither a text nor a list of texts", exchange.ShownName(m.Key)))
			return fault
		}
		return nil
	})
	return fault
}

// textOrTexts holds for a text, null, and a list of either.
func textOrTexts(value []byte) bool {
	if value[0] != '[' {
		return value[0] == '"' || value[0] == 'n'
	}
	return jsonscan.Array(value, func(e jsonscan.Element) error {
		if e.Text[0] != '"' && e.Text[0] != 'n' {
			return errFound
		}
		return nil
	}) == nil
}

// errFound ends a scan.
var errFound = errors.New("found")

// check reads the texts, and holds the request to what it needs.
func (q *batchedRequest) check(texts [3][]byte) error {
	if jsonscan.Null(q.Name) {
		q.Name = nil
	}
	if jsonscan.Null(q.Content) {
		q.Content = nil
	}
	if len(texts[0]) > longestBatchMethod {
		return errors.New("httpMethod is too long")
	}
	method, _ := jsonscan.Text(texts[0])
	q.Method = strings.ToUpper(method)
	q.URL, _ = jsonscan.Text(texts[1])
	q.RelativeURL, _ = jsonscan.Text(texts[2])
	switch {
	case q.Method == "":
		return errors.New("httpMethod is missing")
	case q.URL == "" && q.RelativeURL == "":
		return errors.New("url is missing")
	case q.URL != "" && q.RelativeURL != "" && q.URL != q.RelativeURL:
		return errors.New("url and relativeUrl are both given")
	case len(q.Name) > longestBatchName:
		return errors.New("name is too long")
	case len(q.Name) > 0 && strings.IndexByte(`"-0123456789`, q.Name[0]) < 0:
		return errors.New("name is neither a text nor a number")
	}
	return nil
}

// reads tells that the request promises to change nothing.
func (q *batchedRequest) reads() bool {
	return q.Method == http.MethodGet || q.Method == http.MethodHead
}

// target is the request target that the URL stands for, which names a host of
// ours or none. Like the ids in it, it need not be escaped.
func (q *batchedRequest) target(ours func(host string) bool) (string, *arm.Error) {
	given := q.RelativeURL
	if given == "" {
		given = q.URL
	}
	if len(given) > 2*batchedTarget { // host and path
		return "", targetTooLong()
	}
	scheme, rest, absolute := strings.Cut(given, "://")
	if !absolute || strings.ContainsAny(scheme, "/?#") {
		if !strings.HasPrefix(given, "/") || strings.HasPrefix(given, "//") {
			return "", arm.NewError(arm.InvalidRequestURI, "in a batch it begins with a slash, or is on the public host")
		}
		return escapeTarget(given), nil
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	https := strings.EqualFold(scheme, "https")
	if !https && !strings.EqualFold(scheme, "http") || !ours(strings.ToLower(rest[:end])) {
		return "", arm.NewError(arm.InvalidRequestURI, "in a batch it is relative, or on the public host")
	}
	if rest = rest[end:]; !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return escapeTarget(rest), nil
}

func targetTooLong() *arm.Error {
	return arm.NewError(arm.InvalidRequestURI, fmt.Sprintf("it is too long: at most %d bytes are allowed", batchedTarget)).WithStatus(http.StatusRequestURITooLong)
}

// escapeTarget escapes what no request target may hold as it is.
func escapeTarget(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`{|}", c) >= 0 {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Bounds of what one request of a batch may bring along, as for any other.
const (
	batchedHeaderBytes = 16 << 10
	batchedTarget      = 16 << 10
	mostBatchedHeaders = 100
)

// unfit are headers of which a request in a batch has no use, or that would say
// something false of it.
var unfit = []string{"Host", "Content-Length", "Content-Encoding", "Accept-Encoding", "Expect"}

// commandHeader is what the details of a request call commandName.
const commandHeader = "X-Ms-Command-Name"

// header returns the headers of the request. Of those that are given under several
// names the last counts, in the order of details, dictionary and headers.
func (q *batchedRequest) header(caller *batchCaller) (http.Header, *arm.Error) {
	h := batchedHeader{header: http.Header{}}
	for _, from := range []batchHeaders{q.Details, q.Dictionary, q.Headers} {
		if len(from) == 0 {
			continue
		}
		if err := jsonscan.Object(from, h.add); err != nil {
			return nil, h.fault
		}
	}
	return q.complete(h.header, caller), nil
}

// batchedHeader is a header that is being read.
type batchedHeader struct {
	header       http.Header
	count, bytes int // of all values that were given
	fault        *arm.Error
}

// add reads one header. The error is the fault.
func (h *batchedHeader) add(m jsonscan.Member) error {
	var values []string
	value := func(e jsonscan.Element) error {
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
		err = value(jsonscan.Element{Text: m.Value})
	case '[':
		err = jsonscan.Array(m.Value, value)
	}
	if err == nil && len(values) > 0 {
		h.header[headerOf(m.Key)] = values
	}
	return err
}

// value reads one value of a header. What is longer than all may be is not read.
func (h *batchedHeader) value(key, text []byte) (string, *arm.Error) {
	const longestEscape = 6 // of a single byte
	if h.count++; h.count > mostBatchedHeaders {
		return "", tooMuch("headers", mostBatchedHeaders)
	}
	if len(key) > batchedHeaderBytes || len(text) > longestEscape*batchedHeaderBytes {
		return "", tooMuch("bytes", batchedHeaderBytes)
	}
	name := headerOf(key)
	value, _ := jsonscan.Text(text)
	if !headerName(name) || !headerValue(value) {
		return "", arm.NewError(arm.InvalidRequestHeader, name, "it holds what no header may hold").About(name)
	}
	if h.bytes += len(name) + len(value); h.bytes > batchedHeaderBytes {
		return "", tooMuch("bytes", batchedHeaderBytes)
	}
	return value, nil
}

// headerOf is the header that a member of a batch's headers names.
func headerOf(key []byte) string {
	if strings.EqualFold(string(key), "commandName") {
		return commandHeader
	}
	return http.CanonicalHeaderKey(string(key))
}

// tooMuch refuses headers of which there are too many, or that are too long.
func tooMuch(what string, most int) *arm.Error {
	return tooManyHeaders(fmt.Sprintf("there is too much of it: at most %d %s are allowed", most, what))
}

// complete leaves out what has no meaning in a batch, and adds what the request has
// from it.
func (q *batchedRequest) complete(h http.Header, caller *batchCaller) http.Header {
	for _, name := range unfit {
		delete(h, name)
	}
	for name, values := range caller.Defaults {
		if len(h[name]) == 0 {
			h[name] = values
		}
	}
	if len(q.Content) > 0 && len(h["Content-Type"]) == 0 {
		h["Content-Type"] = []string{"application/json; charset=utf-8"}
	}
	return h
}

func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

func headerValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// urlOf is the URL of a target for those who look at it; the request itself is
// read from the target.
func urlOf(target string) *url.URL {
	path, query, _ := strings.Cut(target, "?")
	return &url.URL{Path: path, RawQuery: query}
}
