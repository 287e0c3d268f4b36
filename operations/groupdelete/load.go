package groupdelete

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/operations/groupdelete/plan"
	"portico/regions"
	"portico/routing"
)

// membersAtOnce is the number of members in one read or write.
const membersAtOnce = 500

// restore sets a member's fields from its record. The row shows whether a delete was
// accepted; for a stray only the record does.
func restore(m *plan.Member, r plan.Record) {
	m.Restore(r)
	if r.State == plan.Accepted && inventory.IsStrayKey(m.Key) {
		m.State = plan.Accepted
	}
}

// load makes the plan from the inventory.
func (w *attempt) load(ctx context.Context) error {
	orders, err := w.Prober.Store.TypeOrders(ctx, w.claim.Job.Subscription)
	if err != nil {
		return err
	}
	known := make([]plan.TypeOrder, len(orders))
	for i, o := range orders {
		known[i] = plan.TypeOrder{Before: o.Before, After: o.After}
	}
	w.plan, w.errors, w.came = plan.New(w.limits(), known), map[string]string{}, 0
	w.gone, w.rechecked = map[string][16]byte{}, map[string][16]byte{}
	if err := w.readOpenWrites(ctx); err != nil {
		return err
	}
	recorded := map[string]plan.Record{}
	for after := ""; ; {
		page, err := w.Prober.Store.DeletionMembers(ctx, w.claim.Job, after, membersAtOnce)
		if err != nil {
			return err
		}
		for _, r := range page {
			var m plan.Record
			if after = r.Key; json.Unmarshal([]byte(r.Payload), &m) == nil { // some records hold only an error
				recorded[r.Key] = m
			}
		}
		if len(page) < membersAtOnce {
			break
		}
	}
	if err := w.find(ctx, recorded, func(string) {}); err != nil {
		return err
	}
	was := w.payload.Progress
	w.plan.Resume(was.Total, was.Deleted, w.came, was.Pass)
	if len(recorded) == 0 && w.payload.Progress.Total == 0 {
		w.note("group delete begins", zap.Int("resources", len(w.plan.Members)))
	}
	return nil
}

// find reads the group's resources, adds new ones to the plan, and compares the others
// with it.
func (w *attempt) find(ctx context.Context, recorded map[string]plan.Record, found func(key string)) error {
	var fresh []inventory.Resource
	for after := ""; ; {
		page, err := w.Prober.Store.Resources(ctx, inventory.ResourceQuery{
			Subscription: w.claim.Job.Subscription, Group: w.claim.Job.Subject, After: after, Limit: membersAtOnce,
		})
		if err != nil {
			return err
		}
		for _, row := range page {
			after = row.Key
			found(row.Key)
			if generation, is := w.gone[row.Key]; is && generation == row.Generation {
				continue // nothing is there; the row goes with the group
			}
			if w.plan.Members[row.Key] == nil {
				w.addRow(row, recorded)
				fresh = append(fresh, inventory.Resource{Key: row.Key, Parent: row.Parent, Verify: row.Verify})
			} else if err := w.compare(ctx, row); err != nil {
				return err
			}
		}
		if len(page) < membersAtOnce {
			break
		}
	}
	for _, row := range fresh { // its parent has gone, so it is being verified
		if m := w.plan.Members[row.Key]; row.Verify && row.Parent != "" && w.plan.Members[row.Parent] == nil && m.State == plan.Waiting {
			w.plan.AwaitProof(m)
		}
	}
	strays, err := w.Prober.Store.Strays(ctx, w.claim.Job.Subscription, w.claim.Job.Subject)
	if err != nil {
		return err
	}
	for _, stray := range strays {
		key := stray.MemberKey()
		found(key)
		w.strays[key] = stray
		if w.plan.Members[key] == nil {
			w.addStray(stray, recorded)
		}
	}
	return nil
}

