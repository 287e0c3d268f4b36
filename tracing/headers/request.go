package headers

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"portico/tracing"
)

// requestNames are the standard headers of a request that providers understand, in
// canonical form. Content-Length and Host are set for each call.
var requestNames = set(
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language",
	"Cache-Control", "Pragma", "Date", "Prefer", "User-Agent",
	"Content-Disposition", "Content-Encoding", "Content-Language", "Content-Md5", "Content-Range", "Content-Type",
	"If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range",
	"Idempotency-Key", "Repeatability-Client-Id", "Repeatability-First-Sent", "Repeatability-Request-Id",
	"Traceparent", "Tracestate",
)

// usedHere are further headers that the gateway itself evaluates.
var usedHere = set("Authorization", "Content-Length", "Host", "Transfer-Encoding")

// PassesToProviders reports whether a header of a request passes to every provider.
// The name is canonical.
func PassesToProviders(name string) bool {
	return requestNames[name] || ofMicrosoft(name) && (name == tracing.ClientRequestHeader || !tracing.Reserved(name))
}

// ToProvider returns the headers of a request that pass to a provider: those that
// always do, and those in also, which the region map lists. Their values are shared
// with the request. None is one that the gateway sets.
func ToProvider(from http.Header, also map[string]bool) http.Header {
	to := make(http.Header, len(from))
	for name, values := range from {
		if len(values) > 0 && (PassesToProviders(name) || also[name]) {
			to[name] = slices.Clip(values)
		}
	}
	for name := range connectionOptions(from) {
		if !PassesToProviders(name) { // NamedByConnection finds these, and the request is refused
			delete(to, name)
		}
	}
	return to
}

// TooMuchForProvider reports whether the headers that pass to a provider exceed what
// any server can be expected to take.
func TooMuchForProvider(from http.Header, also map[string]bool) bool {
	all, passing := volume{}, volume{}
	for name, values := range from {
		all.add(name, values)
	}
	if all.fits() {
		return false
	}
	for name, values := range from {
		if PassesToProviders(name) || also[name] {
			passing.add(name, values)
		}
	}
	return !passing.fits()
}

// NamedByConnection returns a header that the Connection lines of a request name
// although it is not hop-by-hop: the gateway or providers evaluate it. If it were
// removed as RFC 9110 (section 7.6.1) demands, the provider would not see a condition
// that the gateway evaluated. It returns "" if there is none.
func NamedByConnection(h http.Header) string {
	for name := range connectionOptions(h) {
		if usedHere[name] && name != "Transfer-Encoding" || PassesToProviders(name) {
			return name
		}
	}
	return ""
}

// connectionOptions are the canonical names in the Connection lines of h.
func connectionOptions(h http.Header) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range h["Connection"] {
			for name := range strings.SplitSeq(line, ",") {
				name = textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name))
				if name != "" && !yield(name) {
					return
				}
			}
		}
	}
}

// ofMicrosoft reports whether a canonical name begins with x-ms- and has a spelling
// that no server takes for another name.
func ofMicrosoft(name string) bool { return strings.HasPrefix(name, "X-Ms-") && plain(name) }

// plain reports whether a name consists of letters, digits and hyphens.
func plain(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return name != ""
}

func set(names ...string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}
