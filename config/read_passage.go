package config

import (
	"net/http"
	"strconv"
	"strings"

	"portico/headers"
	"portico/regions"
)

// readHeaders reads which headers pass between clients and a provider beside those
// that always do.
func (b *mapReader) readHeaders(o object, p *regions.ProviderDeclaration) {
	both := o.child("headers", "request", "response")
	p.RequestHeaders = b.readHeaderNames(both, "request", headerName("header of requests that may pass",
		"names of letters, digits and hyphens, such as X-Contoso-Trace; none of a credential, an identity, a connection or the message's frame", headers.MayRequest))
	p.AnswerHeaders = b.readHeaderNames(both, "response", headerName("header of answers that may pass",
		"names of letters, digits and hyphens, such as X-Contoso-Trace; none that speaks for the gateway's host, of a connection or of the message's frame", headers.MayAnswer))
}

func (b *mapReader) readHeaderNames(o object, key string, want rule[string]) (names []string) {
	twice := b.r.distinct("header")
	for _, n := range o.list(key) {
		if name, ok := value(b.r, n, join(o.path, key), want); ok && twice.add(n, name, name) {
			names = append(names, name)
		}
	}
	return names
}

func headerName(noun, allowed string, may func(name string) bool) rule[string] {
	return rule[string]{
		parse:   func(text string) (string, bool) { return http.CanonicalHeaderKey(text), may(text) },
		noun:    noun,
		allowed: allowed,
		shape:   matching("^[0-9A-Za-z-]{1,64}$"),
	}
}

// readRedirectHosts reads where a provider may redirect clients to.
func (b *mapReader) readRedirectHosts(o object, p *regions.ProviderDeclaration) {
	twice := b.r.distinct("host")
	for _, n := range o.list("redirectHosts") {
		if host, ok := value(b.r, n, join(o.path, "redirectHosts"), redirectHost()); ok && twice.add(n, host, host) {
			p.RedirectHosts = append(p.RedirectHosts, host)
		}
	}
}

// redirectHost is a host, or all hosts below a domain of at least two labels: nobody
// means all of a top-level domain.
func redirectHost() rule[string] {
	return rule[string]{
		parse: func(text string) (string, bool) {
			text = strings.ToLower(text)
			name, port, ported := strings.Cut(text, ":")
			name, below := strings.CutPrefix(name, "*.")
			if n, err := strconv.ParseUint(port, 10, 16); ported && (err != nil || n == 0 || port[0] == '0') {
				return "", false
			}
			return text, hostLabels(name) && (!below || strings.Contains(name, "."))
		},
		noun:    "host to redirect to",
		allowed: "a host such as files.contoso.example, *. before a domain of at least two labels for all hosts below it, and maybe a port such as :8443; no scheme, no path",
		shape:   matching(`^(\*\.)?[0-9A-Za-z.-]+(:[1-9][0-9]{0,4})?$`),
	}
}

func hostLabels(name string) bool {
	label := dnsLabel()
	for part := range strings.SplitSeq(name, ".") {
		if _, ok := label.parse(part); !ok {
			return false
		}
	}
	return len(name) <= 253
}
