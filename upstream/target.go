package upstream

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"portico/limits"
	"portico/regions"
	"portico/regions/health"
)

// target is an endpoint as calls see it: its addresses with what is known of
// them, and what limits the calls of it.
type target struct {
	addresses *health.Set
	pools     []*pool             // by their index
	readers   *limits.Concurrency // by [Client.Read]
	// Calls by [Client.Do]. An answer may be open while a question is asked by
	// Read: so those have slots of their own.
	reads, writes *limits.Concurrency
	retries       limits.RetryBudget
	reading       prometheus.Gauge
}

// pool holds the connections to one address.
type pool struct {
	base       *url.URL
	series     *addressMetrics
	transports atomic.Pointer[transports]
}

// lines are the connections that were made by one configuration of TLS.
type transports struct {
	writes, reads *http.Transport
}

func (c *Client) newTransports(of *addressMetrics) *transports {
	return &transports{writes: c.transport(true, of), reads: c.transport(false, of)}
}

// rest drops the connections that are idle. Those that are in use are dropped
// when they no longer are, unless the lines are called upon again.
func (l *transports) closeIdle() {
	l.writes.CloseIdleConnections()
	l.reads.CloseIdleConnections()
}

// UseTLS has connections that are made from now on follow another
// configuration, nil for the system's defaults. Those that were made before are
// dropped, in use ones once they no longer are.
func (c *Client) UseTLS(config *tls.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tls.Store(config)
	for _, p := range c.pools {
		if p.base.Scheme == "https" {
			p.transports.Swap(c.newTransports(p.series)).closeIdle()
		}
	}
}

// target returns the one target of an endpoint, whichever map it is of.
func (c *Client) target(e *regions.Endpoint) *target {
	if t, ok := c.targets.Load(e); ok {
		return t.(*target) // nothing else is stored
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.resolve(e)
	c.targets.Store(e, t)
	return t
}

// resolve is target under the lock.
func (c *Client) resolve(e *regions.Endpoint) *target {
	name := e.Region + " " + e.String()
	if t := c.byName[name]; t != nil {
		return t
	}
	names := strings.Split(e.String(), ",")
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
			p = &pool{base: e.URLs[i], series: c.metrics.forAddress(e.Region, addressOf(e.URLs[i]))}
			p.transports.Store(c.newTransports(p.series))
			c.pools[a] = p
		}
		t.pools = append(t.pools, p)
	}
	c.byName[name] = t
	return t
}

// Watch makes the endpoints of a map those that are probed and shown, and
// judges them by h from now on. What is known of addresses that stay is kept;
// the others are forgotten. Calls to those go on.
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
		if !staying[e.(*regions.Endpoint)] { // nothing else is stored
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
	c.forget()
	select {
	case c.probersDue <- struct{}{}:
	default: // it is due already
	}
}

// forget drops the connections to addresses that are not of the map any more, and
// what is shown of them.
func (c *Client) forget() {
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
		if !stays[a.Region+" "+p.series.address] { // the same by another scheme
			c.metrics.forget(a.Region, p.series)
		}
	}
}