// readOpenWrites reads which resources of the group have a write without an answer, which
// their provider may be carrying out. Most of them were sent by clients before the
// deletion began.
func (w *attempt) readOpenWrites(ctx context.Context) error {
	open, err := w.Prober.Store.GroupWrites(ctx, w.claim.Job.Subscription, w.claim.Job.Subject, membersAtOnce)
	w.writing = make(map[string]string, len(open))
	for _, o := range open {
		w.writing[o.Key] = o.Kind.String()
	}
	return err
}

// underWay names the write of a row's resource that may be under way, "" for none.
func (w *attempt) underWay(row inventory.Resource) string {
	return cmp.Or(row.WriteUnderWay(), w.writing[row.Key])
}

// followed reports whether another job finds out the outcome of a row's delete.
func followed(row inventory.Resource) bool {
	return row.FollowDelete || row.Phase == index.Deleting
}

func (w *attempt) addRow(row inventory.Resource, recorded map[string]plan.Record) {
	m := &plan.Member{Key: row.Key, Type: row.Type, Region: row.Region, Parent: row.Parent, Manager: arm.Fold(row.Details.ManagedBy)}
	if q, endpoint, err := w.Prober.Target(row); err == nil {
		m.Endpoint, m.Refuses = nameOf(endpoint), q.Type.DeletionPolicy == regions.Refuse
	}
	if r, known := recorded[row.Key]; known {
		restore(m, r)
		if r.State == plan.Accepted && row.FollowPut { // its DELETE found nothing yet
			m.State, m.Orphan = plan.Accepted, true
		}
	}
	if followed(row) {
		m.State, m.Orphan, m.Blockers = plan.Accepted, recorded[row.Key].State != plan.Accepted, nil
	}
	m.Busy = cmp.Or(w.underWay(row), m.Busy) // the first look at the row shows the end of one that is recorded
	w.add(m, row.Created)
}

// add adds to the plan a member that has existed since a time.
func (w *attempt) add(m *plan.Member, since time.Time) {
	if since.After(w.payload.Saved) {
		w.came++
	}
	w.plan.Add(m)
}

func (w *attempt) addStray(stray inventory.Stray, recorded map[string]plan.Record) {
	m := &plan.Member{Key: stray.MemberKey(), Type: stray.Type, Region: stray.Region}
	if _, endpoint, err := w.Prober.Target(stray.Row()); err == nil {
		m.Endpoint = nameOf(endpoint)
	}
	if r, known := recorded[m.Key]; known {
		restore(m, r)
	}
	w.add(m, stray.Seen)
}

// compare compares a member with its row.
func (w *attempt) compare(ctx context.Context, row inventory.Resource) error {
	m := w.plan.Members[row.Key]
	state := plan.RowState{
		Accepted:   followed(row) || m.State == plan.Accepted && !m.Orphan && row.Verify,
		Unverified: row.Verify || row.FollowPut, Failure: plan.Result{Outcome: plan.OutcomeRefused}, Busy: w.underWay(row),
	}
	if m.State == plan.Accepted && seenAbsent(row) {
		return w.confirmAbsent(ctx, row)
	}
	if m.State == plan.Accepted && !state.Accepted && !m.Orphan {
		text, err := w.Prober.Store.DeletionError(ctx, w.claim.Job, row.Key)
		if err != nil {
			return err
		}
		state.Failure.Blockers, state.Failure.Named = w.blockers(row.Key, text)
	}
	w.plan.Observe(row.Key, state)
	return nil
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
	probed, err := w.Prober.Probe(ctx, w.ids(), row)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a := absence(row, probed, err); a.result.Outcome == plan.OutcomeGone {
		a.key = row.Key
		w.noteAbsent(a)
		w.plan.Drop(row.Key)
	}
	return nil
}

// refresh updates the plan from the inventory.
func (w *attempt) refresh(ctx context.Context) error {
	w.stale = false
	if err := w.askStrays(ctx); err != nil {
		return err
	}
	if w.plan.In(plan.Parked) > 0 {
		if err := w.readOpenWrites(ctx); err != nil {
			return err
		}
	}
	found := make(map[string]bool, len(w.plan.Members))
	if err := w.find(ctx, nil, func(key string) { found[key] = true }); err != nil {
		return err
	}
	for key := range w.plan.Members {
		if !found[key] {
			w.plan.Drop(key)
		}
	}
	return nil
}

