package headers

// hopByHop are the headers that concern one connection only (RFC 9110, section 7.6.1),
// and some that providers do not need: Upgrade and its kin, since ARM uses no other
// protocol; Proxy, which CGI-like servers take for a setting; Expect, since the gateway
// has the content.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Proxy", "Expect", "Alt-Svc",
}
