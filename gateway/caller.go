package gateway

import (
	"net/netip"

	"portico/access"
	"portico/tracing"
)

// caller names whose share of a budget a request uses: its principal's, or, where
// nobody has to say who they are, its address's. It is for telling callers apart
// only, and is neither logged nor a metric label.
func (x *exchange) caller() string { return callerName(x.principal, x.client) }

func callerName(principal access.Principal, client tracing.Client) string {
	if principal.TenantID != "" {
		return principal.Caller()
	}
	return callerAt(client.Address)
}

// callerAt names the caller behind an address. Who has an IPv6 address has all of
// its network's.
func callerAt(address netip.Addr) string {
	if address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}
