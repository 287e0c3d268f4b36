package exchange

import (
	"net/netip"

	"portico/access"
	"portico/tracing"
)

// Caller names the caller whose share of a budget the request uses; see
// [CallerName].
func (x *Exchange) Caller() string { return CallerName(x.Principal, x.Client) }

// CallerName names a caller by its principal or, without authentication, by its
// address. The name only tells callers apart: it is neither logged nor a metric
// label.
func CallerName(principal access.Principal, client tracing.Client) string {
	if principal.TenantID != "" {
		return principal.Caller()
	}
	return callerAt(client.Address)
}

// callerAt names the caller behind an address. The owner of an IPv6 address owns
// its whole /64.
func callerAt(address netip.Addr) string {
	if address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}
