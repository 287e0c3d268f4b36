package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/jobs"
	"portico/jobs/deletion"
	"portico/jobs/deletion/deletionplan"
	"portico/jobs/deploy/deployplan"
	"portico/jobs/deploy/secret"
	"portico/upstream/answers"
)

// removalsFrom is the number of the first deletion. Lower numbers are the template's steps.
const removalsFrom = 1 << 20

// longestWhy bounds the bytes of a provider's message that the plan keeps.
const longestWhy = 4 << 10

// removal is the record of a resource that a deployment in complete mode deletes by a DELETE of
// its caller. A resource that goes with its parent, without a DELETE of its own, has none.
type removal struct {
	stepRecord
	Key  string              `json:"key"`
	Plan deletionplan.Record `json:"plan"`
	// Hidden: the deployment's caller may neither delete nor read the resource. No DELETE is sent,
	// so that no operation and no error names it; the error at the end counts such resources.
	Hidden bool `json:"hidden,omitempty"`

	number int
	state  deployplan.State
}

// loadRemoval reads a deletion that an earlier attempt recorded.
func (a *attempt) loadRemoval(number int, step deploymentrow.Step) error {
	r := removal{number: number, state: deployplan.State(step.State)}
	if err := json.Unmarshal(step.Record, &r); err != nil {
		return fmt.Errorf("read the record of a deletion: %w", err)
	}
	a.removals[r.Key] = r
	return nil
}

// removing is the [deletion.Kind] that deletes the resources of a group that are not in the
// template, for a deployment in complete mode. It sends DELETEs as the deployment's caller.
type removing struct{ *attempt }

// planRemovals adds to the plan the deletion of the group's resources that are not in the template.
func (a *attempt) planRemovals(ctx context.Context) error {
	a.driver = &deletion.Driver{
		Kind: removing{a}, Store: a.Store, Target: a.Target, Subscription: a.name.Subscription, Group: a.name.Group, Fixed: true,
		Until: a.order.Now.Add(a.Limit), Floor: a.Limits.Pause, PerJob: a.Limits.PerDeployment, Log: a.Log, Job: a.job.Name(),
		Watch: func(idle int) time.Duration { return timing.Backoff(a.Limits.Pause, 2*a.Patience, idle+1) },
	}
	known, err := a.Store.Deletions.TypeOrders(ctx, a.name.Subscription)
	if err != nil {
		return fmt.Errorf("read the order of types: %w", err)
	}
	rows := map[string]inventory.Resource{}
	err = a.driver.Rows(ctx, func(row inventory.Resource) error {
		rows[row.Key] = row
		return nil
	})
	if err != nil {
		return err
	}
	a.plan.Remove(known)
	queue := a.plan.Removal()
	a.driver.Queue = queue
	kept := a.keptResources(rows)
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if kept[key] {
			continue
		}
		if m := a.driver.Add(rows[key], a.removals[key].Plan); a.mayLand(key) { // else it is sent again, which does no harm
			queue.AwaitProof(m)
			m.Changed = false // it stays recorded as sent
		}
	}
	gone := 0
	for key, r := range a.removals {
		if _, there := rows[key]; !there {
			r.end(deployplan.Succeeded, a.Store.Now())
			a.removals[key] = r
			gone++
		}
	}
	queue.Resume(gone+len(queue.Resources), gone, 0, 0)
	return nil
}

// Rows implements [deletion.Kind]. It leaves out resources that were created after all steps had
// ended.
func (r removing) Rows(ctx context.Context, each func(inventory.Resource) error) error {
	since := r.stepsEnded()
	return r.driver.GroupRows(ctx, true, func(row inventory.Resource) error {
		if row.Created.After(since) {
			return nil
		}
		return each(row)
	})
}

// stepsEnded returns when the last step ended, which is the same for every attempt.
func (a *attempt) stepsEnded() time.Time {
	ended := a.order.Now
	for i := range a.records {
		if at := a.records[i].Ended; at.After(ended) {
			ended = at
		}
	}
	return ended
}

