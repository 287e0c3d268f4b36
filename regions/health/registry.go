package health

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Board knows all addresses and endpoints. An address that several endpoints
// have in a region is one. It is safe for concurrent use.
type Registry struct {
	settings   atomic.Pointer[Settings]
	notify     func(Change)
	generation atomic.Uint64 // of all states together

	mu        sync.Mutex
	addresses map[string]*Address
	sets      map[string]*Set
}

// New returns a board that knows nothing yet. notify, which may be nil, is told
// of every change, by whoever caused it and maybe by several at once; it must
// not call back.
func New(s Settings, notify func(Change)) *Registry {
	b := &Registry{notify: notify, addresses: map[string]*Address{}, sets: map[string]*Set{}}
	b.Configure(s)
	return b
}

// Configure changes the bounds for what comes.
func (b *Registry) Configure(s Settings) {
	b.settings.Store(&s)
	b.invalidate()
}

// touch has every set look anew before it chooses.
func (b *Registry) invalidate() { b.generation.Add(1) }

// Set returns the one set of these addresses, at least one, in a region.
func (b *Registry) Set(region string, names ...string) *Set {
	key := region + " " + strings.Join(names, ",")
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.sets[key]; s != nil {
		return s
	}
	s := &Set{registry: b, Region: region}
	for i, name := range names {
		s.members = append(s.members, &member{Address: b.address(region, name), index: i})
	}
	b.sets[key] = s
	return s
}

func (b *Registry) address(region, name string) *Address {
	key := region + " " + name
	a := b.addresses[key]
	if a == nil {
		a = &Address{Region: region, Name: name, registry: b, counts: Counts{Ejections: map[string]uint64{}, Probes: map[ProbeOutcome]uint64{}}}
		b.addresses[key] = a
	}
	return a
}

// Addresses returns all addresses, by region and name.
func (b *Registry) Addresses() []*Address {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]*Address, 0, len(b.addresses))
	for _, a := range b.addresses {
		all = append(all, a)
	}
	slices.SortFunc(all, func(x, y *Address) int {
		return cmp.Or(cmp.Compare(x.Region, y.Region), cmp.Compare(x.Name, y.Name))
	})
	return all
}

// Keep forgets all sets but these, and the addresses that none of them has.
func (b *Registry) Retain(sets []*Set) {
	b.mu.Lock()
	defer b.mu.Unlock()
	used := map[*Address]bool{}
	for key, s := range b.sets {
		if !slices.Contains(sets, s) {
			delete(b.sets, key)
			continue
		}
		for _, m := range s.members {
			used[m.Address] = true
		}
	}
	for key, a := range b.addresses {
		if !used[a] {
			delete(b.addresses, key)
		}
	}
}
