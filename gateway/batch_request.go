package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"portico/arm"
)

// batchContent is the content of POST /batch, whose members match without case.
type batchContent struct {
	Requests []batchedRequest `json:"requests"`
}

// batchedRequest is one request of a batch. Headers come under any of three
// names; of those in the details, one is not called as on the wire.
type batchedRequest struct {
	Name        json.RawMessage `json:"name"` // a text or a number; comes back with the answer
	Method      string          `json:"httpMethod"`
	URL         string          `json:"url"` // relative, or on the public host
	RelativeURL string          `json:"relativeUrl"`
	Content     json.RawMessage `json:"content"`
	Headers     batchHeaders    `json:"headers"`
	Dictionary  batchHeaders    `json:"requestHeaderDictionary"`
	Details     batchHeaders    `json:"requestHeaderDetails"`
}

// batchHeaders are headers by name; a value is a text, or a list of texts.
type batchHeaders map[string][]string

// UnmarshalJSON implements json.Unmarshaler.
func (h *batchHeaders) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	*h = batchHeaders{}
	for name, raw := range members {
		var several []string
		if json.Unmarshal(raw, &several) == nil {
			(*h)[name] = several // null among them: none
			continue
		}
		var one string
		if err := json.Unmarshal(raw, &one); err != nil {
			return fmt.Errorf("the header '%s' is neither a text nor a list of texts", name)
		}
		(*h)[name] = []string{one}
	}
	return nil
}

// longestBatchName bounds the name of a request in a batch.
const longestBatchName = 260

// readBatch reads the content of a batch. What is wrong with its form refuses
// the whole of it, before anything was sent.
func readBatch(content []byte, most int) ([]batchedRequest, *arm.Error) {
	var batch batchContent
	if len(content) == 0 {
		return nil, badBatch("requests", "there is no content")
	}
	if err := json.Unmarshal(content, &batch); err != nil {
		return nil, undecodable(err)
	}
	switch n := len(batch.Requests); {
	case n == 0:
		return nil, badBatch("requests", "requests holds no request")
	case n > most:
		return nil, badBatch("requests", fmt.Sprintf("requests holds %d requests, and may hold %d", n, most))
	}
	for i := range batch.Requests {
		if err := batch.Requests[i].check(); err != nil {
			return nil, badBatch(fmt.Sprintf("requests[%d]", i), fmt.Sprintf("requests[%d]: %v", i, err))
		}
	}
	return batch.Requests, nil
}

func badBatch(target, why string) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, why).About(target)
}

func (q *batchedRequest) check() error {
	if string(q.Name) == "null" {
		q.Name = nil
	}
	if string(q.Content) == "null" {
		q.Content = nil
	}
	q.Method = strings.ToUpper(q.Method)
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
)

// unfit are headers of which a request in a batch has no use, or that would say
// something false of it.
var unfit = []string{"Host", "Content-Length", "Content-Encoding", "Accept-Encoding", "Expect"}

// commandHeader is what the details of a request call commandName.
const commandHeader = "X-Ms-Command-Name"

func (q *batchedRequest) header(caller *batchCaller) (http.Header, *arm.Error) {
	h, bytes := http.Header{}, 0
	for _, from := range []batchHeaders{q.Details, q.Dictionary, q.Headers} {
		for name, values := range from {
			if strings.EqualFold(name, "commandName") {
				name = commandHeader
			}
			name = http.CanonicalHeaderKey(name)
			for _, value := range values {
				if !headerName(name) || !headerValue(value) {
					return nil, arm.NewError(arm.InvalidRequestHeader, name, "it holds what no header may hold").About(name)
				}
				bytes += len(name) + len(value)
			}
			if len(values) > 0 {
				h[name] = values
			}
		}
	}
	if bytes > batchedHeaderBytes {
		return nil, tooManyHeaders("there is too much of it")
	}
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
	return h, nil
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