// askStrays probes the strays whose delete was accepted, or refused while a write of them
// was under way, because no other job does.
func (w *attempt) askStrays(ctx context.Context) error {
	for key, stray := range w.strays {
		m := w.plan.Members[key]
		if m == nil || m.State != plan.Accepted && m.Busy == "" {
			continue
		}
		answer, err := w.Prober.Get(ctx, w.ids(), stray.Row())
		shown, readable := inventory.ReadObservation(answer.Body)
		switch {
		case err != nil:
		case answer.Status == http.StatusNotFound:
			if _, err := w.Prober.Store.ForgetStray(ctx, stray); err != nil {
				return err
			}
			w.plan.Drop(key)
		case readable && index.Terminal(shown.ProvisioningState):
			w.plan.Observe(key, plan.RowState{Failure: plan.Result{Outcome: plan.OutcomeRefused}})
		}
	}
	return nil
}

// blockers returns the members that a refusal names.
func (w *attempt) blockers(self, text string) ([]string, bool) {
	scope := arm.Fold(routing.GroupID(w.claim.Job.Subscription, w.claim.Job.Subject)) + "/"
	return plan.BlockersIn(text, scope, self, func(key string) bool { return w.plan.Members[key] != nil })
}

// header returns the headers of a DELETE: its ids, and the caller that it is made for.
func (w *attempt) header() http.Header {
	header := w.ids()
	w.payload.Caller.Stamp(header)
	return header
}

// ids returns the headers of a GET. It names no caller, as what a provider hides from one
// is there all the same.
func (w *attempt) ids() http.Header { return w.payload.Header(w.Region) }

// learn records the order of types that the deletion has learnt, for later deletions.
func (w *attempt) learn(ctx context.Context) error {
	if w.plan.End() != plan.EndNone {
		w.plan.Conclude()
	}
	if len(w.plan.Learnt) == 0 {
		return nil
	}
	learnt := make([]inventory.TypeOrder, len(w.plan.Learnt))
	for i, o := range w.plan.Learnt {
		learnt[i] = inventory.TypeOrder{Before: o.Before, After: o.After}
	}
	err := w.Prober.Store.LearnTypeOrders(ctx, w.claim.Job.Subscription, learnt)
	if err == nil {
		w.plan.Learnt = nil
	}
	return err
}

// save records the deletion's progress.
func (w *attempt) save(ctx context.Context) error {
	w.saved = time.Now()
	w.payload.Progress, w.payload.Saved = w.plan.Progress(), w.now()
	w.setWaits(ctx, w.waiting())
	if err := w.learn(ctx); err != nil {
		return err
	}
	payload := w.payload.String()
	for first := true; ; first = false {
		page := w.changed()
		if len(page) == 0 && !first {
			return nil
		}
		if err := w.Prober.Store.SaveDeletionProgress(ctx, &w.claim.Job, payload, page); err != nil {
			return err
		}
		payload = ""
	}
}

// changed returns the members whose record has changed, at most a page of them. It
// leaves out those in flight, which get an answer anyway.
func (w *attempt) changed() (page []inventory.DeletionMember) {
	for key, m := range w.plan.Members {
		if !m.Changed || m.State == plan.InFlight {
			continue
		}
		if len(page) == membersAtOnce {
			break
		}
		text, err := json.Marshal(m.Record())
		if err != nil { // every record has a JSON form
			continue
		}
		m.Changed = false
		page = append(page, inventory.DeletionMember{Key: key, Payload: string(text), Error: w.errors[key]})
		delete(w.errors, key)
	}
	return page
}

func (w *attempt) note(what string, fields ...zap.Field) {
	w.Log.Info(what, append(fields, zap.String("group", strings.ToValidUTF8(w.payload.Group, "\uFFFD")),
		zap.String("subscription", w.claim.Job.Subscription), zap.String("job", w.claim.Job.Name()), zap.String("correlationId", w.payload.Correlation))...)
}
