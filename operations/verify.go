package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/inventory"
	"portico/locate"
	"portico/upstream"
)

// Verification is the kind of work that asks for a flagged row until a GET has
// settled it. The inventory makes its job when it flags a row, and removes it
// when the flag is lifted or the row goes.
type Verification struct {
	Asker locate.Prober
	// Floor is the least time between two questions. Asker.Timeout is that of
	// the first question; later ones have more patience, up to Patience.
	Floor, Patience time.Duration
	// VersionFallback is for how long questions with a row's own api-version may
	// be refused until the newest of its type takes its place.
	VersionFallback time.Duration
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
	var kept inventory.Verify
	if err := h.Job.Read(&kept); err != nil {
		return Verdict{}, err
	}
	asker, refused := patient(v.Asker, h, v.Patience), refusals{kept.Progress.RefusedSince}
	sight, failure := refused.look(ctx, asker, rowHeader(ctx, v.Asker, h, v.Region, row), row, v.VersionFallback)
	verdict, err := v.judge(h, sight, failure)
	if ctx.Err() == nil && !verdict.Recorded {
		kept.Progress = inventory.VerifyProgress{Outcome: outcomeOf(sight, failure), RefusedSince: refused.Since}
		verdict.Payload = inventory.PayloadOf(kept)
	}
	return verdict, err
}

// judge says what an answer means for the job.
func (v Verification) judge(h *Held, sight locate.ProbeResult, err error) (Verdict, error) {
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

// outcomeOf says what a question that settled nothing came to, in words of which
// there are few: they are stored where they change.
func outcomeOf(sight locate.ProbeResult, err error) string {
	var said locate.StatusError
	var fault *upstream.Fault
	switch {
	case errors.As(err, &said):
		return fmt.Sprintf("The provider answered %d.", said.Status)
	case errors.As(err, &fault):
		return "The provider gave no answer."
	case err != nil:
		return "The provider could not be asked, or its answer not be recorded."
	case sight.Found && !inventory.Terminal(sight.ProvisioningState):
		return "The provider is still at work on the resource: its provisioning state is not terminal."
	}
	return "The answer proved nothing, as a write that could overturn it was open."
}

// later is what an attempt comes to whose probe failed: the provider knows best when
// to come back, if it says so.
func later(err error, floor time.Duration) (Verdict, error) {
	var refused locate.StatusError
	if errors.As(err, &refused) && refused.RetryAfter > 0 {
		return Verdict{Again: max(floor, min(refused.RetryAfter, longestAsked))}, err
	}
	return Verdict{}, err
}

// longestAsked bounds the pauses that providers can ask for.
const longestAsked = time.Hour

// patient gives each attempt twice the time of the one before, within a bound:
// a region that hangs must not hold up the others, and one that is slow must
// still be heard.
func patient(p locate.Prober, h *Held, most time.Duration) locate.Prober {
	doubled := p.Timeout << min(max(h.Job.Attempts-1, 0), 10)
	p.Timeout = max(p.Timeout, min(doubled, most))
	return p
}
