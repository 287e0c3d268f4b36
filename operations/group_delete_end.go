package operations

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/failpoint"
	"portico/inventory"
)

// closingRounds is how often one attempt tries to close a group: looking at its
// places may each time bring new ones.
const closingRounds = 4

// longestClosing bounds the pause before a group that is empty is tried again.
const longestClosing = 5 * time.Second

// close lets the group go, when its last look finds nothing.
func (w *deletionWork) close(ctx context.Context, over bool) (Verdict, error) {
	if err := w.learn(ctx); err != nil {
		return Verdict{}, err
	}
	look := w.LastLook(*w.payload)
	done := *w.payload
	done.Progress, done.Ended = w.plan.progress(), w.now()
	done.Progress.WaitingFor, done.Waits = nil, nil
	for range closingRounds {
		failpoint.Pass(failpoint.GroupCloseBefore)
		err := w.Asker.Store.DeleteGroupBy(ctx, w.held.Job, inventory.Closing{Last: look.Judge, Absent: w.gone}, done.String())
		var left *inventory.GroupNotEmptyError
		switch {
		case err == nil:
			failpoint.Pass(failpoint.GroupCloseAfter)
			w.metrics.ends.WithLabelValues("Succeeded").Inc()
			w.note("group delete ended", zap.String("outcome", "Succeeded"), zap.Int("deleted", done.Progress.Deleted))
			return Verdict{End: inventory.JobDone, Recorded: true}, nil
		case errors.As(err, &left) && left.Intents == 0: // adopted meanwhile, or changed
			return w.again(ctx, w.watch())
		case over && !errors.Is(err, inventory.ErrUnavailable) && !errors.Is(err, inventory.ErrDeposed):
			return w.fail(ctx, arm.ResourceGroupDeletionTimeout, ", ")
		case errors.As(err, &left): // a call may still be running
			calls, err := w.Asker.Store.GroupCalls(ctx, w.held.Job.Subscription, w.held.Job.Subject, mostWaits)
			if err != nil {
				return Verdict{}, err
			}
			return w.again(ctx, w.waitFor(calls, func(o inventory.OpenWrite) time.Time { return o.NotAfter }, "that began before may still be under way."))
		case errors.Is(err, inventory.ErrNotFound):
			return w.again(ctx, w.watch()) // see Run
		}
		looked, silence := look.Look(ctx, err)
		if silence != nil {
			return w.silent(ctx, silence)
		}
		if !looked {
			return Verdict{}, err
		}
	}
	return w.again(ctx, w.watch())
}

// waitFor has the status tell of writes that hold the group back, and is the pause
// until they do not any more, or less.
func (w *deletionWork) waitFor(open []inventory.OpenWrite, until func(inventory.OpenWrite) time.Time, reason string) time.Duration {
	pause := w.watch()
	for _, o := range open {
		ends := until(o)
		w.open = append(w.open, DeletionWait{ID: o.Key, Region: o.Region, Until: ends, Reason: "A " + o.Kind.String() + " " + reason})
		pause = max(pause, min(ends.Sub(w.now()), longestClosing))
	}
	return pause
}

// lookAround looks for what came back after its delete, before the rest is given
// up for its sake. came tells whether there is any; undecided, that something is
// there of which that cannot be said yet, as a call for it is open. A region that
// does not say keeps nothing from ending.
func (w *deletionWork) lookAround(ctx context.Context) (came, undecided bool, err error) {
	if w.looks++; w.looks > closingRounds {
		return false, false, nil
	}
	touched, err := w.Asker.Store.Touched(ctx, w.group)
	if err != nil {
		return false, false, err
	}
	look := w.LastLook(*w.payload)
	if refusal := look.Judge(w.group, touched); refusal != nil {
		_, silence := look.Look(ctx, refusal)
		if silence != nil && ctx.Err() != nil {
			return false, false, context.Cause(ctx)
		}
		undecided = silence == nil && look.Judge(w.group, touched) != nil
	}
	known := w.plan.total
	err = w.refresh(ctx)
	return w.plan.total > known, undecided, err
}

// again goes on later.
func (w *deletionWork) again(ctx context.Context, pause time.Duration) (Verdict, error) {
	if err := w.save(ctx); err != nil {
		return Verdict{}, err
	}
	return Verdict{Again: pause, Payload: w.payload.String()}, nil
}

// silent waits for regions that have to say whether they hold anything.
func (w *deletionWork) silent(ctx context.Context, silence error) (Verdict, error) {
	if err := w.save(ctx); err != nil {
		return Verdict{}, err
	}
	var fault *arm.Error
	if errors.As(silence, &fault) {
		for _, detail := range fault.Details {
			w.payload.Waits = append(w.payload.Waits, DeletionWait{Region: detail.Target, Reason: detail.Message, Until: w.limit()})
			w.payload.Progress.WaitingFor = append(w.payload.Progress.WaitingFor, detail.Target)
		}
		slices.Sort(w.payload.Progress.WaitingFor)
		w.payload.Progress.WaitingFor = slices.Compact(w.payload.Progress.WaitingFor)
	}
	return Verdict{Payload: w.payload.String()}, silence
}

