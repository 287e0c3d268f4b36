package tracing

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Client is the origin of a request, according to trusted sources.
type Client struct {
	// Address is the client's IP address without zone; the zero value if unknown.
	Address netip.Addr
	// Forwarded is the part of X-Forwarded-For that trusted proxies wrote, with the direct peer
	// last.
	Forwarded string
	// Trusted means that the direct peer is a trusted proxy. It is not stored with later work.
	Trusted bool `json:"-"`

	text string // Address as text, if known
}

// AddressText returns the address as text, or "" if it is unknown.
func (c *Client) AddressText() string {
	switch {
	case !c.Address.IsValid():
		return ""
	case c.text != "":
		return c.text
	}
	return c.Address.String()
}

// ClientOf returns the client of a request from remoteAddr (host:port). X-Forwarded-For counts only
// if the peer is a trusted proxy. It is read from the right up to the first address that is not a
// trusted proxy, because a client may have sent the rest.
func ClientOf(remoteAddr string, h http.Header, trusted []netip.Prefix) Client {
	peer := parseAddress(remoteAddr)
	client := Client{Address: peer}
	if peer.IsValid() {
		client.text = formatAddress(peer, remoteAddr)
		client.Forwarded = client.text
	}
	if !ContainsAddress(trusted, peer) {
		return client
	}
	client.Trusted = true
	chain := strings.Split(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
	for _, c := range slices.Backward(chain) {
		address := parseAddress(strings.TrimSpace(c))
		if !address.IsValid() {
			break
		}
		client.Address, client.text = address, address.String()
		client.Forwarded = client.text + ", " + client.Forwarded
		if !ContainsAddress(trusted, address) {
			break
		}
	}
	return client
}

// formatAddress returns an address as text. If hostPort contains that text, it returns a substring,
// to save an allocation.
func formatAddress(address netip.Addr, hostPort string) string {
	var buffer [64]byte
	text := address.AppendTo(buffer[:0])
	if host, _, ok := strings.CutLast(hostPort, ":"); ok {
		if host = strings.Trim(host, "[]"); host == string(text) {
			return host
		}
	}
	return string(text)
}

func parseAddress(s string) netip.Addr {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	address, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}

// ContainsAddress reports whether an address is in one of the networks.
func ContainsAddress(networks []netip.Prefix, address netip.Addr) bool {
	if !address.IsValid() {
		return false
	}
	for _, n := range networks {
		if n.Contains(address) {
			return true
		}
	}
	return false
}
