package deploy

import (
	"sync"

	"portico/inventory/deploymentrow"
)

// recorder records the progress of steps durably. It collects progress until the store begins a
// transaction for it; later progress waits for the next transaction.
type recorder struct {
	seal func(number int, s deploymentrow.Step) (deploymentrow.StepUpdate, error)
	put  func(progress func() []deploymentrow.StepUpdate) error

	mu   sync.Mutex
	next *batch // waits for its transaction; nil: nothing waits
}

// batch is the progress that one transaction records, from several calls of add.
type batch struct {
	progress []deploymentrow.StepUpdate
	done     chan struct{}
	err      error // once done
}

// add adds the progress of steps, which is recorded no later than progress that is added after
// it. The caller must call wait, which returns once it is recorded, or with the error.
func (r *recorder) add(steps map[int]deploymentrow.Step) (wait func() error) {
	var progress []deploymentrow.StepUpdate
	for number, s := range steps {
		p, err := r.seal(number, s)
		if err != nil {
			return func() error { return err }
		}
		progress = append(progress, p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.next; b != nil {
		b.progress = append(b.progress, progress...)
		return func() error {
			<-b.done
			return b.err
		}
	}
	b := &batch{progress: progress, done: make(chan struct{})}
	r.next = b
	return func() error { return r.commit(b) }
}

// commit records a batch, with the progress that is added to it until its transaction begins.
func (r *recorder) commit(b *batch) error {
	defer close(b.done)
	b.err = r.put(func() []deploymentrow.StepUpdate { return r.closeBatch(b) })
	r.closeBatch(b) // if there was no transaction
	return b.err
}

// closeBatch returns the progress in a batch, and adds no more to it.
func (r *recorder) closeBatch(b *batch) []deploymentrow.StepUpdate {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == b {
		r.next = nil
	}
	return b.progress
}
