package exchange

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"portico/arm"
)

// NoAddress is the remote address of a request that no client sent: no client has it.
const NoAddress = "192.0.2.1:1"

// NewRequest returns a request without a connection. It returns a fault for a target that
// no request could have.
func NewRequest(ctx context.Context, method, target string, header http.Header, content string) (*http.Request, *arm.Error) {
	if !strings.HasPrefix(target, "/") || strings.ContainsFunc(target, func(c rune) bool { return c <= ' ' || c == 0x7f }) {
		return nil, arm.NewError(arm.InvalidRequestContent, "a path begins with '/' and has no spaces").WithTarget("path")
	}
	r := &http.Request{
		Method: method, URL: &url.URL{}, RequestURI: target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: http.NoBody, RemoteAddr: NoAddress,
	}
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
	if n := len(content); n > 0 {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(content)), int64(n)
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/json")
		}
	}
	return r.WithContext(ctx), nil
}
