package groupdelete

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/deletion"
	"portico/jobs/deletion/deletionplan"
)

// attempt is one attempt at a deletion. It is the driver's [deletion.Kind].
type attempt struct {
	*Deleter
	claim   *jobs.Claim
	payload *Payload
	group   inventory.Group
	driver  *deletion.Driver
	plan    *deletionplan.Queue
	strays  map[string]inventory.Stray // by resource
	errors  map[string]string          // of resources, not recorded yet
	// gone has the generations of rows whose resource is gone, and rechecked the generations
	// that were verified once more, both by key.
	gone, rechecked map[string][16]byte
	open            []deletionplan.Wait // writes that hold the group back
	younger         int                 // the number of resources that are younger than the recorded progress
	saved           time.Time
	checks          int // for resources that came back
}

func (d *Deleter) attempt(claim *jobs.Claim, p *Payload, group inventory.Group) *attempt {
	w := &attempt{
		Deleter: d, claim: claim, payload: p, group: group, strays: map[string]inventory.Stray{}, errors: map[string]string{},
		gone: map[string][16]byte{}, rechecked: map[string][16]byte{},
	}
	w.driver = &deletion.Driver{
		Kind: w, Store: d.Prober.Store, Target: d.Prober.Target, Subscription: claim.Job.Subscription, Group: claim.Job.Subject,
		Until: w.limit(), Floor: w.watch(), Watch: func(int) time.Duration { return w.watch() }, PerJob: d.PerJob, Log: d.Log, Job: claim.Job.Name(),
	}
	return w
}

func (w *attempt) now() time.Time { return w.Prober.Store.Now() }

// limit returns when the deletion as a whole times out.
func (w *attempt) limit() time.Time { return w.claim.Job.Created.Add(w.Limit + w.drained()) }

// drained returns for how long the deletion has waited for drained regions, which does not count.
func (w *attempt) drained() time.Duration {
	if waits := w.payload.Progress.WaitingFor; len(w.Prober.Store.Drains.Without(waits)) < len(waits) {
		return w.payload.Drained + w.now().Sub(w.payload.Saved)
	}
	return w.payload.Drained
}

// watch returns the interval at which the queue is refreshed with the findings of other jobs.
func (w *attempt) watch() time.Duration { return max(w.Floor, 10*time.Millisecond) }

// readHeader returns the headers of a GET. It names no caller, as a provider might hide resources from
// the caller.
func (w *attempt) readHeader() http.Header { return w.payload.Header(w.Region) }

// load builds the queue from the inventory.
func (w *attempt) load(ctx context.Context) error {
	known, err := w.Prober.Store.Deletions.TypeOrders(ctx, w.claim.Job.Subscription)
	if err != nil {
		return err
	}
	w.plan = deletionplan.New(w.limits(), known)
	w.driver.Queue = w.plan
	// Most of the open writes were sent by clients before the deletion began.
	if err := w.driver.ReadOpenWrites(ctx); err != nil {
		return err
	}
	recorded, err := records(ctx, w.Prober.Store.Deletions, w.claim.Job, 0)
	if err != nil {
		return err
	}
	if _, err := w.driver.Find(ctx, recorded); err != nil {
		return err
	}
	was := w.payload.Progress
	w.plan.Resume(was.Total, was.Deleted, w.younger, was.Pass)
	if len(recorded) == 0 && was.Total == 0 {
		w.logEvent("group delete begins", zap.Int("resources", len(w.plan.Resources)))
	}
	return nil
}

// Rows implements [deletion.Kind].
func (w *attempt) Rows(ctx context.Context, each func(inventory.Resource) error) error {
	w.younger = 0
	found := func(row inventory.Resource) error {
		if row.Created.After(w.payload.Saved) {
			w.younger++
		}
		return each(row)
	}
	err := w.driver.GroupRows(ctx, false, func(row inventory.Resource) error {
		if generation, is := w.gone[row.Key]; is && generation == row.Generation {
			return nil // nothing is there; the row goes with the group
		}
		return found(row)
	})
	if err != nil {
		return err
	}
	strays, err := w.Prober.Store.Strays.List(ctx, w.claim.Job.Subscription, w.claim.Job.Subject)
	for _, stray := range strays {
		row := rowOf(stray)
		w.strays[row.Key] = stray
		if err := found(row); err != nil {
			return err
		}
	}
	return err
}

// rowOf returns a stray as a row of the group.
func rowOf(stray inventory.Stray) inventory.Resource {
	row := stray.Row()
	row.Key, row.Created = stray.MemberKey(), stray.Seen
	return row
}

// Unknown implements [deletion.Kind].
func (w *attempt) Unknown(ctx context.Context, m *deletionplan.Resource, row inventory.Resource) (bool, error) {
	if stray, is := w.strays[m.Key]; is {
		return w.probeStray(ctx, m, stray)
	}
	if m.State != deletionplan.Accepted || !seenAbsent(row) {
		return false, nil
	}
	return true, w.confirmAbsent(ctx, row)
}

