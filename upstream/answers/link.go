package answers

import (
	"net/url"
	"strings"

	"portico/regions"
	"portico/tracing/headers"
)

// PublicLink returns the front door's URI of a path, with a raw query unless that is
// empty.
func PublicLink(public *url.URL, escapedPath, query string) string {
	if query == "" {
		return public.Scheme + "://" + public.Host + escapedPath
	}
	return public.Scheme + "://" + public.Host + escapedPath + "?" + query
}

// Referer returns the Referer of a call to a provider, from the path and
// query on the front door.
func Referer(public *url.URL, escapedPath, query string) string {
	return headers.Referer(PublicLink(public, escapedPath, query))
}

// OwnLink converts a polling URL to the front door's, and reports whether the
// provider may use it: its host must be the front door, the provider's own
// endpoint, or missing (async reference, 202 Accepted and Location Headers).
func OwnLink(link string, public *url.URL, endpoint *regions.Endpoint) (*url.URL, bool) {
	target, err := url.Parse(link)
	if err != nil || target.User != nil || target.Opaque != "" || !strings.HasPrefix(target.EscapedPath(), "/") {
		return nil, false
	}
	if own := Relative(target) || target.Scheme != "" && OwnOrigin(target, public, endpoint); !own {
		return nil, false
	}
	return &url.URL{Scheme: public.Scheme, Host: public.Host, Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery}, true
}

// Relative reports whether a URL names neither a scheme nor a host.
func Relative(u *url.URL) bool { return u.Scheme == "" && u.Host == "" }

// OwnOrigin reports whether a URL, which may lack the scheme, leads to the front door or
// to an address of the endpoint.
func OwnOrigin(u, public *url.URL, endpoint *regions.Endpoint) bool {
	own := sameOrigin(u, public)
	for _, address := range endpoint.URLs {
		own = own || sameOrigin(u, address)
	}
	return own
}

// sameOrigin compares scheme, host and port; a may lack the scheme.
func sameOrigin(a, b *url.URL) bool {
	if a.Scheme != "" && !strings.EqualFold(a.Scheme, b.Scheme) {
		return false
	}
	return strings.EqualFold(a.Hostname(), b.Hostname()) && port(a, b.Scheme) == port(b, b.Scheme)
}

func port(u *url.URL, scheme string) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(scheme, "https") {
		return "443"
	}
	return "80"
}
