package headers

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"portico/tracing"
)

// answerNames are the standard headers of an answer that pass to clients, with canonical names.
// Cache-Control, Expires, Pragma and Date are set by the gateway.
var answerNames = nameSet(
	"Accept-Ranges", "Allow", "Vary", "Warning",
	"Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Md5", "Content-Range", "Content-Type",
	"Etag", "Last-Modified", "Preference-Applied", "Repeatability-Result", "Retry-After",
	"Azure-Deprecating", "Deprecation", "Sunset",
)

// linkNames are the headers with URLs, which are checked and limited separately.
var linkNames = nameSet("Location", "Azure-Asyncoperation", "Operation-Location")

// gatewayAnswerNames are x-ms-* headers outside of the reserved families that only the gateway
// sets, and the delay in milliseconds, which Retry-After replaces.
var gatewayAnswerNames = nameSet(tracing.FailureCauseHeader, tracing.ClientRequestHeader, "X-Ms-Retry-After-Ms")

// serviceRequestID is in a reserved family, but some providers send it.
const serviceRequestID = "X-Ms-Arm-Service-Request-Id"

// rateLimitPrefixes are prefixes of the headers with the caller's remaining requests. Providers
// have their own limits, per resource.
var rateLimitPrefixes = []string{"X-Ms-Ratelimit-Remaining-Subscription-", "X-Ms-Ratelimit-Remaining-Tenant-"}

func isGatewayAnswer(name string) bool {
	return gatewayAnswerNames[name] || slices.ContainsFunc(rateLimitPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// PassesToClients reports whether a header of any provider's answer passes to the client. The name
// must be canonical.
func PassesToClients(name string) bool {
	return answerNames[name] || linkNames[name] ||
		isMicrosoftHeader(name) && !isGatewayAnswer(name) && (name == serviceRequestID || !tracing.Reserved(name))
}

// ToClient copies the provider's headers that pass to an answer: those that always pass, and those
// in also, which the region map lists. It first removes from the provider's headers those that its
// Connection lines name. If the rest exceeds what clients accept, non-standard headers are dropped
// first. ToClient returns the number of lines dropped.
func ToClient(to, from http.Header, also map[string]bool) (dropped int) {
	var all volume
	for name := range connectionOptions(from) { // hop-by-hop (RFC 9110, section 7.6.1)
		delete(from, name)
	}
	for name, values := range from {
		if !PassesToClients(name) && !also[name] {
			continue
		}
		to[name] = values
		if !linkNames[name] {
			all.add(name, values)
		}
	}
	if all.fits() {
		return 0
	}
	return dropExcess(to, from)
}

// dropExcess removes the provider's headers that do not fit from an answer.
func dropExcess(to, from http.Header) (dropped int) {
	names := slices.SortedFunc(maps.Keys(from), func(a, b string) int {
		if answerNames[a] != answerNames[b] {
			if answerNames[a] {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	var kept volume
	for _, name := range names {
		values, passed := to[name]
		if !passed || linkNames[name] {
			continue
		}
		with := kept
		if with.add(name, values); with.fits() {
			kept = with
			continue
		}
		delete(to, name)
		dropped += len(values)
	}
	return dropped
}
