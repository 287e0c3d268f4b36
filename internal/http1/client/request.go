package client

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"portico/tracing/headers"
)

var errBadTarget = errors.New("the path or the query holds what may not stand in a request line")

// check refuses a request that would not be exactly one request on the wire.
func (r *Request) check() error {
	if !headers.IsToken(r.Method) {
		return fmt.Errorf("%q is not a method", r.Method)
	}
	if r.Path == "" || r.Path[0] != '/' || !headers.IsVisible(r.Path) || !headers.IsVisible(r.Query) {
		return errBadTarget
	}
	for name, values := range r.Header {
		if !headers.IsToken(name) {
			return badName(name)
		}
		for _, value := range values {
			if !headers.IsFieldValue(value) {
				return badValue(name)
			}
		}
	}
	for i := range r.Own {
		switch own := &r.Own[i]; {
		case !headers.IsToken(own.Name):
			return badName(own.Name)
		case !headers.IsFieldValue(own.Value):
			return badValue(own.Name)
		}
	}
	return nil
}

func badName(name string) error { return fmt.Errorf("%q is not a valid header name", name) }

func badValue(name string) error {
	return fmt.Errorf("the header %s has a value with control characters", name)
}

// appendHead appends the head of the request.
func (r *Request) appendHead(b []byte, host string) []byte {
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, r.Path...)
	if r.Query != "" {
		b = append(b, '?')
		b = append(b, r.Query...)
	}
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\n"...)
	if agents := r.Header["User-Agent"]; len(agents) > 0 && agents[0] != "" {
		b = appendField(b, "User-Agent", agents[0])
	}
	// Servers expect a length if the method gives content a meaning.
	if len(r.Content) > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(r.Content)), 10)
		b = append(b, "\r\n"...)
	}
	for name, values := range r.Header {
		if framesRequest(name) {
			continue
		}
		for _, value := range values {
			b = appendField(b, name, value)
		}
	}
	for i := range r.Own {
		if own := &r.Own[i]; !framesRequest(own.Name) {
			b = appendField(b, own.Name, own.Value)
		}
	}
	return append(b, "\r\n"...)
}

// framesRequest reports whether a header may not be set by the caller, or is
// already written.
func framesRequest(name string) bool {
	switch len(name) {
	case len("Host"), len("Trailer"), len("User-Agent"), len("Content-Length"), len("Transfer-Encoding"):
		for _, own := range [...]string{"Host", "Trailer", "User-Agent", "Content-Length", "Transfer-Encoding"} {
			if headers.EqualFold(name, own) {
				return true
			}
		}
	}
	return false
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, headers.TrimSpace(value)...)
	return append(b, "\r\n"...)
}
