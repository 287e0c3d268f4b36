package deploy

import (
	"maps"
	"sync"

	"portico/inventory/deployments"
)

// recorder records the progress of steps durably. What comes while a transaction is under way
// goes into the next one, in one.
type recorder struct {
	put func(map[int]deployments.Step) error

	turn sync.Mutex // of the transaction under way
	mu   sync.Mutex
	next *batch // nil: nothing waits
}

// batch is what one transaction records, for whoever brought a part of it.
type batch struct {
	steps map[int]deployments.Step
	done  chan struct{}
	err   error // once done
}

// add takes the progress of steps, which is recorded no later than what comes after it. The
// caller must call wait, which returns when it is recorded, or why it is not.
func (r *recorder) add(steps map[int]deployments.Step) (wait func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.next; b != nil {
		maps.Copy(b.steps, steps)
		return func() error {
			<-b.done
			return b.err
		}
	}
	b := &batch{steps: steps, done: make(chan struct{})}
	r.next = b
	return func() error { return r.commit(b) }
}

// commit records a batch, once the transaction before it is over.
func (r *recorder) commit(b *batch) error {
	r.turn.Lock()
	defer r.turn.Unlock()
	defer close(b.done)
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	b.err = r.put(b.steps)
	return b.err
}
