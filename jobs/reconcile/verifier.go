// Package reconcile settles the resources that an answer left unverified.
//
// A [Verifier] probes the resource of a flagged row by GET until an answer settles the
// row. An [OperationTracker] polls the operation of an accepted write; the end of the
// operation is never proof, but flags the row for verification. A [FenceWatcher]
// watches the writes of unknown outcome that a deleted group left, and deletes
// resources that land late.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/arm"
	"portico/events"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/probe"
	"portico/upstream"
)

// Verifier probes a flagged row until a GET has settled it. The inventory creates its
// job when it flags a row, and removes the job when it lifts the flag or removes the
// row.
type Verifier struct {
	Prober probe.Prober
	// Floor is the least time between two probes. Prober.Timeout is the timeout of the
	// first probe; later probes have more time, up to Patience.
	Floor, Patience time.Duration
	// VersionFallback is how long a provider may refuse a row's own api-version until probes
	// use the newest of the type.
	VersionFallback time.Duration
	Region          string // of the front door, for the ids of its calls
}

// longVerify is how long a row may wait for a settling probe before operators see a problem.
const longVerify = time.Hour

// Describe implements [jobs.Kind].
func (v Verifier) Describe() jobs.Description {
	return jobs.Description{
		Subject: jobs.ResourceSubject, Reason: "verificationPending", Refusals: []arm.Code{arm.Conflict},
		Message: "The provider is asked for the resource until an answer proves what became of it.",
		Problems: jobs.Problems{
			TooLong: "verificationsTooLong", After: longVerify, Summary: "Providers have long been asked in vain for %s.", One: "resource", Many: "resources",
		},
		Remedy: unstick,
		Show: func(j jobrow.Job) (s jobs.ProgressReport) {
			var verify inventory.Verify
			if j.Read(&verify) == nil {
				s.Outcome = verify.Progress.Outcome
			}
			return s
		},
	}
}

// unstick returns the remedy for jobs that keep the index true: making them due at once.
func unstick(j jobrow.Job) []string { return []string{"unstick", j.Name(), "--ask"} }

// Run probes once.
func (v Verifier) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	row, err := v.Prober.Store.Resource(ctx, claim.Job.Subscription, claim.Job.Subject)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && !row.Verify:
		return jobs.Result{End: jobrow.Done}, nil
	case err != nil:
		return jobs.Result{}, fmt.Errorf("read the row that is to be verified: %w", err)
	}
	var kept inventory.Verify
	if err := claim.Job.Read(&kept); err != nil {
		return jobs.Result{}, err
	}
	cause := events.Cause{Correlation: kept.Correlation, ClientRequest: kept.Client}
	if cause.Correlation == "" {
		cause = v.Prober.Store.CauseOfWrite(ctx, row)
	}
	refusals := versionRefusals{kept.Progress.RefusedSince}
	probed, failure := refusals.probe(ctx, withPatience(v.Prober, claim, v.Patience), headerFor(ctx, v.Prober.Store, claim, v.Region, row, cause), row,
		v.VersionFallback)
	result, err := v.resultOf(claim, probed, failure)
	if ctx.Err() == nil && !result.Recorded {
		kept.Progress = inventory.VerifyProgress{Outcome: outcomeText(probed, failure), RefusedSince: refusals.Since}
		result.Payload = jobrow.PayloadOf(kept)
	}
	return result, err
}

// resultOf returns the result of the job after a probe.
func (v Verifier) resultOf(claim *jobs.Claim, probed probe.ProbeResult, err error) (jobs.Result, error) {
	switch {
	case err != nil:
		return later(fmt.Errorf("probe a resource in %s: %w", claim.Job.Region, err), v.Floor)
	case probed.Settled:
		return jobs.Result{End: jobrow.Done, Recorded: true}, nil
	case probed.Found && !index.Terminal(probed.ProvisioningState):
		return jobs.Result{Again: pace(v.Prober.Store.Now().Sub(claim.Job.Created), probed.RetryAfter, v.Floor)}, nil
	}
	return jobs.Result{}, nil // a write that could overturn the answer is open
}

// outcomeText describes the outcome of a probe that settled nothing. There are only a few
// such texts, because each change of the text is stored.
func outcomeText(probed probe.ProbeResult, err error) string {
	var answered probe.StatusError
	var fault *upstream.Fault
	switch {
	case errors.As(err, &answered) && answered.Unreadable():
		return fmt.Sprintf("The provider answered %d with a text that cannot be read.", answered.Status)
	case errors.As(err, &answered):
		return fmt.Sprintf("The provider answered %d.", answered.Status)
	case errors.As(err, &fault):
		return "The provider gave no answer."
	case err != nil:
		return "The provider could not be asked, or its answer not be recorded."
	case probed.Found && !index.Terminal(probed.ProvisioningState):
		return "The provider is still at work on the resource: its provisioning state is not terminal."
	}
	return "The answer proved nothing, as a write that could overturn it was open."
}

// longestRetryAfter bounds the pauses that providers can request.
const longestRetryAfter = time.Hour

// withPatience gives each attempt twice the time of the one before, within a bound. A
// hanging region must not hold up the others, and a slow one must still get an answer
// through.
func withPatience(p probe.Prober, claim *jobs.Claim, most time.Duration) probe.Prober {
	p.Timeout = max(p.Timeout, timing.Backoff(p.Timeout, most, int(claim.Job.Attempts)))
	return p
}

// later returns the result of an attempt whose probe failed: the next attempt waits as
// long as the answer asked for.
func later(err error, floor time.Duration) (jobs.Result, error) {
	var answered probe.StatusError
	if errors.As(err, &answered) && answered.RetryAfter > 0 {
		return jobs.Result{Again: max(floor, min(answered.RetryAfter, longestRetryAfter))}, err
	}
	return jobs.Result{}, err
}

// pace returns the pause before work of a provider is checked again: the pause that the
// provider asked for, or a tenth of the time that the work has taken so far.
func pace(age, retryAfter, floor time.Duration) time.Duration {
	if retryAfter == 0 {
		retryAfter = min(age/10, time.Minute)
	}
	return max(floor, min(retryAfter, longestRetryAfter))
}
