package health

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Registry holds the health of all addresses and endpoints. Endpoints in a
// region share the state of a common address. It is safe for concurrent use.
type Registry struct {
	settings   atomic.Pointer[Settings]
	notify     func(Change)
	generation atomic.Uint64 // incremented by every change
	drained    atomic.Pointer[func(place string) bool]

	mu        sync.Mutex
	addresses map[string]*Address
	sets      map[string]*Set
}

// New returns an empty registry. It calls notify, which may be nil, for every
// change, possibly concurrently; notify must not call the registry.
func New(s Settings, notify func(Change)) *Registry {
	r := &Registry{notify: notify, addresses: map[string]*Address{}, sets: map[string]*Set{}}
	r.Configure(s)
	return r
}

// Configure replaces the settings.
func (r *Registry) Configure(s Settings) {
	r.settings.Store(&s)
	r.invalidate()
}

// SetDrained sets the function that reports whether a region, or an address, is out for
// maintenance now.
func (r *Registry) SetDrained(is func(place string) bool) { r.drained.Store(&is) }

// Drained reports whether a region is out for maintenance, or the address of a name.
func (r *Registry) Drained(name string) bool {
	place, _, _ := strings.Cut(name, " ") // an identity may follow the address
	is := r.drained.Load()
	return is != nil && (*is)(place)
}

// invalidate makes every set rebuild its snapshot before the next choice.
func (r *Registry) invalidate() { r.generation.Add(1) }

// Set returns the set of these addresses, at least one, in a region. The same
// arguments always return the same set.
func (r *Registry) Set(region string, names ...string) *Set {
	key := region + " " + strings.Join(names, ",")
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sets[key]; s != nil {
		return s
	}
	s := &Set{registry: r, Region: region}
	for i, name := range names {
		s.members = append(s.members, &member{Address: r.address(region, name), index: i})
	}
	r.sets[key] = s
	return s
}

func (r *Registry) address(region, name string) *Address {
	key := region + " " + name
	a := r.addresses[key]
	if a == nil {
		a = &Address{
			Region: region, Name: name, registry: r, last: transition{up: true},
			counts: Counts{Ejections: map[string]uint64{}, Probes: map[ProbeOutcome]uint64{}},
		}
		r.addresses[key] = a
	}
	return a
}

// Addresses returns all addresses, sorted by region and name.
func (r *Registry) Addresses() []*Address {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*Address, 0, len(r.addresses))
	for _, a := range r.addresses {
		all = append(all, a)
	}
	slices.SortFunc(all, func(x, y *Address) int {
		return cmp.Or(cmp.Compare(x.Region, y.Region), cmp.Compare(x.Name, y.Name))
	})
	return all
}

// Retain drops all other sets, and the addresses that are in none of these.
func (r *Registry) Retain(sets []*Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := map[*Address]bool{}
	for key, s := range r.sets {
		if !slices.Contains(sets, s) {
			delete(r.sets, key)
			continue
		}
		for _, m := range s.members {
			used[m.Address] = true
		}
	}
	for key, a := range r.addresses {
		if !used[a] {
			delete(r.addresses, key)
		}
	}
}
