package groupdelete

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/deletion/deletionplan"
	"portico/upstream/answers"
)

// closingRounds is the number of times that one attempt tries to close a group: each look at its
// places may find new ones.
const closingRounds = 4

// longestClosing bounds the pause before a group that is empty is tried again.
const longestClosing = 5 * time.Second

// End implements [deletion.Kind].
func (w *attempt) End(ctx context.Context, end deletionplan.End, late bool) (result jobs.Result, ended bool, err error) {
	switch {
	case end == deletionplan.EndEmpty:
		result, err = w.close(ctx, late)
	case late:
		result, err = w.fail(ctx, arm.ResourceGroupDeletionTimeout, ", ")
	case end == deletionplan.EndBlocked:
		came, undecided, err := w.findReturned(ctx)
		switch {
		case came, err != nil:
			return jobs.Result{}, false, err
		case undecided:
			result, err = w.continueAfter(ctx, w.watch())
			return result, true, err
		}
		result, err = w.fail(ctx, arm.ResourceGroupDeletionBlocked, ",")
		return result, true, err
	default:
		return jobs.Result{}, false, nil
	}
	return result, true, err
}

// close removes the group if the emptiness check finds nothing.
func (w *attempt) close(ctx context.Context, late bool) (jobs.Result, error) {
	if err := w.learn(ctx); err != nil {
		return jobs.Result{}, err
	}
	check := w.EmptinessCheck(*w.payload)
	done := *w.payload
	done.Progress, done.Ended = w.plan.Summary(), w.now()
	done.Progress.WaitingFor, done.Waits = nil, nil
	for range closingRounds {
		failpoint.Pass(failpoint.GroupCloseBefore)
		conditions := inventory.DeleteGroupConditions{CheckWrittenRegions: check.Allow, Absent: w.gone}
		err := w.Prober.Store.Deletions.DeleteGroup(ctx, w.claim.Job, conditions, done.String())
		var left *inventory.GroupNotEmptyError
		switch {
		case err == nil:
			failpoint.Pass(failpoint.GroupCloseAfter)
			w.metrics.ends.WithLabelValues("Succeeded").Inc()
			w.logEvent("group delete ended", zap.String("outcome", "Succeeded"), zap.Int("deleted", done.Progress.Deleted))
			return jobs.Result{End: jobrow.Done, Recorded: true}, nil
		case errors.As(err, &left) && left.Intents == 0: // adopted meanwhile, or changed
			return w.continueAfter(ctx, w.watch())
		case late && !errors.Is(err, inventory.ErrUnavailable) && !errors.Is(err, jobrow.ErrLeaseLost):
			return w.fail(ctx, arm.ResourceGroupDeletionTimeout, ", ")
		case errors.As(err, &left): // a call may still be running
			calls, err := w.Prober.Store.GroupCalls(ctx, w.claim.Job.Subscription, w.claim.Job.Subject, deletionplan.MostWaits)
			if err != nil {
				return jobs.Result{}, fmt.Errorf("read the calls that keep the group: %w", err)
			}
			return w.continueAfter(ctx, w.waitFor(ctx, calls, func(o inventory.OpenWrite) time.Time { return o.NotAfter }, "that began before may still be under way."))
		case errors.Is(err, inventory.ErrNotFound):
			return w.continueAfter(ctx, w.watch()) // see Run
		}
		looked, inconclusive := check.Scan(ctx, err)
		if inconclusive != nil {
			return w.waitForRegions(ctx, inconclusive)
		}
		if !looked {
			return jobs.Result{}, fmt.Errorf("close the group: %w", err)
		}
	}
	return w.continueAfter(ctx, w.watch())
}

// waitFor adds the writes that hold the group back to the status, and returns the pause
// until they end, or less.
func (w *attempt) waitFor(ctx context.Context, open []inventory.OpenWrite, until func(inventory.OpenWrite) time.Time, reason string) time.Duration {
	pause := w.watch()
	for _, o := range open {
		id, ends := o.Key, until(o)
		if row, err := w.Prober.Store.Resource(ctx, w.claim.Job.Subscription, o.Key); err == nil { // else only its key is known
			id = row.ID
		}
		w.open = append(w.open, deletionplan.Wait{ID: id, Region: o.Region, Until: ends, Reason: "A " + o.Kind.String() + " " + reason})
		pause = max(pause, min(ends.Sub(w.now()), longestClosing))
	}
	return pause
}

// findReturned looks for resources that came back after their delete, before the deletion
// is given up. came reports whether there are any; undecided reports that a call for a
// present resource is still open. A region that does not answer does not delay the end.
func (w *attempt) findReturned(ctx context.Context) (came, undecided bool, err error) {
	if w.checks++; w.checks > closingRounds {
		return false, false, nil
	}
	touched, err := w.Prober.Store.WrittenRegions(ctx, w.group)
	if err != nil {
		return false, false, fmt.Errorf("read where the group was written to: %w", err)
	}
	check := w.EmptinessCheck(*w.payload)
	if refusal := check.Allow(w.group, touched); refusal != nil {
		_, inconclusive := check.Scan(ctx, refusal)
		if inconclusive != nil && ctx.Err() != nil {
			return false, false, context.Cause(ctx)
		}
		undecided = inconclusive == nil && check.Allow(w.group, touched) != nil
	}
	known := w.plan.Total
	err = w.driver.Refresh(ctx)
	return w.plan.Total > known, undecided, err
}

