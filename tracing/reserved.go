package tracing

import (
	"bytes"
	"net/http"
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
	var buffer [64]byte
	for name, values := range h {
		folded, alike := foldName(buffer[:0], name)
		switch {
		case alike && (bytes.HasPrefix(folded, anyMicrosoft) || reserved(folded)):
			lookAlikes += len(values)
			delete(h, name)
		case name != ClientRequestHeader && reserved(folded):
			delete(h, name)
		}
	}
	return lookAlikes
}

var anyMicrosoft = []byte("x-ms-")

func reserved(folded []byte) bool {
	if reservedNames[string(folded)] {
		return true
	}
	for _, prefix := range reservedPrefixes {
		if len(folded) >= len(prefix) && string(folded[:len(prefix)]) == prefix {
			return true
		}
	}
	return false
}

// foldName appends name to dst in lower case with every separator a hyphen, and
// tells whether a separator was none before.
func foldName(dst []byte, name string) (folded []byte, alike bool) {
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '_' || c == '.':
			alike, c = true, '-'
		}
		dst = append(dst, c)
	}
	return dst, alike
}
