package locate

import (
	"net/url"

	"portico/access"
	"portico/tracing"
)

// Caller is the caller behind a call of a provider: what the provider learns of the
// caller, and whose share of budgets the call uses.
type Caller struct {
	Principal access.Principal
	Identity  tracing.Identity
	Client    tracing.Client // zero for work outside of a client's request
	Share     string         // as [upstream.Call].Caller
}

// Stamp writes onto a call into a tenant the caller's ids and identity and, by the
// public URL of the front door, where the call came in. referer is the public URI of
// what is called.
func (c *Caller) Stamp(h tracing.Setter, tenant string, public *url.URL, referer string) {
	c.Identity.Stamp(h)
	c.Principal.In(tenant).Stamp(h)
	h.Set("Referer", referer)
	if address := c.Client.AddressText(); address != "" {
		h.Set("X-Ms-Client-Ip-Address", address)
		h.Set("X-Forwarded-For", c.Client.Forwarded)
	}
	h.Set("X-Forwarded-Proto", public.Scheme)
	h.Set("X-Forwarded-Host", public.Host)
}
