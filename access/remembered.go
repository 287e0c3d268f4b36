package access

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of what is remembered. A principal that signs in with more credentials than
// its share forgets its own oldest one, so that nobody pushes out the others.
const (
	maxRemembered    = 16384
	rememberedShare  = 16
	rememberedGroups = 4 << 20 // bytes of group ids altogether
)

// Remembered keeps the principals of verified credentials by the hashes of these, until
// the principal expires or was not asked for in a while. It is bounded, and safe for
// concurrent use.
type Remembered struct {
	mu       sync.RWMutex
	entries  map[[sha256.Size]byte]*rememberedEntry
	byCaller map[string][]*rememberedEntry // oldest first
	ring     []*rememberedEntry            // for the second chance
	hand     int
	groups   int // bytes
}

type rememberedEntry struct {
	hash      [sha256.Size]byte
	principal Principal
	place     int         // in the ring
	used      atomic.Bool // since the hand came by
}

// NewRemembered returns an empty memory.
func NewRemembered() *Remembered {
	return &Remembered{entries: make(map[[sha256.Size]byte]*rememberedEntry), byCaller: make(map[string][]*rememberedEntry)}
}

// Get returns the principal of the credential with this hash. It does not allocate.
func (m *Remembered) Get(hash [sha256.Size]byte, now time.Time) (Principal, bool) {
	m.mu.RLock()
	e := m.entries[hash]
	m.mu.RUnlock()
	if e == nil || e.principal.expired(now) {
		return Principal{}, false
	}
	if !e.used.Load() { // a store alone would have the processors pass it to and fro
		e.used.Store(true)
	}
	return e.principal, true
}

// Add remembers the principal of the credential with this hash.
func (m *Remembered) Add(hash [sha256.Size]byte, p Principal, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.entries[hash]; old != nil {
		m.forget(old)
	}
	if p.expired(now) {
		return
	}
	caller := p.Caller()
	p.caller = caller
	if own := m.byCaller[caller]; len(own) >= rememberedShare {
		m.forget(own[0])
	}
	for len(m.ring) > 0 && (len(m.ring) >= maxRemembered || m.groups+len(p.Groups) > rememberedGroups) {
		m.forget(m.unused(now))
	}
	e := &rememberedEntry{hash: hash, principal: p, place: len(m.ring)}
	m.entries[hash] = e
	m.ring = append(m.ring, e)
	m.byCaller[caller] = append(m.byCaller[caller], e)
	m.groups += len(p.Groups)
}

// unused finds one that expired, or that was not used since the hand came by.
func (m *Remembered) unused(now time.Time) *rememberedEntry {
	for {
		if m.hand >= len(m.ring) {
			m.hand = 0
		}
		e := m.ring[m.hand]
		if e.principal.expired(now) || !e.used.Swap(false) {
			return e
		}
		m.hand++
	}
}

// forget removes an entry; the ring's last takes its place.
func (m *Remembered) forget(e *rememberedEntry) {
	delete(m.entries, e.hash)
	m.groups -= len(e.principal.Groups)
	last := m.ring[len(m.ring)-1]
	m.ring[e.place], last.place = last, e.place
	m.ring[len(m.ring)-1] = nil
	m.ring = m.ring[:len(m.ring)-1]
	caller := e.principal.Caller()
	own := m.byCaller[caller]
	for i, other := range own {
		if other == e {
			own = append(own[:i:i], own[i+1:]...)
			break
		}
	}
	if len(own) == 0 {
		delete(m.byCaller, caller)
	} else {
		m.byCaller[caller] = own
	}
}

// Keep forgets the principals that are not to be kept.
func (m *Remembered) Keep(keep func(Principal) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.ring) - 1; i >= 0; i-- {
		if e := m.ring[i]; !keep(e.principal) {
			m.forget(e)
		}
	}
}

// Len is how many are remembered.
func (m *Remembered) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.ring)
}
