package tracing

import (
	"bytes"
	"net/http"
)

// reservedPrefixes begin the names of headers that only the front door may set on a
// call to a provider.
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
	"x-ms-authorization-",
	"x-ms-token-",
	"x-forwarded-",
	"x-remote-",
	"x-original-",
	"x-rewrite-",
	"x-auth-request-",
	"x-envoy-",
	"x-ssl-",
	"impersonate-",
}

// reservedNames are such names in full: credentials and identities, which end here; ids
// and places that the front door states itself; and headers that would make a provider
// handle another request than the one that was checked.
var reservedNames = map[string]bool{
	"authorization":               true,
	"cf-connecting-ip":            true,
	"client-cert":                 true,
	"client-cert-chain":           true,
	"cookie":                      true,
	"fastly-client-ip":            true,
	"forwarded":                   true,
	"proxy-authorization":         true,
	"referer":                     true,
	"remote-user":                 true,
	"true-client-ip":              true,
	"via":                         true,
	"x-arr-clientcert":            true,
	"x-authenticated-user":        true,
	"x-client-cert":               true,
	"x-client-ip":                 true,
	"x-cluster-client-ip":         true,
	"x-forwarded":                 true,
	"x-host":                      true,
	"x-http-method":               true,
	"x-http-method-override":      true,
	"x-method-override":           true,
	"x-ms-correlation-request-id": true,
	"x-real-ip":                   true,
	"x-user":                      true,
}

// Strip removes from h every header that a client may not set, in any casing, and every
// look-alike: servers behind CGI-like gateways read X_Ms_… and x.ms.… as x-ms-…. It
// returns how many header lines it removed only for their spelling, so that such
// attempts can be counted.
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

// Reserved reports whether only the front door may set a header of that name, in any
// casing and spelling. [ClientRequestHeader] is reserved; Strip lets a client's pass by
// name.
func Reserved(name string) bool {
	var buffer [64]byte
	folded, _ := foldName(buffer[:0], name)
	return reserved(folded)
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

// foldName appends name to dst in lower case, with a hyphen for every separator. alike
// reports whether it replaced a separator.
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