// probeStray probes a stray whose delete was accepted, or refused while a write of it was under
// way, because no other job does.
func (w *attempt) probeStray(ctx context.Context, m *deletionplan.Resource, stray inventory.Stray) (unknown bool, err error) {
	if m.State != deletionplan.Accepted && m.Busy == "" {
		return false, nil
	}
	answer, unanswered := w.Prober.Get(ctx, w.readHeader(), stray.Row())
	shown, readable := inventory.ReadObservation(answer.Body)
	if unanswered == nil && answer.Status == http.StatusNotFound {
		if _, err := w.Prober.Store.Strays.ForgetGone(ctx, stray); err != nil {
			return true, err
		}
		w.plan.Drop(m.Key)
		return true, nil
	}
	return unanswered != nil || !readable || !index.Terminal(shown.ProvisioningState), nil //nolint:nilerr // a region that does not answer must not delay the others
}

// seenAbsent reports whether a GET found nothing of a row's resource, but a write of
// unknown outcome keeps that from being proof.
func seenAbsent(row inventory.Resource) bool {
	return row.Phase == index.Pending && row.Verify && !row.FollowPut && !row.FollowDelete
}

// confirmAbsent probes a resource once more that a verification did not find, once for
// each generation of its row.
func (w *attempt) confirmAbsent(ctx context.Context, row inventory.Resource) error {
	if w.rechecked[row.Key] == row.Generation {
		return nil
	}
	w.rechecked[row.Key] = row.Generation
	probed, err := w.Prober.Probe(ctx, w.readHeader(), row)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a := w.absenceResult(row, probed, err); a.Outcome == deletionplan.OutcomeGone {
		if a.Apply != nil {
			a.Apply()
		}
		w.plan.Drop(row.Key)
	}
	return nil
}

// Failure implements [deletion.Kind].
func (w *attempt) Failure(ctx context.Context, key string) (string, error) {
	return w.Prober.Store.Deletions.MemberError(ctx, w.claim.Job, key)
}

// Answered implements [deletion.Kind].
func (w *attempt) Answered(a deletion.CallResult) error {
	w.metrics.calls.WithLabelValues(a.Outcome.String()).Inc()
	if a.Text != "" {
		w.errors[a.Key] = a.Text
	}
	w.measure()
	return a.Err
}

// saveEvery is the least time between two records of progress.
const saveEvery = time.Second

// Save implements [deletion.Kind].
func (w *attempt) Save(ctx context.Context) error {
	w.measure()
	if time.Since(w.saved) < saveEvery {
		return nil
	}
	return w.save(ctx)
}

// longestStay is the longest pause that an attempt waits out. Ending it makes the next
// attempt read everything again, but a waiting attempt occupies a slot.
const longestStay = time.Second

// Rest implements [deletion.Kind].
func (w *attempt) Rest(ctx context.Context, pause time.Duration) (result jobs.Result, ended bool, err error) {
	if pause > longestStay || w.driver.AwaitsOthers() {
		result, err = w.continueAfter(ctx, pause)
		return result, true, err
	}
	if !slices.Equal(w.waiting(), w.payload.Waits) {
		err = w.save(ctx)
	}
	return jobs.Result{}, false, err
}

// waiting lists what the deletion waits for.
func (w *attempt) waiting() []deletionplan.Wait { return append(w.plan.Waits(w.limit()), w.open...) }

// learn records the order of types that the deletion has learnt, for later deletions.
func (w *attempt) learn(ctx context.Context) error {
	if w.plan.End() != deletionplan.EndNone {
		w.plan.Conclude()
	}
	if len(w.plan.Learnt) == 0 {
		return nil
	}
	if err := w.Prober.Store.Deletions.LearnTypeOrders(ctx, w.claim.Job.Subscription, w.plan.Learnt); err != nil {
		return fmt.Errorf("record the order of types: %w", err)
	}
	w.plan.Learnt = nil
	return nil
}

// save records the deletion's progress.
func (w *attempt) save(ctx context.Context) error {
	w.saved = time.Now()
	w.payload.Drained = w.drained()
	w.payload.Progress, w.payload.Saved, w.payload.Waits = w.plan.Summary(), w.now(), w.waiting()
	if err := w.learn(ctx); err != nil {
		return err
	}
	payload := w.payload.String()
	for first := true; ; first = false {
		page := w.changed()
		if len(page) == 0 && !first {
			return nil
		}
		if err := w.Prober.Store.Deletions.SaveProgress(ctx, &w.claim.Job, payload, page); err != nil {
			return fmt.Errorf("save the progress of a deletion: %w", err)
		}
		payload = ""
	}
}

// changed returns the resources whose record has changed, at most a page of them. It
// leaves out resources in flight, which get a result anyway.
func (w *attempt) changed() (page []inventory.DeletionRecord) {
	for key, m := range w.plan.Resources {
		if !m.Changed || m.State == deletionplan.InFlight {
			continue
		}
		if len(page) == deletion.AtOnce {
			break
		}
		m.Changed = false
		page = append(page, inventory.DeletionRecord{Key: key, Payload: jobrow.PayloadOf(m.Record()), Error: w.errors[key]})
		delete(w.errors, key)
	}
	return page
}

func (w *attempt) logEvent(what string, fields ...zap.Field) {
	w.Log.Info(what, append(fields, zap.String("group", strings.ToValidUTF8(w.payload.Group, "\uFFFD")),
		zap.String("subscription", w.claim.Job.Subscription), zap.String("job", w.claim.Job.Name()), zap.String("correlationId", w.payload.Correlation))...)
}
