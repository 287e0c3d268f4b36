package operations

import (
	"context"
	"errors"
	"time"

	"portico/inventory"
)

// Verification is the kind of work that asks for a flagged row until a GET has
// settled it. The inventory makes its job when it flags a row, and removes it
// when the flag is lifted or the row goes.
type Verification struct {
	Asker Asker
	// Floor is the least time between two questions. Asker.Timeout is that of
	// the first question; later ones have more patience, up to Patience.
	Floor, Patience time.Duration
	Region          string // of the front door, for the ids of its calls
}

// Run asks once.
func (v Verification) Run(ctx context.Context, h *Held) (Verdict, error) {
	row, err := v.Asker.Store.Resource(ctx, h.Job.Subscription, h.Job.Subject)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && !row.Verify:
		return Verdict{End: inventory.JobDone}, nil
	case err != nil:
		return Verdict{}, err
	}
	sight, err := v.Asker.patient(h, v.Patience).Look(ctx, v.Asker.header(ctx, h, v.Region, row), row)
	switch {
	case err != nil:
		return later(err, v.Floor)
	case sight.Settled:
		return Verdict{End: inventory.JobDone, Recorded: true}, nil
	case sight.Found && !inventory.Terminal(sight.ProvisioningState):
		return Verdict{Again: pace(v.Asker.Store.Time().Sub(h.Job.Created), sight.RetryAfter, v.Floor)}, nil
	}
	return Verdict{}, nil // a write that could overturn the answer is open
}

// longestAsked bounds the pauses that providers can ask for.
const longestAsked = time.Hour

// patient gives each attempt twice the time of the one before, within a bound:
// a region that hangs must not hold up the others, and one that is slow must
// still be heard.
func (a Asker) patient(h *Held, most time.Duration) Asker {
	doubled := a.Timeout << min(max(h.Job.Attempts-1, 0), 10)
	a.Timeout = max(a.Timeout, min(doubled, most))
	return a
}
