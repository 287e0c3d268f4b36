package tracing

import (
	"bytes"
	"net/http"
)

// reservedPrefixes are prefixes of headers that only the front door may set on a call to a
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

// reservedNames are further headers that only the front door may set: credentials and identities,
// which it consumes; IDs and addresses that it sets itself; and headers that would make a provider
// handle a different request than the one that was authorized.
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

// Strip removes the reserved headers that a client may not set, in any case, and their look-alikes:
// servers behind CGI-like gateways read X_Ms_… and x.ms.… as x-ms-…. It returns the number of lines
// removed only for their spelling, so that such attempts can be counted.
func Strip(h http.Header) (lookAlikes int) {
	var buffer [64]byte
	for name, values := range h {
		folded, alike := foldName(buffer[:0], name)
		switch {
		case alike && (bytes.HasPrefix(folded, anyMicrosoft) || isReserved(folded)):
			lookAlikes += len(values)
			delete(h, name)
		case name != ClientRequestHeader && isReserved(folded):
			delete(h, name)
		}
	}
	return lookAlikes
}

// Reserved reports whether only the front door may set a header, in any case and spelling.
// [ClientRequestHeader] is reserved, but Strip keeps it.
func Reserved(name string) bool {
	var buffer [64]byte
	folded, _ := foldName(buffer[:0], name)
	return isReserved(folded)
}

var anyMicrosoft = []byte("x-ms-")

func isReserved(folded []byte) bool {
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

// foldName appends name in lower case, with separators replaced by hyphens. alike reports whether
// it replaced any.
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
