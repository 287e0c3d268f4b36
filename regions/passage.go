package regions

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// PassesRequest returns the request headers, by canonical name, that are
// forwarded to this provider in addition to the headers for all providers.
func (p *Provider) PassesRequest() map[string]bool { return p.requestHeaders }

// PassesAnswer returns the headers of the provider's answers, by canonical name, that
// are forwarded to clients in addition to the headers of all providers.
func (p *Provider) PassesAnswer() map[string]bool { return p.answerHeaders }

func canonicalNames(names []string) map[string]bool {
	if len(names) == 0 {
		return nil
	}
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[http.CanonicalHeaderKey(name)] = true
	}
	return all
}

// RedirectsTo reports whether the provider may redirect clients to the host and port
// of an absolute URL.
func (p *Provider) RedirectsTo(to *url.URL) bool {
	standard := standardPort(to.Scheme)
	if standard == "" || to.User != nil || to.Opaque != "" || !plainHost(to.Host) {
		return false
	}
	host, port := strings.ToLower(to.Hostname()), cmp.Or(to.Port(), standard)
	return slices.ContainsFunc(p.redirectHosts, func(h redirectHost) bool {
		switch {
		case cmp.Or(h.port, standard) != port:
			return false
		case h.below:
			return strings.HasSuffix(host, "."+h.name)
		}
		return host == h.name
	})
}

// plainHost reports whether clients read a host and port exactly as net/url does.
func plainHost(host string) bool {
	return host != "" && strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-.:") == ""
}

func standardPort(scheme string) string {
	switch scheme {
	case "https":
		return "443"
	case "http":
		return "80"
	}
	return ""
}

// redirectHost is a permitted host of redirects.
type redirectHost struct {
	name  string // in lower case
	below bool   // matches all hosts below the name
	port  string // empty: the scheme's own
}

func redirectHosts(declared []string) []redirectHost {
	hosts := make([]redirectHost, 0, len(declared))
	for _, text := range declared {
		var h redirectHost
		h.name, h.port, _ = strings.Cut(strings.ToLower(text), ":")
		h.name, h.below = strings.CutPrefix(h.name, "*.")
		hosts = append(hosts, h)
	}
	return hosts
}