// keptResources returns the resources that are not deleted: those in the template, unless their condition
// is false, and those that another resource manages.
func (a *attempt) keptResources(rows map[string]inventory.Resource) Kept {
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

// Kept is the set of folded IDs that a deployment in complete mode does not delete.
type Kept map[string]bool

// Add keeps a resource, and the resources that it lies below.
func (k Kept) Add(id string) {
	id = arm.Fold(id)
	for i := len(id); i > 0; i = strings.LastIndexByte(id[:i], '/') {
		k[id[:i]] = true
	}
}

// mayLand reports whether a canceled deployment waits for a DELETE that an earlier attempt sent,
// as it may still take effect.
func (a *attempt) mayLand(key string) bool {
	r, known := a.removals[key]
	return known && a.plan.Canceled && r.state == deployplan.Sent && a.Store.Now().Sub(r.Began) <= a.CallLimit
}

// Unknown implements [deletion.Kind].
func (r removing) Unknown(_ context.Context, m *deletionplan.Resource, _ inventory.Resource) (bool, error) {
	return m.State == deletionplan.Accepted && r.mayLand(m.Key), nil
}

// remove deletes the resources that are not in the template, until it can only wait, or the
// deployment is over.
func (a *attempt) remove(ctx context.Context) (jobs.Result, error) {
	if a.driver == nil {
		if err := a.planRemovals(ctx); err != nil {
			return jobs.Result{}, err
		}
	}
	return a.driver.Run(ctx)
}

// End implements [deletion.Kind].
func (r removing) End(ctx context.Context, _ deletionplan.End, late bool) (result jobs.Result, ended bool, err error) {
	if err := r.Save(ctx); err != nil {
		return jobs.Result{}, false, err
	}
	end, over := r.plan.Over()
	switch {
	case over:
		late = false
	case late:
		end = deployplan.Failed
	default:
		return jobs.Result{}, false, nil
	}
	for key, left := range r.removals {
		if late && !left.state.Over() && !left.Began.IsZero() {
			left.Fault = lateRemoval(left, r.Limit)
		}
		left.end(deployplan.Failed, r.Store.Now())
		r.removals[key] = left
	}
	return jobs.Result{Recorded: true}, true, r.finish(ctx, end)
}

// Rest implements [deletion.Kind].
func (r removing) Rest(_ context.Context, pause time.Duration) (result jobs.Result, ended bool, err error) {
	if !r.givesJobBack(pause) {
		return jobs.Result{}, false, nil
	}
	return jobs.Result{Again: pause, Payload: r.order.Payload(r.plan.Counts())}, true, nil
}

// lateRemoval returns the error of a deletion that had not ended in time, with its provider's
// last error.
func lateRemoval(r removal, limit time.Duration) *arm.Error {
	fault := arm.NewError(arm.DeploymentFailed).
		WithMessage("The deletion of the resource '%s' had not come to an end when the deployment's time of %s was over.", r.Target.ID, limit.String())
	if r.Fault != nil {
		fault.Details = []arm.Error{*r.Fault}
	}
	return fault
}

func (r *removal) end(state deployplan.State, now time.Time) {
	if !r.state.Over() {
		r.state, r.Ended = state, now
	}
}

// Call implements [deletion.Kind].
func (r removing) Call(m *deletionplan.Resource) deletion.Sender {
	of, known := r.removals[m.Key]
	if !known {
		of = removal{stepRecord: stepRecord{Removes: true}, Key: m.Key, number: removalsFrom + len(r.removals)}
		r.removals[m.Key] = of
	}
	of.Plan = m.Record()
	return func(ctx, _ context.Context) deletion.CallResult { // a call of a deployment has its own time
		a := r.sendDelete(ctx, &of)
		a.Apply = func() {
			of.Fault = of.Fault.Within(r.errorBytes())
			r.removals[of.Key] = of
		}
		return a
	}
}

// sendDelete sends one DELETE, as the deployment's caller.
func (r removing) sendDelete(ctx context.Context, of *removal) (a deletion.CallResult) {
	row, there, err := r.existingRow(ctx, of.Key)
	switch {
	case err != nil:
		return failed(err)
	case !there:
		return deletion.Result(deletionplan.OutcomeGone)
	case deletion.Followed(row): // by somebody else
		return deletion.Result(deletionplan.OutcomeUnproven)
	}
	busy, err := r.underWay(ctx, row)
	if err == nil {
		of.Hidden, err = r.mustHide(ctx, *of, row)
	}
	if err != nil {
		return failed(err)
	}
	if of.Hidden {
		a = deletion.Result(deletionplan.OutcomeRefused)
		a.Busy = busy
		return a
	}
	calling, cancel := r.sendingContext(ctx)
	defer cancel()
	of.Began, of.Status, of.Poll, of.Fault, of.state = r.Store.Now(), 0, "", nil, deployplan.Sent
	of.Target = &Reference{row.ID, row.TypeName, row.Name}
	failpoint.Pass(failpoint.DeployBeginBefore)
	if err := r.recordOne(of.number, of.state, of); err != nil {
		return failed(err)
	}
	failpoint.Pass(failpoint.DeployBeginAfter)
	q, _, err := r.Target(row)
	if err != nil {
		a, of.Fault = deletion.Unconfigured(err)
		return a
	}
	answer, err := r.call(calling, Call{Method: http.MethodDelete, Target: q.Path.Escaped() + "?" + q.Query.Raw})
	if err != nil {
		return deletion.Result(deletionplan.OutcomeUnreachable)
	}
	a = of.onDeleteResponse(answer, r.known.secrets())
	if a.Busy = busy; a.Outcome == deletionplan.OutcomeGone || a.Outcome == deletionplan.OutcomeRefused {
		a.Err = r.compareAnswer(calling, of.Key, &a.Result)
	}
	return a
}

// failed returns the result of a call that was not made, with the error that ends the attempt.
func failed(err error) deletion.CallResult {
	a := deletion.Result(deletionplan.OutcomeUnsent)
	a.Err = fmt.Errorf("send a deletion: %w", err)
	return a
}

// mustHide reports whether the caller may neither delete nor read a resource that was not sent.
func (a *attempt) mustHide(ctx context.Context, r removal, row inventory.Resource) (bool, error) {
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

// compareAnswer corrects the result of a definite answer to a DELETE by the resource's present row.
func (a *attempt) compareAnswer(ctx context.Context, key string, result *deletionplan.Result) error {
	row, there, err := a.existingRow(ctx, key)
	switch {
	case err != nil:
		return err
	case !there:
		result.Outcome = deletionplan.OutcomeGone
	case result.Outcome == deletionplan.OutcomeGone, deletion.Followed(row): // the index has yet to prove that it is gone
		result.Outcome = deletionplan.OutcomeUnproven
	case result.Busy == "":
		result.Busy, err = a.underWay(ctx, row)
	}
	return err
}

// underWay returns the kind of a write of a row's resource that may be under way, whoever sent
// it; "" for none.
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

// existingRow returns the row of a resource that is to be deleted, if it still exists.
func (a *attempt) existingRow(ctx context.Context, key string) (row inventory.Resource, there bool, err error) {
	row, err = a.Store.Resource(ctx, a.name.Subscription, key)
	if errors.Is(err, inventory.ErrNotFound) {
		return row, false, nil
	}
	return row, err == nil && !row.Created.After(a.stepsEnded()), err
}

// onDeleteResponse reads the answer to a DELETE.
func (r *removal) onDeleteResponse(answer Response, secrets secret.Secrets) (a deletion.CallResult) {
	means, after := answers.Verdict(answer.Status, answer.Header, answers.ConcernsResource(answer.Status, answer.Body, r.Target.ID))
	r.Status, a.After, a.Outcome = answer.Status, after, deletionplan.ByMeaning[means]
	switch {
	case means == answers.Accepted:
		r.setPoll(answer)
		return a
	case a.Outcome == deletionplan.OutcomeGone:
		return a
	case answer.throttles():
		a.Outcome = deletionplan.OutcomeUnsent
	}
	a.Text = string(answer.Body)
	r.Fault = secrets.Error(answer.Fault())
	a.Why = answers.Cut(r.Fault.Message, longestWhy)
	return a
}

// Answered implements [deletion.Kind].
func (r removing) Answered(a deletion.CallResult) error {
	if a.Err != nil {
		return a.Err
	}
	failpoint.Pass(failpoint.DeploySettleBefore)
	err := r.recordRemovals(a.Key)
	failpoint.Pass(failpoint.DeploySettleAfter)
	return err
}

// Save implements [deletion.Kind]. It records all changes, except for calls under way, which
// Answered records.
func (r removing) Save(context.Context) error {
	resources := r.plan.Removal().Resources
	var changed []string
	for key, of := range r.removals {
		if m := resources[key]; m == nil && !of.state.Over() || m != nil && m.Changed && m.State != deletionplan.InFlight {
			changed = append(changed, key)
		}
	}
	return r.recordRemovals(changed...)
}

// recordRemovals records the states that deletions have in the plan.
func (a *attempt) recordRemovals(keys ...string) error {
	progress := map[int]deploymentrow.Step{}
	for _, key := range keys {
		r := a.removals[key]
		if m := a.plan.Removal().Resources[key]; m == nil {
			r.end(deployplan.Succeeded, a.Store.Now())
		} else {
			r.state, r.Plan, m.Changed = deployplan.Waiting, m.Record(), false
			if m.State == deletionplan.Accepted {
				r.state = deployplan.Accepted
			}
		}
		a.removals[key] = r
		step, err := recorded(r.state, r)
		if err != nil {
			return err
		}
		progress[r.number] = step
	}
	if len(progress) == 0 {
		return nil
	}
	return a.record.add(progress)()
}

// Failure implements [deletion.Kind]. It polls the provider for the error of an accepted deletion
// that has not succeeded.
func (r removing) Failure(ctx context.Context, key string) (text string, err error) {
	of, sent := r.removals[key]
	if !sent {
		return "", nil
	}
	s := settled{task: task{record: stepRecord{OfStatus: of.OfStatus}}}
	s.record.Fault = arm.NewError(arm.DeploymentFailed).WithMessage("The deletion of the resource '%s' was accepted, and it is still there.", of.Target.ID)
	if of.Poll != "" {
		if answer, err := r.get(ctx, of.Poll); err == nil {
			s.onPollResponse(answer)
			text = string(answer.Body)
		}
	}
	of.Fault = r.known.secrets().Error(s.record.Fault).Within(r.errorBytes())
	r.removals[key] = of
	return text, nil
}

// hiddenFault returns the error for resources that were not deleted because the caller may neither
// delete nor read them; nil if there are none.
func (a *attempt) hiddenFault() *arm.Error {
	hidden := 0
	for _, r := range a.removals {
		if r.Hidden && r.state == deployplan.Failed {
			hidden++
		}
	}
	if hidden == 0 {
		return nil
	}
	return arm.NewError(arm.AuthorizationFailed).WithTarget(a.order.Scope.ID()).
		WithMessage("Of the resources that the group holds and the template lacks, the caller may neither delete nor read %d. "+
			"They were not deleted, and are not named.", hidden)
}

// sentRemovals returns the deletions that were sent, in order.
func (a *attempt) sentRemovals() []removal {
	all := slices.SortedFunc(maps.Values(a.removals), func(x, y removal) int { return x.number - y.number })
	return slices.DeleteFunc(all, func(r removal) bool { return r.Began.IsZero() })
}
