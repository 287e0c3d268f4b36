package outage

import (
	"maps"
	"sync"
)

// outcome is what is known of something that callers write.
type outcome int

const (
	open  outcome = iota // a call without an acknowledgement
	there                // it was acknowledged to exist
	gone                 // it was acknowledged not to
)

// ledger is what callers were told.
type ledger struct {
	mu        sync.Mutex
	resources map[string]outcome // by id
	roles     map[string]outcome // by id
	tags      map[string]int     // the numbers that acknowledged writes gave existing resources, by id
}

func newLedger() *ledger {
	return &ledger{resources: map[string]outcome{}, roles: map[string]outcome{}, tags: map[string]int{}}
}

func (l *ledger) resource(id string, f outcome) { l.note(l.resources, id, f) }
func (l *ledger) role(id string, f outcome)     { l.note(l.roles, id, f) }

func (l *ledger) note(in map[string]outcome, id string, f outcome) {
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
func (l *ledger) copies() (resources, roles map[string]outcome, tags map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.resources), maps.Clone(l.roles), maps.Clone(l.tags)
}
