package upstream

import (
	"net/url"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"portico/limits"
	"portico/regions"
	"portico/regions/health"
)

// target is an endpoint with its addresses, their connections and its limits.
type target struct {
	addresses *health.Set
	pools     []*pool             // by index of the address
	readers   *limits.Concurrency // by [Client.Read]
	// Calls by [Client.Do]. They have their own slots, since a call may be
	// open while Read is called on its behalf.
	reads, writes *limits.Concurrency
	retries       limits.RetryBudget
	reading       prometheus.Gauge
	shed          shedding
}

// pool holds the connections to one address.
type pool struct {
	base       *url.URL
	identity   string // the identity of its calls, one of [Identities]
	series     *addressMetrics
	trust      trustFaults
	transports atomic.Pointer[transports]
}

// target returns the target of an endpoint. Endpoints of several maps share it.
func (c *Client) target(e *regions.Endpoint) *target {
	if t, ok := c.targets.Load(e); ok {
		return t.(*target) // the only type stored
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.resolve(e)
	c.targets.Store(e, t)
	return t
}

// resolve is like target, with c.mu held.
func (c *Client) resolve(e *regions.Endpoint) *target {
	name := addressName(e.Region+" "+e.String(), e.Identity)
	if t := c.byName[name]; t != nil {
		return t
	}
	names := make([]string, len(e.URLs))
	for i, u := range e.URLs {
		names[i] = addressName(u.String(), e.Identity)
	}
	t := &target{
		addresses: c.registry.Set(e.Region, names...),
		readers:   limits.NewConcurrency(c.options.Readers, c.options.ReadersPerCaller, &c.reading),
		reads:     limits.NewConcurrency(c.options.Calls, c.options.CallsPerCaller, &c.calling),
		writes:    limits.NewConcurrency(c.options.Calls, c.options.CallsPerCaller, &c.calling),
		reading:   c.metrics.reading.WithLabelValues(e.Region),
	}
	for i, a := range t.addresses.Addresses() {
		p := c.pools[a]
		if p == nil {
			p = &pool{base: e.URLs[i], identity: e.Identity, series: c.metrics.forAddress(e.Region, addressName(addressOf(e.URLs[i]), e.Identity))}
			p.transports.Store(c.newTransports(p))
			c.pools[a] = p
		}
		t.pools = append(t.pools, p)
	}
	c.byName[name] = t
	return t
}

// UseMap probes and exports the endpoints of a map, and applies h. It keeps the state of
// addresses that stay, and drops the others; calls to those continue.
func (c *Client) UseMap(m *regions.Map, h Health) {
	endpoints := m.Endpoints()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registry.Configure(h.Settings)
	c.probing.Store(&h.Probing)
	c.mapTargets = nil
	staying := map[*regions.Endpoint]bool{}
	kept := map[*target]bool{}
	var sets []*health.Set
	for _, e := range endpoints {
		t := c.resolve(e)
		c.targets.Store(e, t)
		staying[e] = true
		if !kept[t] {
			kept[t] = true
			c.mapTargets = append(c.mapTargets, t)
			sets = append(sets, t.addresses)
		}
	}
	c.targets.Range(func(e, _ any) bool {
		if !staying[e.(*regions.Endpoint)] { // the only type stored
			c.targets.Delete(e)
		}
		return true
	})
	for name, t := range c.byName {
		if !kept[t] {
			delete(c.byName, name)
		}
	}
	c.registry.Retain(sets)
	c.dropRemoved()
	select {
	case c.probersDue <- struct{}{}:
	default: // already pending
	}
}

// dropRemoved closes the connections to addresses that have left the map, and
// deletes their metrics.
func (c *Client) dropRemoved() {
	used := map[*health.Address]bool{}
	for _, a := range c.registry.Addresses() {
		used[a] = true
	}
	gone, stays := map[*health.Address]*pool{}, map[string]bool{} // by region and label
	for a, p := range c.pools {
		if used[a] {
			stays[a.Region+" "+p.series.address] = true
			continue
		}
		gone[a] = p
		delete(c.pools, a)
	}
	for a, p := range gone {
		p.transports.Load().closeIdle()
		if !stays[a.Region+" "+p.series.address] { // the same address may stay with another scheme
			c.metrics.removeAddress(a.Region, p.series)
		}
	}
}