// fail gives the group back, with what is left in it and why.
func (w *deletionWork) fail(ctx context.Context, code arm.Code, separator string) (Verdict, error) {
	if err := w.save(ctx); err != nil {
		return Verdict{}, err
	}
	left, err := w.leftovers(ctx)
	if err != nil {
		return Verdict{}, err
	}
	fault := arm.NewError(code, w.payload.Group, strings.Join(shortNames(left), separator), w.payload.Correlation)
	return w.reopen(ctx, inventory.JobFailed, "Failed", fault, left)
}

// cancel gives the group back, as an operator wants it.
func (w *deletionWork) cancel(ctx context.Context) (Verdict, error) {
	return w.reopen(ctx, inventory.JobCancelled, "Canceled", arm.NewError(arm.OperationCanceled, w.payload.Group), nil)
}

func (w *deletionWork) reopen(ctx context.Context, state inventory.JobState, outcome string, fault *arm.Error, left []leftover) (Verdict, error) {
	ended := *w.payload
	ended.Ended, ended.Fault = w.now(), faultBody(fault, left)
	err := w.Asker.Store.ReopenGroup(ctx, w.held.Job, state, ended.String())
	var open *inventory.GroupNotEmptyError
	switch {
	case errors.As(err, &open): // a call may still land
		writes, err := w.Asker.Store.GroupWrites(ctx, w.held.Job.Subscription, w.held.Job.Subject, mostWaits)
		if err != nil {
			return Verdict{}, err
		}
		pause := w.waitFor(writes, func(o inventory.OpenWrite) time.Time { return o.Ends }, "without an answer may still take effect, and keeps the group from being given back.")
		w.tells(w.open)
		return Verdict{Again: pause, Payload: w.payload.String()}, nil
	case err != nil:
		return Verdict{}, err
	}
	w.metrics.ends.WithLabelValues(string(fault.Code)).Inc()
	w.note("group delete ended", zap.String("outcome", outcome), zap.String("code", string(fault.Code)), zap.Int("left", len(left)))
	return Verdict{End: state, Recorded: true}, nil
}

// leftover is a resource that could not be deleted, or moved. Its form is that of an
// ARM error's detail with nothing left out.
type leftover struct {
	Code           *string              `json:"code"`
	Target         string               `json:"target"`
	Message        string               `json:"message"`
	Details        []arm.Error          `json:"details"`
	AdditionalInfo []arm.AdditionalInfo `json:"additionalInfo"`
}

// faultBytes bounds what the errors of all leftovers take together.
const faultBytes = 4 << 20

// leftovers are the members that are left, by key.
func (w *deletionWork) leftovers(ctx context.Context) ([]leftover, error) {
	keys := make([]string, 0, len(w.plan.members))
	for key := range w.plan.members {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	left := make([]leftover, 0, len(keys))
	for _, key := range keys {
		var id string
		if stray, is := w.strays[key]; is {
			id = stray.ID
		} else if row, err := w.Asker.Store.Resource(ctx, w.held.Job.Subscription, key); err == nil {
			id = row.ID
		} else if errors.Is(err, inventory.ErrNotFound) {
			continue
		} else {
			return nil, err
		}
		text, err := w.Asker.Store.DeletionError(ctx, w.held.Job, key)
		if err != nil {
			return nil, err
		}
		if text == "" {
			text = errorText("ResourceNotDeleted", "The resource still exists.")
		}
		left = append(left, leftoverOf(id, text, faultBytes/len(keys)))
	}
	return left, nil
}

// shortNames are the leftovers as messages name them.
func shortNames(left []leftover) []string {
	names := make([]string, len(left))
	for i, l := range left {
		names[i] = shortName(l.Target)
	}
	return names
}

// shortName is an ID without the group that it lies in: it begins with the
// namespace.
func shortName(id string) string {
	var p arm.Path
	if p.Parse(id) != nil || p.Hops() == 0 || p.Hop(0).Namespace() == "" {
		return id
	}
	return p.String()[len(p.Prefix(p.Hop(0).Start()+1))+1:]
}

func faultBody(fault *arm.Error, left []leftover) json.RawMessage {
	type body struct {
		Code    arm.Code   `json:"code"`
		Message string     `json:"message"`
		Details []leftover `json:"details,omitempty"`
	}
	text, err := json.Marshal(body{fault.Code, fault.Message, left})
	if err != nil { // strings always have a JSON form
		return nil
	}
	return text
}
