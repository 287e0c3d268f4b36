package issuer

import (
	"context"
	"crypto/sha256"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// tick is the interval of looking for keys that are due.
const tick = time.Second

// Registry holds the keys of all issuers, which outlive a configuration. It
// is safe for concurrent use.
type Registry struct {
	log     *zap.Logger
	metrics *Metrics

	mu   sync.Mutex
	keys map[identity]*Keys
}

// identity identifies keys by everything that they depend on.
type identity struct {
	issuer  string
	options KeyOptions
	ca      [sha256.Size]byte // of the file's content
}

// NewRegistry returns an empty registry.
func NewRegistry(log *zap.Logger, registry prometheus.Registerer) *Registry {
	r := &Registry{log: log, keys: make(map[identity]*Keys)}
	r.metrics = newMetrics(registry, r.all)
	return r
}

// Prepare returns the keys of issuers. It reuses present keys with the same
// identity, and contacts no issuer.
func (r *Registry) Prepare(issuers map[string]KeyOptions) (*Prepared, error) {
	p := &Prepared{registry: r, keys: make(map[identity]*Keys)}
	for issuer, o := range issuers {
		id := identity{issuer: issuer, options: o}
		if o.CA != "" {
			pem, err := os.ReadFile(o.CA)
			if err != nil {
				return nil, err
			}
			id.ca = sha256.Sum256(pem)
		}
		r.mu.Lock()
		keys := r.keys[id]
		r.mu.Unlock()
		if keys == nil {
			f, err := newFetcher(o.CA)
			if err != nil {
				return nil, err
			}
			keys = newKeys(issuer, o, f, r.log, r.metrics)
		}
		p.keys[id] = keys
	}
	return p, nil
}

// Prepared holds the keys of one configuration, before it takes effect.
type Prepared struct {
	registry *Registry
	keys     map[identity]*Keys
}

// Of returns the keys of an issuer.
func (p *Prepared) Of(issuer string) *Keys {
	for id, keys := range p.keys {
		if id.issuer == issuer {
			return keys
		}
	}
	return nil
}

// Use makes the registry refresh these keys.
func (p *Prepared) Use() {
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	for id, keys := range p.registry.keys {
		if p.keys[id] != keys {
			keys.fetcher.client.CloseIdleConnections()
		}
	}
	p.registry.keys = p.keys
}

// Run refreshes the keys that are in use until ctx ends.
func (r *Registry) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var fetches sync.WaitGroup
		for _, keys := range r.all() {
			if keys.due() {
				fetches.Go(func() { _ = keys.fetch(ctx) }) // fetch logs its error
			}
		}
		fetches.Wait()
	}
}

func (r *Registry) all() []*Keys {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Keys, 0, len(r.keys))
	for _, keys := range r.keys {
		all = append(all, keys)
	}
	return all
}
