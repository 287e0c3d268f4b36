package groupdelete

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs/deletion"
	"portico/jobs/deletion/deletionplan"
	"portico/probe"
	"portico/regions"
	"portico/routing"
	"portico/tracing"
	"portico/upstream"
	"portico/upstream/answers"
)

// Call implements [deletion.Kind].
func (w *attempt) Call(m *deletionplan.Resource) deletion.Sender {
	key := m.Key
	if stray, is := w.strays[key]; is {
		return func(ctx, calling context.Context) deletion.CallResult { return w.callStray(ctx, calling, stray) }
	}
	return func(ctx, calling context.Context) deletion.CallResult { return w.callRow(ctx, calling, key) }
}

// callRow sends one DELETE for the resource of a row.
func (w *attempt) callRow(ctx, calling context.Context, key string) deletion.CallResult {
	row, err := w.Prober.Store.Resource(ctx, w.claim.Job.Subscription, key)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return deletion.Result(deletionplan.OutcomeGone)
	case err != nil:
		return unsent(err)
	case deletion.Followed(row):
		return deletion.Result(deletionplan.OutcomeUnproven)
	}
	return w.callEndpoint(ctx, row, func(q *routing.Request, endpoint *regions.Endpoint) deletion.CallResult {
		return w.callAt(ctx, calling, row, q, endpoint)
	})
}

// callEndpoint calls the endpoint of a resource once there is room.
func (w *attempt) callEndpoint(ctx context.Context, row inventory.Resource, call func(*routing.Request, *regions.Endpoint) deletion.CallResult) deletion.CallResult {
	q, endpoint, err := w.Prober.Target(row)
	if err != nil {
		a, _ := deletion.Unconfigured(err)
		return a
	}
	slots, caller := w.slots.At(endpoint.Region, endpoint.String()), w.payload.Caller.Caller()
	if err := slots.Acquire(ctx, caller); err != nil {
		return unsent(err)
	}
	defer slots.Release(caller)
	return call(q, endpoint)
}

func (w *attempt) callAt(ctx, calling context.Context, row inventory.Resource, q *routing.Request, endpoint *regions.Endpoint) deletion.CallResult {
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
	ticket, err := w.Prober.Store.Begin(calling, inventory.Write{
		Kind: index.Delete, Subscription: row.Subscription, Group: row.Group, Key: row.Key, ID: row.ID, Type: row.Type, TypeName: row.TypeName,
		Region: row.Region, APIVersion: row.APIVersion, Sender: w.Sender, Incarnation: w.group.Incarnation, OfGroupDelete: true,
		Generation: row.Generation, LateWriteWindow: q.Type.LateWriteWindow,
	})
	if err != nil {
		return unsent(err)
	}
	failpoint.Pass(failpoint.GroupBeginAfter)
	a, means := w.exchange(calling, q, endpoint, header, started)
	failpoint.Pass(failpoint.GroupSettleBefore)
	settled, err := w.Prober.Store.Settle(context.WithoutCancel(calling), ticket, means)
	failpoint.Pass(failpoint.GroupSettleAfter)
	switch {
	case err != nil: // the intent expires; until then the row shows the resource
		return stale()
	case settled.Row == nil:
	case a.Outcome == deletionplan.OutcomeGone: // another write may overturn it
		return w.probeUnproven(context.WithoutCancel(calling), *settled.Row)
	case a.Outcome == deletionplan.OutcomeRefused && deletion.Followed(*settled.Row): // by another's DELETE
		a.Outcome = deletionplan.OutcomeUnproven
	default:
		a.Busy = cmp.Or(row.WriteUnderWay(), settled.Row.WriteUnderWay())
	}
	return a
}

// callStray sends one DELETE for a stray, to the region where it was seen.
func (w *attempt) callStray(ctx, calling context.Context, stray inventory.Stray) deletion.CallResult {
	return w.callEndpoint(ctx, stray.Row(), func(q *routing.Request, endpoint *regions.Endpoint) deletion.CallResult {
		started := time.Now()
		ticket, err := w.Prober.Store.Strays.BeginDelete(calling, stray, inventory.Write{
			APIVersion: q.Type.APIVersions[0], Sender: w.Sender, Incarnation: w.group.Incarnation, LateWriteWindow: q.Type.LateWriteWindow,
		})
		if err != nil {
			return unsent(err)
		}
		a, means := w.exchange(calling, q, endpoint, w.header(), started)
		if err := w.Prober.Store.Strays.SettleDelete(context.WithoutCancel(calling), stray, ticket, means); err != nil {
			return stale()
		}
		if a.Outcome == deletionplan.OutcomeRefused { // no other job follows its writes
			got, err := w.Prober.Get(calling, w.readHeader(), stray.Row())
			shown, readable := inventory.ReadObservation(got.Body)
			if err == nil && got.Status == http.StatusOK && readable && !index.Terminal(shown.ProvisioningState) {
				a.Busy = "write"
			}
		}
		return a
	})
}

// header returns the headers of a DELETE: its ids, and the caller that it is made for.
func (w *attempt) header() http.Header {
	header := w.readHeader()
	w.payload.Caller.Stamp(header)
	return header
}

// unsent returns the result of a call that was not made. If the inventory refused it, the queue
// is stale, or the group no longer belongs to the job.
func unsent(err error) deletion.CallResult {
	a := deletion.Result(deletionplan.OutcomeUnsent)
	a.Stale = errors.Is(err, inventory.ErrChanged)
	var state *index.GroupStateError
	if errors.As(err, &state) || errors.Is(err, index.ErrGroupNotFound) {
		a.Err = errLost
	}
	return a
}

