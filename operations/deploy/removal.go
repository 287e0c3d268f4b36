package deploy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/deployments"
	"portico/inventory/index"
	"portico/jobs"
	"portico/limits"
	"portico/operations/deploy/plan"
	"portico/operations/deploy/secret"
	deletion "portico/operations/groupdelete/plan"
	"portico/regions"
	"portico/upstream/answers"
)

// removalsFrom is the number of the first deletion: those below are the template's steps.
const removalsFrom = 1 << 20

// rowsAtOnce is how many resources of a group one read has.
const rowsAtOnce = 500

// longestWhy is how many bytes of a provider's message the plan keeps.
const longestWhy = 4 << 10

// removal is the record of a resource that a deployment in complete mode deletes, as its
// caller's own DELETE. One that is never sent, as it goes with its parent, has none.
type removal struct {
	stepRecord
	Key  string          `json:"key"`
	Plan deletion.Record `json:"plan"`
	// Hidden: the deployment's caller may neither delete nor read the resource. It is not sent,
	// so that no operation and no error names it, and counted at the end.
	Hidden bool `json:"hidden,omitempty"`

	number int
	state  plan.State
}

// loadRemoval takes a deletion that an earlier attempt has recorded.
func (a *attempt) loadRemoval(number int, step deployments.Step) error {
	r := removal{number: number, state: plan.State(step.State)}
	if err := json.Unmarshal(step.Record, &r); err != nil {
		return err
	}
	a.removals[r.Key] = r
	return nil
}

// planRemovals adds to the plan the deletion of what the group holds and the template lacks.
func (a *attempt) planRemovals(ctx context.Context) error {
	orders, err := a.Store.TypeOrders(ctx, a.job.Subscription)
	if err != nil {
		return err
	}
	known := make([]deletion.TypeOrder, len(orders))
	for i, o := range orders {
		known[i] = deletion.TypeOrder{Before: o.Before, After: o.After}
	}
	rows, err := a.rows(ctx)
	if err != nil {
		return err
	}
	var members []*deletion.Member
	kept := a.kept(rows)
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if !kept[key] {
			members = append(members, a.member(rows[key]))
		}
	}
	gone := 0
	for key, r := range a.removals {
		if _, there := rows[key]; !there {
			r.end(plan.Succeeded, a.Store.Now())
			a.removals[key] = r
			gone++
		}
	}
	a.plan.Remove(members, gone, known)
	return nil
}

// rows are the resources of the group, by their keys. Those made after all steps had ended
// are none of the deployment's.
func (a *attempt) rows(ctx context.Context) (map[string]inventory.Resource, error) {
	rows := map[string]inventory.Resource{}
	since := a.stepsEnded()
	for after := ""; ; {
		page, err := a.Store.Resources(ctx, inventory.ResourceQuery{Subscription: a.name.Subscription, Group: a.name.Group, After: after, Limit: rowsAtOnce, Visible: true})
		if err != nil {
			return nil, err
		}
		for _, row := range page {
			if after = row.Key; !row.Created.After(since) {
				rows[row.Key] = row
			}
		}
		if len(page) < rowsAtOnce {
			return rows, nil
		}
	}
}

// stepsEnded is when the last step ended, which every attempt finds the same.
func (a *attempt) stepsEnded() time.Time {
	ended := a.order.Now
	for i := range a.records {
		if at := a.records[i].Ended; at.After(ended) {
			ended = at
		}
	}
	return ended
}

// kept are what stays: what the template names, unless its condition is false, and what
// something manages.
func (a *attempt) kept(rows map[string]inventory.Resource) Kept {
	kept := Kept{}
	for i := range a.steps {
		if !a.records[i].LeftOut {
			kept.Add(a.steps[i].reference().ID)
		}
	}
	for key, row := range rows {
		if row.Details.ManagedBy != "" {
			kept.Add(key)
		}
	}
	return kept
}

// Kept are the folded IDs of what a deployment in complete mode does not delete.
type Kept map[string]bool

