package groupdelete

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/index"
	"portico/locate"
	"portico/operations/groupdelete/plan"
	"portico/regions"
	"portico/routing"
	"portico/tracing"
	"portico/upstream"
	"portico/upstream/answers"
)

// callRow sends one DELETE for the resource of a row.
func (w *attempt) callRow(ctx, calling context.Context, key string) answer {
	store := w.Prober.Store
	row, err := store.Resource(ctx, w.claim.Job.Subscription, key)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return answer{result: plan.Result{Outcome: plan.OutcomeGone}}
	case err != nil:
		return unsent(err)
	case followed(row):
		return answer{result: plan.Result{Outcome: plan.OutcomeUnproven}}
	}
	q, endpoint, err := w.Prober.Target(row)
	if err != nil {
		return unconfigured(err)
	}
	slots, caller := w.slots.At(endpoint.Region, endpoint.String()), w.payload.Caller.Caller()
	if err := slots.Acquire(ctx, caller); err != nil {
		return unsent(err)
	}
	defer slots.Release(caller)
	header := w.header()
	if q.Type.Capabilities.ETags {
		a, decided := w.condition(ctx, row, q, endpoint, header)
		if decided {
			return a
		}
	}
	started := time.Now()
	if err := ctx.Err(); err != nil {
		return unsent(err)
	}
	failpoint.Pass(failpoint.GroupBeginBefore)
	ticket, err := store.Begin(calling, inventory.Write{
		Kind: index.Delete, Subscription: row.Subscription, Group: row.Group, Key: row.Key, ID: row.ID, Type: row.Type, TypeName: row.TypeName,
		Region: row.Region, APIVersion: row.APIVersion, Sender: w.Sender, Incarnation: w.group.Incarnation, OfGroupDelete: true,
		Generation: row.Generation, LateWriteWindow: q.Type.LateWriteWindow,
	})
	if err != nil {
		return unsent(err)
	}
	failpoint.Pass(failpoint.GroupBeginAfter)
	e := w.exchange(calling, q, endpoint, header, started)
	failpoint.Pass(failpoint.GroupSettleBefore)
	settled, err := store.Settle(context.WithoutCancel(calling), ticket, e.settled)
	failpoint.Pass(failpoint.GroupSettleAfter)
	switch {
	case err != nil: // the intent ends by time; the row says that it is there
		return answer{result: plan.Result{Outcome: plan.OutcomeUnsent}, stale: true}
	case e.answer.result.Outcome == plan.OutcomeGone && settled.Row != nil: // another write may overturn it
		return w.unproven(context.WithoutCancel(calling), *settled.Row)
	case e.answer.result.Outcome == plan.OutcomeRefused && settled.Row != nil && followed(*settled.Row): // by another's DELETE
		e.answer.result.Outcome = plan.OutcomeUnproven
	case settled.Row != nil:
		e.answer.result.Busy = cmp.Or(row.WriteUnderWay(), settled.Row.WriteUnderWay())
	}
	return e.answer
}

// callStray sends one DELETE for a stray, to the region where it was seen.
func (w *attempt) callStray(ctx, calling context.Context, stray inventory.Stray) answer {
	q, endpoint, err := w.Prober.Target(stray.Row())
	if err != nil {
		return unconfigured(err)
	}
	slots, caller := w.slots.At(endpoint.Region, endpoint.String()), w.payload.Caller.Caller()
	if err := slots.Acquire(ctx, caller); err != nil {
		return unsent(err)
	}
	defer slots.Release(caller)
	started := time.Now()
	ticket, err := w.Prober.Store.BeginStray(calling, stray, inventory.Write{
		APIVersion: q.Type.APIVersions[0], Sender: w.Sender, Incarnation: w.group.Incarnation, LateWriteWindow: q.Type.LateWriteWindow,
	})
	if err != nil {
		return unsent(err)
	}
	e := w.exchange(calling, q, endpoint, w.header(), started)
	if err := w.Prober.Store.SettleStray(context.WithoutCancel(calling), stray, ticket, e.settled); err != nil {
		return answer{result: plan.Result{Outcome: plan.OutcomeUnsent}, stale: true}
	}
	if e.answer.result.Outcome == plan.OutcomeRefused { // no other job follows its writes
		got, err := w.Prober.Get(calling, w.ids(), stray.Row())
		shown, readable := inventory.ReadObservation(got.Body)
		if err == nil && got.Status == http.StatusOK && readable && !index.Terminal(shown.ProvisioningState) {
			e.answer.result.Busy = "write"
		}
	}
	return e.answer
}

// nameOf returns the name of an endpoint.
func nameOf(e *regions.Endpoint) string { return e.Region + " " + e.String() }

// unsent returns the answer for a call that was not made. A refusal by the inventory
// means that the plan is stale.
func unsent(err error) answer {
	var state *index.GroupStateError
	return answer{
		result: plan.Result{Outcome: plan.OutcomeUnsent}, stale: errors.Is(err, inventory.ErrChanged),
		lost: errors.As(err, &state) || errors.Is(err, index.ErrGroupNotFound),
	}
}

// unconfigured returns the answer for a member that has no endpoint. If the map lacks
// its region, the member waits until the region comes back or is retired.
func unconfigured(err error) answer {
	a := answer{result: plan.Result{Outcome: plan.OutcomeRefused}, text: answers.FaultText(arm.NoRegisteredProviderFound, err.Error())}
	if missing := (locate.MissingEndpointError{}); errors.As(err, &missing) {
		a.result.Outcome, a.text = plan.OutcomeUnreachable, answers.FaultText(arm.NoRegisteredProviderFound, err.Error()+". "+locate.MissingRegionRemedy(missing.Region))
	}
	return a
}

