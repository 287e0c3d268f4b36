package probe

import (
	"net/url"

	"portico/access"
	"portico/tracing"
)

// Caller is the caller on whose behalf a provider is called: the provider learns of it,
// and the call counts against its share of budgets.
type Caller struct {
	Principal access.Principal
	Identity  tracing.Identity
	Client    tracing.Client // zero for work outside of a client's request
	Share     string         // as [upstream.Call].Caller
}

// Stamps returns the headers that inform a provider about the caller of a call into a
// tenant, which reached the front door by its public URL. referer is the public URI of
// the called resource.
func (c *Caller) Stamps(tenant string, public *url.URL, referer string) tracing.Stamps {
	who := c.Principal.In(tenant)
	stamps := who.Stamps()
	stamps.Identity, stamps.Client, stamps.Public, stamps.Referer = c.Identity, c.Client, public, referer
	return stamps
}