// Add keeps a resource, and what it lies below.
func (k Kept) Add(id string) {
	id = arm.Fold(id)
	for i := len(id); i > 0; i = strings.LastIndexByte(id[:i], '/') {
		k[id[:i]] = true
	}
}

func (a *attempt) member(row inventory.Resource) *deletion.Member {
	m := &deletion.Member{Key: row.Key, Type: row.Type, Region: row.Region, Parent: row.Parent}
	if q, endpoint, err := a.Target(row); err == nil {
		m.Endpoint, m.Refuses = endpoint.Region+" "+endpoint.String(), q.Type.DeletionPolicy == regions.Refuse
	}
	r, known := a.removals[row.Key]
	if known {
		m.Restore(r.Plan)
	}
	m.Busy = cmp.Or(row.WriteUnderWay(), m.Busy) // the first look at the row shows the end of one that is recorded
	switch {
	case known && r.state == plan.Accepted:
		m.State, m.Orphan = deletion.Accepted, r.Poll == "" && row.FollowPut
	case a.mayLand(row.Key): // else it is sent again, which does no harm
		m.State, m.Orphan = deletion.Accepted, true
	case beingDeleted(row): // by somebody else: if that fails, it is sent
		m.State, m.Orphan, m.Blockers = deletion.Accepted, true, nil
	}
	return m
}

// mayLand reports whether a DELETE that an earlier attempt sent may still land, which a
// deployment that is canceled waits for.
func (a *attempt) mayLand(key string) bool {
	r, known := a.removals[key]
	return known && a.plan.Canceled && r.state == plan.Sent && a.Store.Now().Sub(r.Began) <= a.CallLimit
}

// beingDeleted reports whether the index finds out what becomes of an accepted deletion.
func beingDeleted(row inventory.Resource) bool {
	return row.FollowDelete || row.Phase == index.Deleting
}

// remove deletes what the template lacks, until it can only wait, or the deployment is over.
func (a *attempt) remove(ctx context.Context) (jobs.Result, error) {
	if a.plan.Removal() == nil {
		if err := a.planRemovals(ctx); err != nil {
			return jobs.Result{}, err
		}
	}
	results := make(chan removed)
	running, idle := 0, 0
	var failure error
	for {
		if failure == nil {
			failure = ctx.Err()
		}
		if failure == nil {
			running += a.launchRemovals(ctx, results)
		}
		if running == 0 {
			if failure == nil {
				failure = a.observeRemovals(ctx)
			}
			if failure != nil {
				return jobs.Result{}, failure
			}
			if end, over := a.removalsOver(); over {
				return jobs.Result{Recorded: true}, a.finish(ctx, end)
			}
		}
		idle++
		pause := a.removalPause(idle)
		if running == 0 && a.leaves(pause) {
			return jobs.Result{Again: pause, Payload: a.order.Payload(a.plan.Counts())}, nil
		}
		select {
		case s := <-results:
			running, idle = running-1, 0
			if err := a.settleRemoval(s); failure == nil {
				failure = err
			}
		case <-time.After(pause):
			if failure == nil {
				failure = a.observeRemovals(ctx)
			}
		case <-done(ctx, failure):
			failure = ctx.Err()
		}
	}
}

// removalPause is how long to wait for a deletion that is due, or for what becomes of one
// that was accepted.
func (a *attempt) removalPause(idle int) time.Duration {
	pause := timing.Backoff(a.Limits.Pause, 2*a.Patience, idle)
	if due, waits := a.plan.Removal().Wake(); waits && !a.plan.Canceled {
		pause = max(a.Limits.Pause, min(pause, due.Sub(a.Store.Now())))
	}
	return pause
}

// removalsOver reports whether the deletions are over, and how the deployment ends then.
func (a *attempt) removalsOver() (end plan.State, over bool) {
	now := a.Store.Now()
	end, over = a.plan.Over()
	late := !over && now.Sub(a.order.Now) > a.Limit
	if late {
		end, over = plan.Failed, true
	}
	if !over {
		return end, false
	}
	for key, r := range a.removals {
		if r.state.Over() {
			continue
		}
		if late && !r.Began.IsZero() {
			r.Fault = lateRemoval(r, a.Limit)
		}
		r.end(plan.Failed, now)
		a.removals[key] = r
	}
	return end, true
}

