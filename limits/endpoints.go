package limits

import "sync"

// Endpoints limits the calls that each endpoint has under way on one replica, and of
// them those of one caller. It is safe for concurrent use.
type Endpoints struct {
	all, perCaller int
	mu             sync.Mutex
	slots          map[string]*Concurrency
}

// NewEndpoints returns limits of all calls, but at least perCaller, per endpoint.
func NewEndpoints(all, perCaller int) *Endpoints {
	return &Endpoints{all: max(all, perCaller), perCaller: perCaller, slots: map[string]*Concurrency{}}
}

// At returns the limit of an endpoint.
func (e *Endpoints) At(endpoint string) *Concurrency {
	e.mu.Lock()
	defer e.mu.Unlock()
	slots := e.slots[endpoint]
	if slots == nil {
		slots = NewConcurrency(e.all, e.perCaller, nil)
		e.slots[endpoint] = slots
	}
	return slots
}
