package headers

import (
	"net/http"
	"slices"
	"strings"

	"portico/tracing"
)

// maxNameLength is the maximum length of a name that a region map can list.
const maxNameLength = 64

// actsOnOrigin are answer headers that would let a provider act as the gateway's host towards
// browsers, or command a proxy in front of the gateway.
var (
	actsOnOrigin = nameSet(
		"Cache-Control", "Clear-Site-Data", "Content-Security-Policy", "Date", "Expires", "Nel", "Pragma", "Public-Key-Pins", "Refresh", "Report-To",
		"Reporting-Endpoints",
		"Retry-After-Ms", "Server", "Service-Worker-Allowed", "Set-Cookie", "Set-Cookie2", "Strict-Transport-Security", "Www-Authenticate",
		"X-Content-Type-Options", "X-Lighttpd-Send-File", "X-Powered-By", "X-Sendfile",
	)
	actPrefixes = []string{"Access-Control-", "X-Accel-", "X-Reproxy-"}
)

// CanListRequest reports whether a region map can list a request header. The header must be neither
// hop-by-hop, nor part of the message's framing, nor reserved. Case does not matter.
func CanListRequest(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return mayPass(name) && (PassesToProviders(name) || !tracing.Reserved(name))
}

// CanListAnswer reports whether a region map can list an answer header. In addition to CanListRequest, it
// excludes headers that act on the gateway's own host. Case does not matter.
func CanListAnswer(name string) bool {
	name = http.CanonicalHeaderKey(name)
	acts := actsOnOrigin[name] || isGatewayAnswer(name) ||
		slices.ContainsFunc(actPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	return PassesToClients(name) || mayPass(name) && !acts && !tracing.Reserved(name)
}

func mayPass(name string) bool {
	return len(name) <= maxNameLength && isPlainName(name) && !gatewayHeaders[name] && !slices.Contains(hopByHop, name)
}
