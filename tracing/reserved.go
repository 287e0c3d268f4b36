package tracing

import (
	"net/http"
	"strings"
)

// reservedPrefixes begin the names that only the front door may set towards a
// provider.
var reservedPrefixes = []string{
	"x-ms-client-",
	"x-ms-home-",
	"x-ms-arm-",
	"x-ms-identity-",
	"x-ms-routing-",
	"x-ms-management-group-",
	"x-ms-providerhub-",
	"x-ms-original-",
	"x-ms-portico-",
	"x-forwarded-",
	"x-remote-",
	"x-original-",
	"x-rewrite-",
}

// reservedNames are single names of that kind: credentials, which end here;
// ids and places that the front door states itself.
var reservedNames = map[string]bool{
	"authorization":               true,
	"cookie":                      true,
	"forwarded":                   true,
	"proxy-authorization":         true,
	"referer":                     true,
	"true-client-ip":              true,
	"via":                         true,
	"x-client-ip":                 true,
	"x-cluster-client-ip":         true,
	"x-ms-correlation-request-id": true,
	"x-real-ip":                   true,
}

// Strip removes from h every header that a client may not set, in any casing,
// and every look-alike: servers behind CGI-like gateways read X_Ms_… and x.ms.…
// as x-ms-…. It returns how many header lines went because of their spelling
// alone, so that such attempts can be counted.
func Strip(h http.Header) (lookAlikes int) {
	for name, values := range h {
		folded, alike := foldName(name)
		switch {
		case alike && (strings.HasPrefix(folded, "x-ms-") || reserved(folded)):
			lookAlikes += len(values)
			delete(h, name)
		case reserved(folded) && folded != "x-ms-client-request-id":
			delete(h, name)
		}
	}
	return lookAlikes
}

func reserved(folded string) bool {
	if reservedNames[folded] {
		return true
	}
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(folded, prefix) {
			return true
		}
	}
	return false
}

// foldName returns name in lower case with every separator a hyphen, and
// whether a separator was none before.
func foldName(name string) (folded string, alike bool) {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case r == '_' || r == '.':
			alike = true
			return '-'
		}
		return r
	}, name), alike
}
