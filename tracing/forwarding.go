package tracing

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Client is where a request came from, as far as that can be trusted.
type Client struct {
	// Address is the client's IP without zone; the zero value if unknown.
	Address netip.Addr
	// Forwarded is the chain of addresses from the trusted proxies, the direct peer last,
	// in the form of X-Forwarded-For.
	Forwarded string
	// Trusted: the direct peer is a trusted proxy. It is not kept with what is done later.
	Trusted bool `json:"-"`

	text string // the address, if that is known as text
}

// AddressText returns the address as text, "" where it is unknown.
func (c *Client) AddressText() string {
	switch {
	case !c.Address.IsValid():
		return ""
	case c.text != "":
		return c.text
	}
	return c.Address.String()
}

// ClientOf finds the client behind a request from remoteAddr (host:port). The chain of
// X-Forwarded-For counts only if the peer is a trusted proxy. It is read from the right
// up to the first address that is no trusted proxy: a client could have sent the rest.
func ClientOf(remoteAddr string, h http.Header, trusted []netip.Prefix) Client {
	peer := parseAddress(remoteAddr)
	client := Client{Address: peer}
	if peer.IsValid() {
		client.text = textOf(peer, remoteAddr)
		client.Forwarded = client.text
	}
	if !Within(trusted, peer) {
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
		if !Within(trusted, address) {
			break
		}
	}
	return client
}

// textOf returns an address as text: the part of host:port that says it, if there is
// one.
func textOf(address netip.Addr, hostPort string) string {
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

// Within reports whether an address lies in one of the networks.
func Within(networks []netip.Prefix, address netip.Addr) bool {
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
