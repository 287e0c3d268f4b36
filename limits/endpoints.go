package limits

import "sync"

// FullBudget returns the total, given one caller's share and its fraction of the total. Without a
// positive fraction, it returns the share.
func FullBudget(share int, part float64) int {
	if part <= 0 {
		return share
	}
	return int(float64(share) / part)
}

// Endpoints limits the concurrent calls of one replica to each endpoint, in total and per caller.
// It is safe for concurrent use.
type Endpoints struct {
	all, perCaller int
	mu             sync.Mutex
	slots          map[[2]string]*Concurrency // by region and address
}

// NewEndpoints returns limits per endpoint. all is raised to perCaller if it is less.
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
