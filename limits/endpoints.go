package limits

import "sync"

// FullBudget returns the full budget, given one caller's share of it; without a divisor, the
// share.
func FullBudget(share int, part float64) int {
	if part <= 0 {
		return share
	}
	return int(float64(share) / part)
}

// Endpoints limits the calls that each endpoint has under way on one replica, and of
// them those of one caller. It is safe for concurrent use.
type Endpoints struct {
	all, perCaller int
	mu             sync.Mutex
	slots          map[[2]string]*Concurrency // by region and address
}

// NewEndpoints returns limits of all calls, but at least perCaller, per endpoint.
func NewEndpoints(all, perCaller int) *Endpoints {
	return &Endpoints{all: max(all, perCaller), perCaller: perCaller, slots: map[[2]string]*Concurrency{}}
}

// At returns the limit of an endpoint.
func (e *Endpoints) At(region, address string) *Concurrency {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := [2]string{region, address}
	if e.slots[key] == nil {
		e.slots[key] = NewConcurrency(e.all, e.perCaller, nil)
	}
	return e.slots[key]
}
