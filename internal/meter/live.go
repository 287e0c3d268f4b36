package meter

import "sync"

// Live sums the current values of several jobs, each identified by its ID. Show gets the
// values of all jobs, one call at a time. The zero Live with a Show is ready for use.
type Live[T any] struct {
	Show func(all []T)

	mu   sync.Mutex
	jobs map[[16]byte]T
}

// Set sets a job's current value.
func (l *Live[T]) Set(job [16]byte, v T) {
	l.change(func() { l.jobs[job] = v })
}

// Remove removes a job.
func (l *Live[T]) Remove(job [16]byte) {
	l.change(func() { delete(l.jobs, job) })
}

func (l *Live[T]) change(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs == nil {
		l.jobs = map[[16]byte]T{}
	}
	change()
	all := make([]T, 0, len(l.jobs))
	for _, v := range l.jobs {
		all = append(all, v)
	}
	l.Show(all)
}
