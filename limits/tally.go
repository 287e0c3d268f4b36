package limits

import "sync/atomic"

// Tally counts what becomes of those who ask for a part of a budget, or of several
// budgets of one kind. The zero value is ready for use.
type Tally struct{ waiting, share, full atomic.Int64 }

// Waiting is how many wait.
func (t *Tally) Waiting() int64 { return t.waiting.Load() }

// RefusedForShare is how many were refused because their caller's share was used up.
func (t *Tally) RefusedForShare() int64 { return t.share.Load() }

// RefusedForAll is how many were refused because all callers together held all that
// there is.
func (t *Tally) RefusedForAll() int64 { return t.full.Load() }