// lateRemoval returns the error of a deletion that had not ended in time, with what its
// provider said last.
func lateRemoval(r removal, limit time.Duration) *arm.Error {
	fault := arm.NewError(arm.DeploymentFailed).Saying("The deletion of the resource '%s' had not come to an end when the deployment's time of %s was over.", r.Target.ID, limit.String())
	if r.Fault != nil {
		fault.Details = []arm.Error{*r.Fault}
	}
	return fault
}

func (r *removal) end(state plan.State, now time.Time) {
	if !r.state.Over() {
		r.state, r.Ended = state, now
	}
}

// launchRemovals sends the DELETEs that are due, and returns how many.
func (a *attempt) launchRemovals(ctx context.Context, results chan<- removed) int {
	members := a.plan.NextRemovals(a.Store.Now())
	for _, m := range members {
		r, known := a.removals[m.Key]
		if !known {
			r = removal{stepRecord: stepRecord{Removes: true}, Key: m.Key, number: removalsFrom + len(a.removals)}
			a.removals[m.Key] = r
		}
		r.Plan = m.Record()
		go func() {
			s := removed{removal: r, result: deletion.Result{Outcome: deletion.OutcomeUnsent}}
			if p := limits.CatchPanic(func() { s = a.callRemoval(ctx, r) }); p != nil {
				s.err = p
			}
			results <- s
		}()
	}
	return len(members)
}

// removed is what became of a DELETE.
type removed struct {
	removal
	result deletion.Result
	text   string // of a refusal
	err    error  // the attempt ends
}

// callRemoval sends one DELETE, as the deployment's caller.
func (a *attempt) callRemoval(ctx context.Context, r removal) removed {
	s := removed{removal: r}
	row, there, err := a.standing(ctx, r.Key)
	switch {
	case err != nil:
		s.result.Outcome, s.err = deletion.OutcomeUnsent, err
		return s
	case !there:
		s.result.Outcome = deletion.OutcomeGone
		return s
	case beingDeleted(row): // by somebody else
		s.result.Outcome = deletion.OutcomeUnproven
		return s
	}
	if s.result.Busy, s.err = a.underWay(ctx, row); s.err != nil {
		s.result.Outcome = deletion.OutcomeUnsent
		return s
	}
	switch s.Hidden, s.err = a.hides(ctx, r, row); {
	case s.err != nil:
		s.result.Outcome = deletion.OutcomeUnsent
		return s
	case s.Hidden:
		s.result.Outcome = deletion.OutcomeRefused
		return s
	}
	calling, cancel := a.sending(ctx)
	defer cancel()
	s.Began, s.Status, s.Poll, s.Fault, s.state = a.Store.Now(), 0, "", nil, plan.Sent
	s.Target = &Reference{row.ID, row.TypeName, row.Name}
	failpoint.Pass(failpoint.DeployBeginBefore)
	if s.err = a.recordOne(s.removal.number, s.removal.state, s.removal); s.err != nil {
		s.result.Outcome = deletion.OutcomeUnsent
		return s
	}
	failpoint.Pass(failpoint.DeployBeginAfter)
	q, _, err := a.Target(row)
	if err != nil {
		s.result.Outcome, s.Fault = deletion.OutcomeRefused, arm.NewError(arm.NoRegisteredProviderFound).Saying("%s", err.Error())
		return s
	}
	answer, err := a.call(calling, Call{Method: http.MethodDelete, Target: q.Path.Escaped() + "?" + q.Query.Raw})
	if err != nil {
		s.result = deletion.Result{Outcome: deletion.OutcomeUnreachable}
		return s
	}
	s.read(answer, a.known.secrets())
	if s.result.Outcome == deletion.OutcomeGone || s.result.Outcome == deletion.OutcomeRefused {
		s.err = a.compareRemoval(calling, &s)
	}
	return s
}

