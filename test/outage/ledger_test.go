package outage

import (
	"maps"
	"sync"
)

// fate is what is known of something that callers write.
type fate int

const (
	open  fate = iota // a call without an acknowledgement
	there             // it was acknowledged to exist
	gone              // it was acknowledged not to
)

// ledger is what callers were told.
type ledger struct {
	mu        sync.Mutex
	resources map[string]fate // by id
	roles     map[string]fate // by id
	tags      map[string]int  // the numbers that acknowledged writes gave existing resources, by id
}

func newLedger() *ledger {
	return &ledger{resources: map[string]fate{}, roles: map[string]fate{}, tags: map[string]int{}}
}

func (l *ledger) resource(id string, f fate) { l.note(l.resources, id, f) }
func (l *ledger) role(id string, f fate)     { l.note(l.roles, id, f) }

func (l *ledger) note(in map[string]fate, id string, f fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in[id] = f
}

func (l *ledger) tag(id string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tags[id] = n
}

// copies are of a ledger in which no one writes any more.
func (l *ledger) copies() (resources, roles map[string]fate, tags map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.resources), maps.Clone(l.roles), maps.Clone(l.tags)
}
