package meter

import "sync"

// Live shows the sum of what several jobs are at the moment, each known by its ID. Show gets
// what all of them are, one call at a time. The zero Live with a Show is ready for use.
type Live[T any] struct {
	Show func(all []T)

	mu   sync.Mutex
	jobs map[[16]byte]T
}

// Set tells what a job is now.
func (l *Live[T]) Set(job [16]byte, v T) {
	l.change(func() { l.jobs[job] = v })
}

// Forget stops counting a job.
func (l *Live[T]) Forget(job [16]byte) {
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
