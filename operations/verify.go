package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/inventory"
	"portico/upstream"
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
	sight, failure := v.Asker.patient(h, v.Patience).Look(ctx, v.Asker.header(ctx, h, v.Region, row), row)
	verdict, err := Verdict{}, failure
	switch {
	case failure != nil:
		verdict, err = later(failure, v.Floor)
	case sight.Settled:
		return Verdict{End: inventory.JobDone, Recorded: true}, nil
	case sight.Found && !inventory.Terminal(sight.ProvisioningState):
		verdict.Again = pace(v.Asker.Store.Time().Sub(h.Job.Created), sight.RetryAfter, v.Floor)
	}
	if ctx.Err() == nil {
		progress := inventory.VerifyProgress{Outcome: outcomeOf(sight, failure)}
		verdict.Payload = inventory.PayloadOf(inventory.Verify{Progress: progress})
	}
	return verdict, err
}

// outcomeOf says what a question that settled nothing came to, in words of which
// there are few: they are stored where they change.
func outcomeOf(sight Sight, err error) string {
	var said statusError
	var fault *upstream.Fault
	switch {
	case errors.As(err, &said):
		return fmt.Sprintf("The provider answered %d.", said.status)
	case errors.As(err, &fault):
		return "The provider gave no answer."
	case err != nil:
		return "The provider could not be asked, or its answer not be recorded."
	case sight.Found && !inventory.Terminal(sight.ProvisioningState):
		return "The provider is still at work on the resource: its provisioning state is not terminal."
	}
	return "The answer proved nothing, as a write that could overturn it was open."
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
