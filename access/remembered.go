package access

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
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
	mu       sync.Mutex
	entries  *simplelru.LRU[[sha256.Size]byte, Principal]
	byCaller map[string][][sha256.Size]byte // oldest first
	groups   int                            // bytes
}

// NewRemembered returns an empty memory.
func NewRemembered() *Remembered {
	m := &Remembered{byCaller: make(map[string][][sha256.Size]byte)}
	var err error
	if m.entries, err = simplelru.NewLRU(maxRemembered, m.forgotten); err != nil {
		panic(err) // of a size below 1 alone
	}
	return m
}

// Get returns the principal of the credential with this hash. It does not allocate.
func (m *Remembered) Get(hash [sha256.Size]byte, now time.Time) (Principal, bool) {
	m.mu.Lock()
	p, known := m.entries.Get(hash)
	m.mu.Unlock()
	if !known || p.expired(now) {
		return Principal{}, false
	}
	return p, true
}

// Add remembers the principal of the credential with this hash.
func (m *Remembered) Add(hash [sha256.Size]byte, p Principal, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries.Remove(hash)
	if p.expired(now) {
		return
	}
	p.caller = p.Caller()
	if own := m.byCaller[p.caller]; len(own) >= rememberedShare {
		m.entries.Remove(own[0])
	}
	for m.entries.Len() > 0 && m.groups+len(p.Groups) > rememberedGroups {
		m.entries.RemoveOldest()
	}
	m.entries.Add(hash, p)
	m.byCaller[p.caller] = append(m.byCaller[p.caller], hash)
	m.groups += len(p.Groups)
}

// forgotten is called for each entry that goes.
func (m *Remembered) forgotten(hash [sha256.Size]byte, p Principal) {
	m.groups -= len(p.Groups)
	own := slices.DeleteFunc(m.byCaller[p.caller], func(of [sha256.Size]byte) bool { return of == hash })
	if len(own) == 0 {
		delete(m.byCaller, p.caller)
	} else {
		m.byCaller[p.caller] = own
	}
}
