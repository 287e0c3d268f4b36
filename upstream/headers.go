package upstream

import (
	"net/http"
	"net/textproto"
	"strings"
)

// hopByHop are the headers that concern one connection only (RFC 9110,
// section 7.6.1), and those that no provider has a use for: Upgrade and its
// kin, since the contract knows no other protocol; Proxy, which CGI-like
// servers take for a setting; Expect, since the content is at hand.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Proxy", "Expect", "Alt-Svc",
}

// RemoveHopByHop removes from h what concerns one connection only: the headers
// named in any of its Connection lines first, then the known ones.
func RemoveHopByHop(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = textproto.TrimString(name); name != "" {
				h.Del(name)
			}
		}
	}
	for _, name := range hopByHop {
		delete(h, name)
	}
}

// replayKeys are the headers by which net/http's transport takes a write for
// safe to send again.
var replayKeys = []string{"Idempotency-Key", "X-Idempotency-Key"}

// hideReplayKeys spells the headers that would license a second attempt so that
// the transport does not know them; on the wire names match without case.
func hideReplayKeys(h http.Header) {
	for _, name := range replayKeys {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}