// hides reports whether the caller may neither delete nor read a resource that was not sent.
func (a *attempt) hides(ctx context.Context, r removal, row inventory.Resource) (bool, error) {
	if !r.Began.IsZero() {
		return false, nil
	}
	for _, right := range []string{"/delete", "/read"} {
		err := a.May(ctx, a.order.Caller, row.TypeName+right, row.ID)
		if _, refused := errors.AsType[*arm.Error](err); !refused {
			return false, err
		}
	}
	return true, nil
}

// compareRemoval compares the definite answer to a DELETE with what the index has by then.
func (a *attempt) compareRemoval(ctx context.Context, s *removed) error {
	row, there, err := a.standing(ctx, s.Key)
	switch {
	case err != nil:
		return err
	case !there:
		s.result.Outcome = deletion.OutcomeGone
	case s.result.Outcome == deletion.OutcomeGone, beingDeleted(row): // the index has yet to prove that it is gone
		s.result.Outcome = deletion.OutcomeUnproven
	case s.result.Busy == "":
		s.result.Busy, err = a.underWay(ctx, row)
	}
	return err
}

// underWay names the write of a row's resource that may be under way, whoever sent it; ""
// for none.
func (a *attempt) underWay(ctx context.Context, row inventory.Resource) (string, error) {
	if busy := row.WriteUnderWay(); busy != "" {
		return busy, nil
	}
	open, err := a.Store.OpenWrites(ctx, row.Subscription, row.Key, 1)
	if err != nil || len(open) == 0 {
		return "", err
	}
	return open[0].Kind.String(), nil
}

// standing is the row of a resource that is to be deleted, as long as it stands.
func (a *attempt) standing(ctx context.Context, key string) (row inventory.Resource, there bool, err error) {
	row, err = a.Store.Resource(ctx, a.name.Subscription, key)
	if errors.Is(err, inventory.ErrNotFound) {
		return row, false, nil
	}
	return row, err == nil && !row.Created.After(a.stepsEnded()), err
}

// read reads the answer to a DELETE.
func (s *removed) read(answer Answer, secrets secret.Secrets) {
	means, after := answers.Verdict(answer.Status, answer.Header, answers.About(answer.Status, answer.Body, s.Target.ID))
	s.Status, s.result.After, s.result.Outcome = answer.Status, after, deletion.ByMeaning[means]
	switch {
	case means == answers.Accepted:
		s.notePoll(answer)
		return
	case s.result.Outcome == deletion.OutcomeGone:
		return
	case answer.throttles():
		s.result.Outcome = deletion.OutcomeUnsent
	}
	s.text = string(answer.Body)
	s.Fault = secrets.Error(answer.Fault())
	s.result.Why = answers.Cut(s.Fault.Message, longestWhy)
}

// settleRemoval tells the plan what became of a DELETE, and records it.
func (a *attempt) settleRemoval(s removed) error {
	if s.result.Outcome == deletion.OutcomeRefused {
		s.result.Blockers, s.result.Named = a.blockers(s.Key, s.text)
	}
	a.plan.Removal().OnResult(s.Key, s.result, a.Store.Now())
	if s.err != nil {
		return s.err
	}
	s.Fault = s.Fault.Within(a.errorBytes())
	a.removals[s.Key] = s.removal
	failpoint.Pass(failpoint.DeploySettleBefore)
	err := a.noteRemoval(s.Key)
	failpoint.Pass(failpoint.DeploySettleAfter)
	return err
}

// blockers are the resources that have to go first, as a refusal says.
func (a *attempt) blockers(key, text string) ([]string, bool) {
	members := a.plan.Removal().Members
	return deletion.BlockersIn(text, arm.Fold(a.order.Scope.ID())+"/", key, func(key string) bool { return members[key] != nil })
}

