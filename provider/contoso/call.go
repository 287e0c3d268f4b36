package contoso

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"portico/provider/contoso/fault"
	"strings"
	"time"
)

// maxBody bounds a request's body, as at the front door.
const maxBody = 4 << 20

// call is one request, read completely.
type call struct {
	method  string
	header  http.Header
	query   url.Values // keys folded
	uri     string     // path and query as received
	own     string     // scheme and host of the listener
	host    string     // the Host header, which no link may use
	address address
	body    []byte
	fault   fault.Fault
	breaks  breaks
	habits  habits

	// known is the subscription's state at the call's arrival, if the call
	// takes effect later; otherwise "".
	known string

	requestID string // the id of the answer
	version   string
	etags     bool
	order     order
}

// read reads the request with its body, which a fault may let outlive its connection.
func (p *Provider) read(r *http.Request, f fault.Fault) (*call, error) {
	c := &call{
		method: r.Method, header: r.Header, query: url.Values{}, uri: r.URL.RequestURI(), own: ownBase(r), host: r.Host, fault: f, breaks: p.breaks,
		habits: p.habits,
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, badRequest("InvalidRequestContent", "The request content could not be read.")
	}
	if len(body) > maxBody {
		return nil, fail(http.StatusRequestEntityTooLarge, "RequestContentTooLarge", "The request content size exceeds the maximum size of 4 MB.")
	}
	c.body = body
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("InvalidQuery", "The query string is malformed.")
	}
	for k, v := range query {
		c.query[fold(k)] = append(c.query[fold(k)], v...)
	}
	if c.address, err = parsePath(r.URL.EscapedPath()); err != nil {
		return nil, err
	}
	if err := c.address.checkGroup(); err != nil && !p.breaks[anyGroupName] {
		return nil, err
	}
	c.address = p.breaks.misreadAddress(c.address, p.catalog)
	c.order, err = readOrder(c.method, c.header, f)
	return c, err
}

// ownBase returns contoso's own URL. No proper answer has it, but some faults show it.
func ownBase(r *http.Request) string {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return scheme + a.String()
	}
	return scheme + r.Host
}

// checkVersion checks the api-version.
func (p *Provider) checkVersion(c *call) error {
	given := c.query["api-version"]
	if len(given) == 0 {
		return badRequest("MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	v, ok := p.knownVersion(given[0])
	if _, err := time.Parse(time.DateOnly, given[0]); !ok && err == nil && p.breaks[anyAPIVersion] {
		v, ok = p.versions[0], true
	}
	if !ok && p.anyType {
		v = given[0]
		_, err := time.Parse(time.DateOnly, v[:min(len(v), len(time.DateOnly))])
		ok = err == nil
	}
	if !ok || len(given) > 1 {
		return badRequest("InvalidApiVersionParameter", "The api-version '%s' is invalid. The supported versions are '%s'.", strings.Join(given, ","),
			strings.Join(p.versions, ","))
	}
	c.version, c.etags = v, v != oldVersion
	return nil
}

// object reads the body as a JSON object.
func (c *call) object() (object, error) {
	var o object
	if len(c.body) == 0 {
		return nil, invalidContent("The request content is empty; a JSON object is required.")
	}
	if err := json.Unmarshal(c.body, &o); err != nil {
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, invalidContent("The request content is not well-formed JSON at position %d.", s.Offset)
		}
		return nil, invalidContent("The request content must be a JSON object, each of its members once.")
	}
	return o, nil
}

// caller identifies the call's sender: only the caller that started an
// operation may see it (async reference, Operation result rules).
func (c *call) caller() (tenant, who string) {
	who = c.header.Get("x-ms-client-object-id")
	if who == "" {
		who = c.header.Get("x-ms-client-puid")
	}
	return fold(c.header.Get("x-ms-home-tenant-id")), fold(who)
}

func notAllowed(methods ...string) *failure {
	f := fail(http.StatusMethodNotAllowed, "MethodNotAllowed", "The path does not support this method.")
	f.header = http.Header{"Allow": {strings.Join(methods, ", ")}}
	return f
}
