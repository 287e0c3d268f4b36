package upstream

import (
	"crypto/tls"
	"strings"

	"portico/regions"
)

// Retain keeps the connections to these endpoints and drops all others, those
// in use once they no longer are.
func (c *Client) Retain(endpoints []*regions.Endpoint) {
	wanted := make(map[string]bool, len(endpoints))
	for _, e := range endpoints {
		wanted[poolKey(e)] = true
	}
	c.drop(func(key string) bool { return !wanted[key] })
}

// UseTLS has connections that are made from now on follow another
// configuration, nil for the system's defaults. Those that were made before are
// dropped, in use ones once they no longer are.
func (c *Client) UseTLS(config *tls.Config) {
	c.mu.Lock()
	c.options.TLS = config
	c.mu.Unlock()
	c.drop(func(key string) bool { return strings.Contains(key, "https://") })
}

func (c *Client) drop(whether func(key string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, p := range c.pools {
		if whether(key) {
			delete(c.pools, key)
			p.rest()
		}
	}
}
