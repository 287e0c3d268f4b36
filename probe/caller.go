package probe

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

// Stamps returns what a provider is told of the caller's call into a tenant, which came
// in by the public URL of the front door. referer is the public URI of what is called.
func (c *Caller) Stamps(tenant string, public *url.URL, referer string) tracing.Stamps {
	who := c.Principal.In(tenant)
	stamps := who.Stamps()
	stamps.Identity, stamps.Client, stamps.Public, stamps.Referer = c.Identity, c.Client, public, referer
	return stamps
}