// condition reads a resource's entity tag, so that the DELETE can remove only the
// present version. decided reports that no DELETE should be sent.
func (w *attempt) condition(ctx context.Context, row inventory.Resource, q *routing.Request, endpoint *regions.Endpoint, header http.Header) (a answer, decided bool) {
	asking := w.ids()
	asking.Set("Referer", answers.Referer(w.Prober.Public, q.Path.Escaped(), q.Query.Raw))
	got, err := w.Prober.Upstream.Read(ctx, upstream.Call{Endpoint: endpoint, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: asking})
	if err != nil {
		return w.unanswered(err, q), true
	}
	switch means, after := answers.Verdict(got.Status, got.Header, answers.About(got.Status, got.Body, row.ID)); means {
	case answers.Absent:
		return w.absent(ctx, row), true
	case answers.Later, answers.Unreachable:
		return answer{result: plan.Result{Outcome: plan.ByMeaning[means], After: after, Why: whyStatus(got.Status)}, text: answers.Text(got.Status, got.Body)}, true
	case answers.Done:
		if etag := got.Header.Get("ETag"); etag != "" {
			header.Set("If-Match", etag)
		}
	case answers.Accepted, answers.Refused:
	}
	return answer{}, false
}

// absent records that a GET found nothing of a row. If a write of unknown outcome keeps
// that from settling the row, the row may go with the group; if a create is followed,
// the deletion waits for its end.
func (w *attempt) absent(ctx context.Context, row inventory.Resource) answer {
	settled, generation, err := w.Prober.Store.Observe(ctx, row.Subscription, row.Key, row.Generation, inventory.Observation{})
	return absence(row, locate.ProbeResult{Settled: settled, Generation: generation}, err)
}

// absence returns what a probe that found nothing means for a member.
func absence(row inventory.Resource, probed locate.ProbeResult, err error) answer {
	switch {
	case err == nil && probed.Settled:
		return answer{result: plan.Result{Outcome: plan.OutcomeGone}}
	case err != nil || probed.Found || probed.Generation == [16]byte{}:
		return answer{result: plan.Result{Outcome: plan.OutcomeUnsent}, stale: true}
	case row.FollowPut:
		return answer{result: plan.Result{Outcome: plan.OutcomeUnproven}}
	}
	return answer{result: plan.Result{Outcome: plan.OutcomeGone}, absent: probed.Generation}
}

// unproven probes a resource whose DELETE found nothing while another write may
// overturn that.
func (w *attempt) unproven(ctx context.Context, row inventory.Resource) answer {
	probed, err := w.Prober.Probe(ctx, w.ids(), row)
	return absence(row, probed, err)
}

// exchanged is the outcome of a DELETE, for the inventory and for the plan.
type exchanged struct {
	settled inventory.Answer
	answer  answer
}

// exchange sends a DELETE. Once the request has left, exchange waits for its end even
// if the attempt is over.
func (w *attempt) exchange(ctx context.Context, q *routing.Request, endpoint *regions.Endpoint, header http.Header, started time.Time) exchanged {
	header.Set("Referer", answers.Referer(w.Prober.Public, q.Path.Escaped(), q.Query.Raw))
	header.Set(tracing.SystemDataHeader, w.payload.Caller.LastModified(w.now()))
	got, err := w.Prober.Upstream.Send(ctx, upstream.Call{
		Endpoint: endpoint, Method: http.MethodDelete, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header,
		Since: started, SendWithin: w.SendWithin, EndWithin: w.CallLimit, Job: w.claim.Job.Name(),
	})
	sent := answers.Write{Kind: index.Delete, ID: q.ID(), Endpoint: endpoint, Public: w.Prober.Public, Caller: w.payload.Caller}
	e, status := exchanged{settled: sent.Read(got, err)}, got.Status
	if status == 0 {
		e.answer = w.unanswered(err, q)
		return e
	}
	means, after := answers.Verdict(status, got.Header, e.settled.Outcome == index.Gone)
	e.answer.result = plan.Result{Outcome: plan.ByMeaning[means], After: after, Why: whyStatus(status)}
	switch {
	case answers.BrokenOff(err):
		e.answer = w.unanswered(&upstream.Fault{Sent: true, Region: endpoint.Region, Err: err}, q)
	case e.answer.result.Outcome != plan.OutcomeAccepted && e.answer.result.Outcome != plan.OutcomeGone:
		e.answer.text = answers.Text(status, got.Body)
		e.settled.Error = answers.Error(status, e.answer.text)
	}
	if status == http.StatusPreconditionFailed && header.Get("If-Match") != "" {
		e.answer.result.Outcome = plan.OutcomeUnsent // the resource has changed since the GET
	}
	return e
}

// unanswered returns the answer for a call without one: its region is unreachable,
// unless the call came too late to be made.
func (w *attempt) unanswered(err error, q *routing.Request) answer {
	fault := upstream.FaultOf(err, "")
	if fault.TooLate() || errors.Is(err, context.Canceled) {
		return answer{result: plan.Result{Outcome: plan.OutcomeUnsent}}
	}
	return answer{result: plan.Result{Outcome: plan.OutcomeUnreachable, Why: "Its provider gave no answer."}, text: string(fault.ARM(q.Type.Provider.Namespace).Body())}
}

// whyStatus puts a provider's answer into a sentence.
func whyStatus(status int) string { return "Its provider answered " + strconv.Itoa(status) + "." }
