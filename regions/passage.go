package regions

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// PassesRequest reports which headers of requests, by canonical name, pass to the
// provider beside those that pass to any.
func (p *Provider) PassesRequest() map[string]bool { return p.requestHeaders }

// PassesAnswer reports which headers of the provider's answers, by canonical name,
// pass to clients beside those that pass from any.
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

// plainHost reports whether clients cannot read a host and port in another way than
// net/url does.
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

// redirectHost is a host that clients may be redirected to.
type redirectHost struct {
	name  string // in lower case
	below bool   // it is all hosts below the name
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
