package headers

import (
	"net/http"
	"slices"
	"strings"

	"portico/tracing"
)

// longestName bounds the names that a map can list.
const longestName = 64

// actsOnOrigin are headers of an answer that would let a provider act as the gateway's
// host towards browsers, or command a proxy in front of it.
var (
	actsOnOrigin = set(
		"Cache-Control", "Clear-Site-Data", "Content-Security-Policy", "Date", "Expires", "Nel", "Pragma", "Public-Key-Pins", "Refresh", "Report-To",
		"Reporting-Endpoints",
		"Retry-After-Ms", "Server", "Service-Worker-Allowed", "Set-Cookie", "Set-Cookie2", "Strict-Transport-Security", "Www-Authenticate",
		"X-Content-Type-Options", "X-Lighttpd-Send-File", "X-Powered-By", "X-Sendfile",
	)
	actPrefixes = []string{"Access-Control-", "X-Accel-", "X-Reproxy-"}
)

// MayRequest reports whether a region map can list a request header, in any casing: the
// header is not hop-by-hop, not part of the message's framing, and not reserved.
func MayRequest(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return mayPass(name) && (PassesToProviders(name) || !tracing.Reserved(name))
}

// MayAnswer reports whether a region map can list an answer header, in any casing. It
// excludes what MayRequest excludes, and headers that act on the gateway's own host.
func MayAnswer(name string) bool {
	name = http.CanonicalHeaderKey(name)
	acts := actsOnOrigin[name] || ownAnswer(name) ||
		slices.ContainsFunc(actPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	return PassesToClients(name) || mayPass(name) && !acts && !tracing.Reserved(name)
}

func mayPass(name string) bool {
	return len(name) <= longestName && plain(name) && !usedHere[name] && !slices.Contains(hopByHop, name)
}
