package limits

import "sync/atomic"

// Tally counts what becomes of those who ask for a part of a budget, or of several
// budgets of one kind. The zero value is ready for use.
type Stats struct{ waiting, refusedShare, refusedAll atomic.Int64 }

// Waiting is how many wait.
func (t *Stats) Waiting() int64 { return t.waiting.Load() }

// RefusedForShare is how many were refused because their caller's share was used up.
func (t *Stats) RefusedForShare() int64 { return t.refusedShare.Load() }

// RefusedForAll is how many were refused because all callers together held all that
// there is.
func (t *Stats) RefusedForAll() int64 { return t.refusedAll.Load() }
