package headers

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"portico/tracing"
)

// answerNames are the standard headers of an answer that pass to clients, in
// canonical form. Cache-Control, Expires, Pragma and Date are the gateway's own.
var answerNames = set(
	"Accept-Ranges", "Allow", "Vary", "Warning",
	"Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Md5", "Content-Range", "Content-Type",
	"Etag", "Last-Modified", "Preference-Applied", "Repeatability-Result", "Retry-After",
	"Azure-Deprecating", "Deprecation", "Sunset",
)

// linkNames are headers whose URLs are guarded one by one, and bounded there.
var linkNames = set("Location", "Azure-Asyncoperation", "Operation-Location")

// ownAnswers are x-ms-* headers of an answer that only the gateway sets besides the
// reserved families, and the pause in milliseconds, which Retry-After stands for.
var ownAnswers = set(tracing.FailureCauseHeader, tracing.ClientRequestHeader, "X-Ms-Retry-After-Ms")

// serviceRequestID belongs to a reserved family, but some providers send their own.
const serviceRequestID = "X-Ms-Arm-Service-Request-Id"

// rateLimits begin the names of headers that say what the gateway's limits leave to the
// caller. Providers have limits of their own, of a resource.
var rateLimits = []string{"X-Ms-Ratelimit-Remaining-Subscription-", "X-Ms-Ratelimit-Remaining-Tenant-"}

func ownAnswer(name string) bool {
	return ownAnswers[name] || slices.ContainsFunc(rateLimits, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// PassesToClients reports whether a header of any provider's answer passes to the
// client. The name is canonical.
func PassesToClients(name string) bool {
	return answerNames[name] || linkNames[name] ||
		ofMicrosoft(name) && !ownAnswer(name) && (name == serviceRequestID || !tracing.Reserved(name))
}

// ToClient copies to an answer the provider's headers that pass: those that always do,
// and those in also, which the region map lists, unless the provider's Connection lines
// name them: it removes those from the provider's headers. If they exceed what clients accept, it removes non-standard headers first.
// It returns how many lines it removed.
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
	return trim(to, from)
}

// trim removes from an answer the provider's headers that do not fit.
func trim(to, from http.Header) (dropped int) {
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
