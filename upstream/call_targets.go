package upstream

import (
	"slices"

	"portico/regions"
	"portico/regions/health"
)

// Prospect is the state of an endpoint's address for the next call.
type Prospect struct {
	Address string // such as https://host:port
	Health  health.State
	// Candidate reports whether the next call may go to this address.
	Candidate bool
}

// CallTargets returns the addresses of an endpoint, without a call. If none of
// them can be called, the error is the *[Fault] of a call.
func (c *Client) CallTargets(e *regions.Endpoint) ([]Prospect, error) {
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

// CredentialHeader returns the name of the header with a secret in calls of
// an endpoint, "" if there is none.
func (c *Client) CredentialHeader(e *regions.Endpoint) string {
	if identity := (*c.identities.Load())[e.Identity]; identity != nil {
		return identity.Header
	}
	return ""
}
