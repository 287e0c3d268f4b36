package headers

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"portico/tracing"
)

// requestNames are the standard request headers that providers understand, with canonical names.
// Content-Length and Host are set for each call.
var requestNames = nameSet(
	"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language",
	"Cache-Control", "Pragma", "Date", "Prefer", "User-Agent",
	"Content-Disposition", "Content-Encoding", "Content-Language", "Content-Md5", "Content-Range", "Content-Type",
	"If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Range",
	"Idempotency-Key", "Repeatability-Client-Id", "Repeatability-First-Sent", "Repeatability-Request-Id",
	"Traceparent", "Tracestate",
)

// gatewayHeaders are further headers that the gateway itself evaluates.
var gatewayHeaders = nameSet("Authorization", "Content-Length", "Host", "Transfer-Encoding")

// PassesToProviders reports whether a request header passes to every provider. The name must be
// canonical.
func PassesToProviders(name string) bool {
	return requestNames[name] || isMicrosoftHeader(name) && (name == tracing.ClientRequestHeader || !tracing.Reserved(name))
}

// ToProvider returns the headers of a request that pass to a provider: those that always pass, and
// those in also, which the region map lists. The values are shared with the request. None of them
// is a header that the gateway sets.
func ToProvider(from http.Header, also map[string]bool) http.Header {
	to := make(http.Header, len(from))
	for name, values := range from {
		if len(values) > 0 && (PassesToProviders(name) || also[name]) {
			to[name] = slices.Clip(values)
		}
	}
	for name := range connectionOptions(from) {
		if !PassesToProviders(name) { // NamedByConnection finds the others, and the request is refused
			delete(to, name)
		}
	}
	return to
}

// TooMuchForProvider reports whether the headers that pass to a provider exceed what any server can
// be expected to accept.
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

// NamedByConnection returns a header that a request's Connection lines name although the gateway or
// providers evaluate it, or "". If it were removed, as RFC 9110 (section 7.6.1) demands, the
// provider would not see a condition that the gateway has evaluated.
func NamedByConnection(h http.Header) string {
	for name := range connectionOptions(h) {
		if gatewayHeaders[name] && name != "Transfer-Encoding" || PassesToProviders(name) {
			return name
		}
	}
	return ""
}

// connectionOptions iterates over the canonical names in the Connection lines of h.
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

// isMicrosoftHeader reports whether a canonical name begins with x-ms- and cannot be taken for
// another name by a server.
func isMicrosoftHeader(name string) bool {
	return strings.HasPrefix(name, "X-Ms-") && isPlainName(name)
}

// isPlainName reports whether a name consists of letters, digits and hyphens.
func isPlainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return name != ""
}

func nameSet(names ...string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}
