package upstream

import (
	"slices"

	"portico/regions"
	"portico/regions/health"
)

// Prospect is an address of an endpoint as a call would find it.
type Prospect struct {
	Address string // such as https://host:port
	Health  health.State
	// Candidate: the next call goes to this address, or to another candidate.
	Candidate bool
}

// Prospects returns the addresses of an endpoint, and makes no call. The error is the
// *[Fault] of a call where none of them can be called.
func (c *Client) Prospects(e *regions.Endpoint) ([]Prospect, error) {
	t, now := c.target(e), c.now()
	candidates, err := t.addresses.Candidates(now)
	all := make([]Prospect, len(t.pools))
	for i, a := range t.addresses.Addresses() {
		all[i] = Prospect{t.pools[i].base.String(), a.State(now), slices.Contains(candidates, i)}
	}
	if err != nil {
		return all, &Fault{Region: e.Region, Err: err}
	}
	return all, nil
}

// CredentialHeader is the name of the header that carries a secret in calls of an
// endpoint, "" if there is none.
func (c *Client) CredentialHeader(e *regions.Endpoint) string {
	if identity := (*c.identities.Load())[e.Identity]; identity != nil {
		return identity.Header
	}
	return ""
}
