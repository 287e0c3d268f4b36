package headers

import "net/http"

// hopByHop are the headers that concern one connection only (RFC 9110,
// section 7.6.1), and those that no provider has a use for: Upgrade and its
// kin, since the contract knows no other protocol; Proxy, which CGI-like
// servers take for a setting; Expect, since the content is at hand.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Proxy", "Expect", "Alt-Svc",
}

// RemoveHopByHop removes from the headers of an answer what concerns one connection
// only: the headers named in any of its Connection lines first, then the known ones.
func RemoveHopByHop(h http.Header) {
	for name := range connectionOptions(h) {
		delete(h, name)
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}
