package limits

import "sync/atomic"

// Stats counts waits and refusals of a budget, or of several of one kind. The zero
// value is ready for use.
type Stats struct{ waiting, refusedShare, refusedAll atomic.Int64 }

// Waiting returns the number of current waits.
func (t *Stats) Waiting() int64 { return t.waiting.Load() }

// RefusedForShare counts refusals because the caller's share was used up.
func (t *Stats) RefusedForShare() int64 { return t.refusedShare.Load() }

// RefusedForAll counts refusals because the whole budget was used up.
func (t *Stats) RefusedForAll() int64 { return t.refusedAll.Load() }
