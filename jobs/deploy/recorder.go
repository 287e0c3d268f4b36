package deploy

import (
	"sync"

	"portico/inventory/deploymentrow"
)

// recorder records the progress of steps durably. What comes until the store begins with a
// transaction goes into that one, and what comes later waits in the next.
type recorder struct {
	seal func(number int, s deploymentrow.Step) (deploymentrow.Progress, error)
	put  func(progress func() []deploymentrow.Progress) error

	mu   sync.Mutex
	next *batch // that no transaction has taken yet; nil: nothing waits
}

// batch is what one transaction records, for whoever brought a part of it.
type batch struct {
	progress []deploymentrow.Progress
	done     chan struct{}
	err      error // once done
}

// add takes the progress of steps, which is recorded no later than what comes after it. The
// caller must call wait, which returns when it is recorded, or why it is not.
func (r *recorder) add(steps map[int]deploymentrow.Step) (wait func() error) {
	var progress []deploymentrow.Progress
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

// commit records a batch with what is added to it until its transaction begins.
func (r *recorder) commit(b *batch) error {
	defer close(b.done)
	b.err = r.put(func() []deploymentrow.Progress { return r.take(b) })
	r.take(b) // where it came to no transaction
	return b.err
}

func (r *recorder) take(b *batch) []deploymentrow.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == b {
		r.next = nil
	}
	return b.progress
}