// stale returns the result of a call whose outcome could not be recorded.
func stale() deletion.CallResult {
	a := deletion.Result(deletionplan.OutcomeUnsent)
	a.Stale = true
	return a
}

// condition reads a resource's entity tag, so that the DELETE can remove only the
// present version. decided reports that no DELETE should be sent.
func (w *attempt) condition(
	ctx context.Context, row inventory.Resource, q *routing.Request, endpoint *regions.Endpoint, header http.Header,
) (a deletion.CallResult, decided bool) {
	asking := w.readHeader()
	asking.Set("Referer", answers.Referer(w.Prober.Public, q.Path.Escaped(), q.Query.Raw))
	got, err := w.Prober.Upstream.Read(ctx, upstream.Call{Endpoint: endpoint, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: asking})
	if err != nil {
		return unanswered(err, q), true
	}
	switch means, after := answers.Verdict(got.Status, got.Header, answers.ConcernsResource(got.Status, got.Body, row.ID)); means {
	case answers.Absent:
		return w.recordAbsent(ctx, row), true
	case answers.Later, answers.Unreachable:
		a.Result, a.Text = deletionplan.Result{Outcome: deletionplan.ByMeaning[means], After: after, Why: whyStatus(got.Status)}, answers.Text(got.Status, got.Body)
		return a, true
	case answers.Done:
		if etag := got.Header.Get("ETag"); etag != "" {
			header.Set("If-Match", etag)
		}
	case answers.Accepted, answers.Refused:
	}
	return a, false
}

// recordAbsent records that a GET found nothing of a row. If a write of unknown outcome keeps
// that from settling the row, the row may go with the group; if a create is followed,
// the deletion waits for its end.
func (w *attempt) recordAbsent(ctx context.Context, row inventory.Resource) deletion.CallResult {
	settled, generation, err := w.Prober.Store.Observe(ctx, row.Subscription, row.Key, row.Generation, inventory.Observation{})
	return w.absenceResult(row, probe.ProbeResult{Settled: settled, Generation: generation}, err)
}

// absenceResult returns the result for a resource after a probe that found nothing.
func (w *attempt) absenceResult(row inventory.Resource, probed probe.ProbeResult, err error) deletion.CallResult {
	switch {
	case err == nil && probed.Settled:
		return deletion.Result(deletionplan.OutcomeGone)
	case err != nil || probed.Found || probed.Generation == [16]byte{}:
		return stale()
	case row.FollowPut:
		return deletion.Result(deletionplan.OutcomeUnproven)
	}
	a := deletion.Result(deletionplan.OutcomeGone)
	a.Apply = func() { w.gone[row.Key] = probed.Generation }
	return a
}

// probeUnproven probes a resource whose DELETE found nothing while another write may
// overturn that.
func (w *attempt) probeUnproven(ctx context.Context, row inventory.Resource) deletion.CallResult {
	probed, err := w.Prober.Probe(ctx, w.readHeader(), row)
	return w.absenceResult(row, probed, err)
}

// exchange sends a DELETE, and returns its result for the queue and for the inventory.
// Once the request has left, exchange waits for its end even if the attempt is over.
func (w *attempt) exchange(
	ctx context.Context, q *routing.Request, endpoint *regions.Endpoint, header http.Header, started time.Time,
) (a deletion.CallResult, settled inventory.WriteResult) {
	header.Set("Referer", answers.Referer(w.Prober.Public, q.Path.Escaped(), q.Query.Raw))
	header.Set(tracing.SystemDataHeader, w.payload.Caller.LastModified(w.now()))
	got, err := w.Prober.Upstream.Send(ctx, upstream.Call{
		Endpoint: endpoint, Method: http.MethodDelete, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header,
		Since: started, SendWithin: w.SendWithin, EndWithin: w.CallLimit, Job: w.claim.Job.Name(),
	})
	sent := answers.Write{Kind: index.Delete, ID: q.ID(), Endpoint: endpoint, Public: w.Prober.Public, Caller: w.payload.Caller}
	settled = sent.Read(got, err)
	if got.Status == 0 {
		return unanswered(err, q), settled
	}
	means, after := answers.Verdict(got.Status, got.Header, settled.Outcome == index.Gone)
	a.Result = deletionplan.Result{Outcome: deletionplan.ByMeaning[means], After: after, Why: whyStatus(got.Status)}
	switch {
	case answers.StatusUntrusted(err):
		a = unanswered(&upstream.Fault{Sent: true, Region: endpoint.Region, Err: err}, q)
	case a.Outcome != deletionplan.OutcomeAccepted && a.Outcome != deletionplan.OutcomeGone:
		a.Text = answers.Text(got.Status, got.Body)
		settled.Error = answers.Error(got.Status, a.Text)
	}
	if got.Status == http.StatusPreconditionFailed && header.Get("If-Match") != "" {
		a.Outcome = deletionplan.OutcomeUnsent // the resource has changed since the GET
	}
	return a, settled
}

// unanswered returns the result of a call without an answer: its region is unreachable, unless
// the call came too late to be made.
func unanswered(err error, q *routing.Request) deletion.CallResult {
	fault := upstream.FaultOf(err, "")
	if fault.TooLate() || errors.Is(err, context.Canceled) {
		return deletion.Result(deletionplan.OutcomeUnsent)
	}
	a := deletion.Result(deletionplan.OutcomeUnreachable)
	a.Why, a.Text = "Its provider gave no answer.", string(fault.ARM(q.Type.Provider.Namespace).Body())
	return a
}

// whyStatus returns a sentence about the status of a provider's answer.
func whyStatus(status int) string { return "Its provider answered " + strconv.Itoa(status) + "." }