// continueAfter returns a result that continues after a pause.
func (w *attempt) continueAfter(ctx context.Context, pause time.Duration) (jobs.Result, error) {
	if err := w.save(ctx); err != nil {
		return jobs.Result{}, err
	}
	return jobs.Result{Again: pause, Payload: w.payload.String()}, nil
}

// waitForRegions waits for regions that did not answer whether they hold anything.
func (w *attempt) waitForRegions(ctx context.Context, inconclusive error) (jobs.Result, error) {
	if err := w.save(ctx); err != nil {
		return jobs.Result{}, err
	}
	if fault, ok := errors.AsType[*arm.Error](inconclusive); ok {
		for _, detail := range fault.Details {
			w.payload.Waits = append(w.payload.Waits, deletionplan.Wait{Region: detail.Target, Reason: detail.Message, Until: w.limit()})
			w.payload.Progress.WaitingFor = append(w.payload.Progress.WaitingFor, detail.Target)
		}
		slices.Sort(w.payload.Progress.WaitingFor)
		w.payload.Progress.WaitingFor = slices.Compact(w.payload.Progress.WaitingFor)
	}
	if waiting := w.payload.Progress.WaitingFor; len(waiting) > 0 && len(w.Prober.Store.Drains.Without(waiting)) == 0 {
		return jobs.Result{Again: deletionplan.LongestWait, Payload: w.payload.String()}, nil
	}
	return jobs.Result{Payload: w.payload.String()}, inconclusive
}

// fail reopens the group with the resources that are left, and an error that names them.
func (w *attempt) fail(ctx context.Context, code arm.Code, separator string) (jobs.Result, error) {
	if err := w.save(ctx); err != nil {
		return jobs.Result{}, err
	}
	left, err := w.leftovers(ctx)
	if err != nil {
		return jobs.Result{}, err
	}
	fault := arm.NewError(code, w.payload.Group, strings.Join(shortNames(left), separator), w.payload.Correlation)
	return w.reopen(ctx, jobrow.Failed, "Failed", fault, left)
}

// cancel reopens the group by an operator's order.
func (w *attempt) cancel(ctx context.Context) (jobs.Result, error) {
	w.payload.Canceling, w.payload.Progress.WaitingFor = true, nil
	return w.reopen(ctx, jobrow.Cancelled, "Canceled", arm.NewError(arm.OperationCanceled, w.payload.Group), nil)
}

func (w *attempt) reopen(ctx context.Context, state jobrow.State, outcome string, fault *arm.Error, left []answers.Detail) (jobs.Result, error) {
	ended := *w.payload
	ended.Progress.WaitingFor, ended.Waits = nil, nil // an ended deletion waits for nothing
	ended.Ended, ended.Fault = w.now(), answers.FaultBody(fault, left)
	err := w.Prober.Store.Deletions.ReopenGroup(ctx, w.claim.Job, state, ended.String(), fault)
	var open *inventory.GroupNotEmptyError
	switch {
	case errors.As(err, &open): // a call may still land
		writes, err := w.Prober.Store.GroupWrites(ctx, w.claim.Job.Subscription, w.claim.Job.Subject, deletionplan.MostWaits)
		if err != nil {
			return jobs.Result{}, fmt.Errorf("read the writes that keep the group: %w", err)
		}
		pause := w.waitFor(ctx, writes, func(o inventory.OpenWrite) time.Time { return o.Ends },
			"without an answer may still take effect, and keeps the group from being given back.")
		w.payload.Waits = w.open
		return jobs.Result{Again: pause, Payload: w.payload.String()}, nil
	case err != nil:
		return jobs.Result{}, fmt.Errorf("reopen the group: %w", err)
	}
	w.metrics.ends.WithLabelValues(string(fault.Code)).Inc()
	w.logEvent("group delete ended", zap.String("outcome", outcome), zap.String("code", string(fault.Code)), zap.Int("left", len(left)))
	return jobs.Result{End: state, Recorded: true}, nil
}

// leftovers returns the resources that are left, by key.
func (w *attempt) leftovers(ctx context.Context) ([]answers.Detail, error) {
	left := make([]answers.Detail, 0, len(w.plan.Resources))
	for _, key := range slices.Sorted(maps.Keys(w.plan.Resources)) {
		text, err := w.Failure(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read why a resource is left: %w", err)
		}
		text = cmp.Or(text, answers.FaultText("ResourceNotDeleted", "The resource still exists."))
		left = append(left, answers.NewDetail(w.plan.Resources[key].ID, text, answers.DetailBytes/len(w.plan.Resources)))
	}
	return left, nil
}

// shortNames returns the names of the leftovers for messages.
func shortNames(left []answers.Detail) []string {
	names := make([]string, len(left))
	for i, l := range left {
		names[i] = arm.ShortName(l.Target)
	}
	return names
}
