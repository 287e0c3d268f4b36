package jobs

import "sync"

// endings tell goroutines of this process that the runner has ended a job. The zero value
// is ready for use.
type endings struct {
	mu      sync.Mutex
	watched map[[16]byte]*ending
}

type ending struct {
	passed  chan struct{}
	watches int
}

// WatchEnd returns a channel that is closed when this runner ends a job, until stop is
// called. What other replicas end, or have ended before, does not close it.
func (r *Runner) WatchEnd(job [16]byte) (ended <-chan struct{}, stop func()) {
	e := &r.endings
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.watched[job]
	if w == nil {
		w = &ending{passed: make(chan struct{})}
		if e.watched == nil {
			e.watched = map[[16]byte]*ending{}
		}
		e.watched[job] = w
	}
	w.watches++
	return w.passed, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if w.watches--; w.watches == 0 && e.watched[job] == w {
			delete(e.watched, job)
		}
	}
}

func (e *endings) pass(job [16]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w := e.watched[job]; w != nil {
		close(w.passed)
		delete(e.watched, job)
	}
}
