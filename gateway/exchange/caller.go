package exchange

import (
	"portico/access"
	"portico/tracing"
)

// Caller returns the name of the caller whose share of a budget the request uses; see
// [CallerName].
func (x *Exchange) Caller() string { return CallerName(x.Principal, x.Client) }

// CallerName names a caller by its principal or, without authentication, by its address.
// The name serves only to distinguish callers: it is neither logged nor a metric label.
func CallerName(principal access.Principal, client tracing.Client) string {
	if principal.TenantID != "" {
		return principal.Caller()
	}
	// The owner of an IPv6 address owns its whole /64.
	if client.Address.Is6() {
		if network, err := client.Address.Prefix(64); err == nil {
			return network.String()
		}
	}
	if !client.Address.IsValid() {
		return client.Address.String()
	}
	return client.AddressText()
}
