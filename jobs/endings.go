package jobs

// WatchEnd returns a channel that is closed when this runner ends a job, until stop is
// called. It is not closed if another replica ends the job, or if it has ended before.
func (r *Runner) WatchEnd(job [16]byte) (ended <-chan struct{}, stop func()) {
	watch := make(chan struct{})
	r.watches.Store(watch, job)
	return watch, func() { r.watches.Delete(watch) }
}

// announceEnd closes the channels of all who watch the end of a job.
func (r *Runner) announceEnd(job [16]byte) {
	r.watches.Range(func(watch, of any) bool {
		if of == job {
			if _, first := r.watches.LoadAndDelete(watch); first {
				close(watch.(chan struct{}))
			}
		}
		return true
	})
}
