package headers

import (
	"net/http"
	"slices"
	"strings"

	"portico/tracing"
)

// longestName bounds the names that a map can list.
const longestName = 64

// actsOnOrigin are headers of an answer by which a provider would speak for the
// gateway's host to browsers, or command a proxy in front of it.
var (
	actsOnOrigin = set(
		"Cache-Control", "Clear-Site-Data", "Content-Security-Policy", "Date", "Expires", "Nel", "Pragma", "Public-Key-Pins", "Refresh", "Report-To", "Reporting-Endpoints",
		"Retry-After-Ms", "Server", "Service-Worker-Allowed", "Set-Cookie", "Set-Cookie2", "Strict-Transport-Security", "Www-Authenticate",
		"X-Content-Type-Options", "X-Lighttpd-Send-File", "X-Powered-By", "X-Sendfile",
	)
	actPrefixes = []string{"Access-Control-", "X-Accel-", "X-Reproxy-"}
)

// MayRequest reports whether a map can list a header of requests, in any casing: it
// concerns more than one connection, and is neither of the message's frame nor
// reserved.
func MayRequest(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return mayPass(name) && (PassesToProviders(name) || !tracing.Reserved(name))
}

// MayAnswer reports whether a map can list a header of answers, in any casing. Beside
// those of MayRequest, headers are excluded that act on the gateway's own host.
func MayAnswer(name string) bool {
	name = http.CanonicalHeaderKey(name)
	acts := actsOnOrigin[name] || ownAnswers[name] ||
		slices.ContainsFunc(actPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	return PassesToClients(name) || mayPass(name) && !acts && !tracing.Reserved(name)
}

func mayPass(name string) bool {
	return len(name) <= longestName && plain(name) && !usedHere[name] && !slices.Contains(hopByHop, name)
}
