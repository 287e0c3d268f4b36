package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/internal/jsontext"
	"portico/inventory/deploymentrow"
)

// Request is one request of a batch. Its name, content and headers are slices of the
// batch's content. Headers come in any of three members; details name one header
// differently.
type Request struct {
	Name        json.RawMessage // a string or a number; returned with the answer
	Method      string
	URL         string // relative, or on the public host
	RelativeURL string
	Content     json.RawMessage
	Origin      exchange.Origin
	Parent      *deploymentrow.Parent // the deployment that sends the request, if it begins a nested one

	headers, dictionary, details headers
}

// Bounds of the parts of a request, in their encoded length.
const (
	longestName   = 260
	longestMethod = 64
	longestTarget = 16 << 10
)

// Read reads the content of a batch of at most so many requests. Member names match
// without case; if one occurs twice, the last counts. A malformed request refuses the
// whole batch before anything is sent. Read counts the requests before it allocates for
// them.
func Read(content []byte, most int) ([]Request, *arm.Error) {
	if len(content) == 0 {
		return nil, invalid("requests", "there is no content")
	}
	list, fault := findRequests(content)
	if fault != nil {
		return nil, fault
	}
	n := 0
	_ = jsontext.Array(list, func(jsontext.Element) error { n++; return nil })
	switch {
	case n == 0:
		return nil, invalid("requests", "requests holds no request")
	case n > most:
		return nil, invalid("requests", fmt.Sprintf("requests holds %d requests, and may hold %d", n, most))
	}
	requests := make([]Request, 0, n)
	err := jsontext.Array(list, func(e jsontext.Element) error {
		q := Request{Origin: exchange.OriginElement}
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

// findRequests returns the list of requests in the content of a batch, and checks the
// content's syntax.
func findRequests(content []byte) (list []byte, fault *arm.Error) {
	list = []byte("[]")
	if content = bytes.TrimSpace(content); kindOf(content) == "array" {
		return nil, misplaced(content, "")
	}
	err := jsontext.Object(content, func(m jsontext.Member) error {
		switch {
		case !bytes.EqualFold(m.Key, []byte("requests")):
		case jsontext.Null(m.Value):
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

func invalid(target, why string) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, why).WithTarget(target)
}

// misplaced refuses a value of the wrong kind.
func misplaced(value []byte, path string) *arm.Error {
	return invalid(path, fmt.Sprintf("A value of the kind '%s' cannot stand here. Path '%s'", kindOf(value), path))
}

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

// read reads the request at a path in the batch. null is a request without members.
func (q *Request) read(text []byte, path string) (fault *arm.Error) {
	switch kindOf(text) {
	case "object":
	case "null":
		text = []byte("{}")
	default:
		return misplaced(text, path)
	}
	var texts [3][]byte
	_ = jsontext.Object(text, func(m jsontext.Member) error { // text was checked with the whole content
		if fault = q.readMember(m, path, &texts); fault != nil {
			return fault
		}
		return nil
	})
	if fault != nil {
		return fault
	}
	if err := q.check(texts); err != nil {
		return invalid(path, fmt.Sprintf("%s: %v", path, err))
	}
	return nil
}

// textMembers lists the members that are strings; null leaves them unset.
var textMembers = [3]string{"httpMethod", "url", "relativeUrl"}

func (q *Request) readMember(m jsontext.Member, path string, texts *[3][]byte) *arm.Error {
	for i, name := range textMembers {
		if !bytes.EqualFold(m.Key, []byte(name)) || jsontext.Null(m.Value) {
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
		into *headers
	}{{"headers", &q.headers}, {"requestHeaderDictionary", &q.dictionary}, {"requestHeaderDetails", &q.details}} {
		if bytes.EqualFold(m.Key, []byte(part.name)) {
			*part.into = m.Value
			return part.into.check(path + "." + part.name)
		}
	}
	return nil
}

// check decodes the texts, and refuses a request that lacks a required member.
func (q *Request) check(texts [3][]byte) error {
	if jsontext.Null(q.Name) {
		q.Name = nil
	}
	if jsontext.Null(q.Content) {
		q.Content = nil
	}
	if len(texts[0]) > longestMethod {
		return errors.New("httpMethod is too long")
	}
	method, _ := jsontext.Text(texts[0])
	q.Method = strings.ToUpper(method)
	q.URL, _ = jsontext.Text(texts[1])
	q.RelativeURL, _ = jsontext.Text(texts[2])
	switch {
	case q.Method == "":
		return errors.New("httpMethod is missing")
	case q.URL == "" && q.RelativeURL == "":
		return errors.New("url is missing")
	case q.URL != "" && q.RelativeURL != "" && q.URL != q.RelativeURL:
		return errors.New("url and relativeUrl are both given")
	case len(q.Name) > longestName:
		return errors.New("name is too long")
	case len(q.Name) > 0 && strings.IndexByte(`"-0123456789`, q.Name[0]) < 0:
		return errors.New("name is neither a text nor a number")
	}
	return nil
}

// Reads reports whether the request promises to change nothing.
func (q *Request) Reads() bool {
	return q.Method == http.MethodGet || q.Method == http.MethodHead
}

// Target returns the request target of the URL. The URL is relative or names one of our
// hosts, and need not be escaped.
func (q *Request) Target(ours func(host string) bool) (string, *arm.Error) {
	given := q.RelativeURL
	if given == "" {
		given = q.URL
	}
	if len(given) > 2*longestTarget { // host and path
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
	return arm.NewError(arm.InvalidRequestURI, fmt.Sprintf("it is too long: at most %d bytes are allowed", longestTarget)).
		WithStatus(http.StatusRequestURITooLong)
}

// escapeTarget percent-encodes the bytes that a request target must not hold.
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
