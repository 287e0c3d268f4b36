package jobs

// WatchEnd returns a channel that is closed when this runner ends a job, until stop is
// called. What other replicas end, or have ended before, does not close it.
func (r *Runner) WatchEnd(job [16]byte) (ended <-chan struct{}, stop func()) {
	watch := make(chan struct{})
	r.watches.Store(watch, job)
	return watch, func() { r.watches.Delete(watch) }
}

// passEnd tells all that watch a job that it has ended.
func (r *Runner) passEnd(job [16]byte) {
	r.watches.Range(func(watch, of any) bool {
		if of == job {
			if _, first := r.watches.LoadAndDelete(watch); first {
				close(watch.(chan struct{}))
			}
		}
		return true
	})
}