// noteRemoval records how far the plan has a resource.
func (a *attempt) noteRemoval(key string) error {
	r, sent := a.removals[key]
	if !sent {
		return nil
	}
	if m := a.plan.Removal().Members[key]; m == nil {
		r.end(plan.Succeeded, a.Store.Now())
	} else {
		r.state, r.Plan, m.Changed = plan.Waiting, m.Record(), false
		if m.State == deletion.Accepted {
			r.state = plan.Accepted
		}
	}
	a.removals[key] = r
	return a.recordOne(r.number, r.state, r)
}

// observeRemovals finds out from the index what became of the accepted deletions, and of
// the writes for which others were refused.
func (a *attempt) observeRemovals(ctx context.Context) error {
	removal := a.plan.Removal()
	if removal.In(deletion.Accepted)+removal.Busy() == 0 {
		return nil
	}
	rows, err := a.rows(ctx)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(removal.Members)) {
		m := removal.Members[key]
		if m == nil || m.State != deletion.Accepted && m.Busy == "" {
			continue
		}
		if row, there := rows[key]; !there {
			removal.Drop(key)
		} else if err := a.observeRemoval(ctx, m, row); err != nil {
			return err
		}
		if removal.Members[key] == nil {
			if err := a.noteRemoval(key); err != nil {
				return err
			}
		}
	}
	return a.noteChanged()
}

// noteChanged records what has changed of members but those that get an answer.
func (a *attempt) noteChanged() error {
	for key, m := range a.plan.Removal().Members {
		if m.Changed && m.State != deletion.InFlight {
			if err := a.noteRemoval(key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *attempt) observeRemoval(ctx context.Context, m *deletion.Member, row inventory.Resource) error {
	accepted := m.State == deletion.Accepted
	state := deletion.RowState{
		Accepted:   beingDeleted(row) || accepted && !m.Orphan && row.Verify,
		Unverified: row.Verify || row.FollowPut || a.mayLand(m.Key), Busy: row.WriteUnderWay(),
	}
	if m.Busy != "" {
		var err error
		if state.Busy, err = a.underWay(ctx, row); err != nil {
			return err
		}
	}
	if r, sent := a.removals[m.Key]; accepted && sent && !state.Accepted && !m.Orphan {
		text := a.failedRemoval(ctx, &r)
		a.removals[m.Key] = r
		state.Failure.Blockers, state.Failure.Named = a.blockers(m.Key, text)
	}
	state.Failure.Outcome = deletion.OutcomeRefused
	a.plan.Removal().Observe(m.Key, state)
	return nil
}

// failedRemoval asks the provider why an accepted deletion has not succeeded.
func (a *attempt) failedRemoval(ctx context.Context, r *removal) (text string) {
	s := settled{task: task{record: stepRecord{OfStatus: r.OfStatus, Fault: arm.NewError(arm.DeploymentFailed).Saying("The deletion of the resource '%s' was accepted, and it is still there.", r.Target.ID)}}}
	if r.Poll != "" {
		if answer, err := a.get(ctx, r.Poll); err == nil {
			s.polled(answer)
			text = string(answer.Body)
		}
	}
	r.Fault = a.known.secrets().Error(s.record.Fault).Within(a.errorBytes())
	return text
}

// hiddenFault is the error of the resources that a deployment has left because its caller may
// neither delete nor read them; nil if there are none.
func (a *attempt) hiddenFault() *arm.Error {
	hidden := 0
	for _, r := range a.removals {
		if r.Hidden && r.state == plan.Failed {
			hidden++
		}
	}
	if hidden == 0 {
		return nil
	}
	return arm.NewError(arm.AuthorizationFailed).About(a.order.Scope.ID()).
		Saying("Of the resources that the group holds and the template lacks, the caller may neither delete nor read %d. They were not deleted, and are not named.", hidden)
}

// sentRemovals are the deletions that were sent, in order.
func (a *attempt) sentRemovals() []removal {
	all := slices.SortedFunc(maps.Values(a.removals), func(x, y removal) int { return x.number - y.number })
	return slices.DeleteFunc(all, func(r removal) bool { return r.Began.IsZero() })
}
