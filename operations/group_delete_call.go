package operations

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"portico/arm"
	"portico/failpoint"
	"portico/fanout"
	"portico/inventory"
	"portico/limits"
	"portico/locate"
	"portico/regions"
	"portico/routing"
	"portico/tracing"
	"portico/upstream"
)

// longestPause bounds what an answer can ask for (async reference, 202 Accepted
// and Location Headers).
const longestPause = 10 * time.Minute

// errorBytes bounds what is kept of a provider's words.
const errorBytes = 4 << 10

// callRow deletes the resource of a row, once.
func (w *deletionWork) callRow(ctx, calling context.Context, key string) answer {
	store := w.Asker.Store
	row, err := store.Resource(ctx, w.held.Job.Subscription, key)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return answer{said: said{result: resultGone}}
	case err != nil:
		return unsent(err)
	case followed(row):
		return answer{said: said{result: resultAccepted}}
	}
	q, endpoint, err := w.Asker.Target(row)
	if err != nil {
		return unconfigured(err)
	}
	release, err := w.slots.slot(ctx, endpoint, w.payload.Caller.Caller())
	if err != nil {
		return unsent(err)
	}
	defer release()
	header := w.header()
	if q.Type.Capabilities.ETags {
		a, decided := w.condition(ctx, row, q, endpoint, header)
		if decided {
			return a
		}
	}
	begun := time.Now()
	if err := ctx.Err(); err != nil {
		return unsent(err)
	}
	failpoint.Pass(failpoint.GroupBeginBefore)
	ticket, err := store.Begin(calling, inventory.Write{
		Kind: inventory.Delete, Subscription: row.Subscription, Group: row.Group, Key: row.Key, ID: row.ID, Type: row.Type, TypeName: row.TypeName,
		Region: row.Region, APIVersion: row.APIVersion, Sender: w.Sender, Incarnation: w.group.Incarnation, OfGroupDelete: true,
		Generation: row.Generation, LateWriteWindow: q.Type.LateWriteWindow,
	})
	if err != nil {
		return unsent(err)
	}
	failpoint.Pass(failpoint.GroupBeginAfter)
	e := w.exchange(calling, q, endpoint, header, begun)
	failpoint.Pass(failpoint.GroupSettleBefore)
	settled, err := store.Settle(context.WithoutCancel(calling), ticket, e.settled)
	failpoint.Pass(failpoint.GroupSettleAfter)
	switch {
	case err != nil: // the intent ends by time; the row says that it is there
		return answer{said: said{result: resultUnsent}, look: true}
	case e.answer.said.result == resultGone && settled.Row != nil: // another write may overturn it
		return w.unproven(context.WithoutCancel(calling), *settled.Row)
	}
	return e.answer
}

// callStray deletes a stray at the region where it was seen, once.
func (w *deletionWork) callStray(ctx, calling context.Context, stray inventory.Stray) answer {
	q, endpoint, err := w.Asker.Target(rowOf(stray))
	if err != nil {
		return unconfigured(err)
	}
	release, err := w.slots.slot(ctx, endpoint, w.payload.Caller.Caller())
	if err != nil {
		return unsent(err)
	}
	defer release()
	begun := time.Now()
	ticket, err := w.Asker.Store.BeginStray(calling, stray, inventory.Write{
		APIVersion: q.Type.APIVersions[0], Sender: w.Sender, Incarnation: w.group.Incarnation, LateWriteWindow: q.Type.LateWriteWindow,
	})
	if err != nil {
		return unsent(err)
	}
	e := w.exchange(calling, q, endpoint, w.header(), begun)
	if err := w.Asker.Store.SettleStray(context.WithoutCancel(calling), stray, ticket, e.settled); err != nil {
		return answer{said: said{result: resultUnsent}, look: true}
	}
	return e.answer
}

// endpointSlots are the calls that each endpoint may have under way on one replica,
// and of them those for one caller.
type endpointSlots struct {
	all, perCaller int
	mu             sync.Mutex
	slots          map[string]*limits.Concurrency
}

func newEndpointSlots(all, perCaller int) *endpointSlots {
	return &endpointSlots{all: max(all, perCaller), perCaller: perCaller, slots: map[string]*limits.Concurrency{}}
}

func (s *endpointSlots) of(to *regions.Endpoint) *limits.Concurrency {
	name := to.Region + " " + to.String()
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := s.slots[name]
	if slots == nil {
		slots = limits.NewConcurrency(s.all, s.perCaller, nil)
		s.slots[name] = slots
	}
	return slots
}

// slot takes one of an endpoint's calls.
func (s *endpointSlots) slot(ctx context.Context, to *regions.Endpoint, caller string) (release func(), err error) {
	slots := s.of(to)
	if err := slots.Acquire(ctx, caller); err != nil {
		return nil, err
	}
	return func() { slots.Release(caller) }, nil
}

// unsent is a call that was not made. What the inventory refused has changed.
func unsent(err error) answer {
	var state *inventory.GroupStateError
	return answer{
		said: said{result: resultUnsent}, look: errors.Is(err, inventory.ErrChanged),
		lost: errors.As(err, &state) || errors.Is(err, inventory.ErrGroupNotFound),
	}
}

// unconfigured is a member that nobody can be called for. Where it is its region
// that the map lacks, it waits: the region comes back, or is retired.
func unconfigured(err error) answer {
	a := answer{said: said{result: resultRefused}, text: errorText("NoRegisteredProviderFound", err.Error())}
	if absent := (locate.MissingEndpointError{}); errors.As(err, &absent) {
		a.said.result, a.text = resultSilent, errorText("NoRegisteredProviderFound", err.Error()+". "+locate.MissingRegionRemedy(absent.Region))
	}
	return a
}

func errorText(code, message string) string {
	text, err := json.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}})
	if err != nil { // strings always have a JSON form
		return "{}"
	}
	return string(text)
}

// condition asks for a resource that has an entity tag, so that its delete can
// hit nothing but what is there now. decided tells that no delete is to be sent.
func (w *deletionWork) condition(ctx context.Context, row inventory.Resource, q *routing.Request, endpoint *regions.Endpoint, header http.Header) (a answer, decided bool) {
	header.Set("Referer", fanout.PublicLink(w.Asker.Public, q.Path.Escaped(), q.Query.Raw))
	got, err := w.Asker.Upstream.Read(ctx, upstream.Call{Endpoint: endpoint, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header})
	if err != nil {
		return w.faulty(err, q), true
	}
	switch {
	case got.Status == http.StatusOK:
		if etag := got.Header.Get("ETag"); etag != "" {
			header.Set("If-Match", etag)
		}
		return answer{}, false
	case got.Status == http.StatusNotFound && arm.SaysAbsent(got.Body, row.ID):
		return w.absent(ctx, row), true
	}
	if r := resultOf(got.Status, false); r == resultTransient || r == resultSilent {
		after, _ := upstream.RetryAfter(got.Header, time.Now())
		return answer{said: said{result: r, after: min(after, longestPause), why: whyStatus(got.Status)}, text: textOf(got.Status, got.Body)}, true
	}
	return answer{}, false
}

// absent records that a GET found nothing of a row. Where that does not settle it,
// as a write of unknown fate may yet make it come about, the row may go with the
// group; where a create is followed, its end is to be waited for.
func (w *deletionWork) absent(ctx context.Context, row inventory.Resource) answer {
	settled, generation, err := w.Asker.Store.Observe(ctx, row.Subscription, row.Key, row.Generation, inventory.Observation{})
	return absence(row, locate.ProbeResult{Settled: settled, Generation: generation}, err)
}

func absence(row inventory.Resource, sight locate.ProbeResult, err error) answer {
	switch {
	case err == nil && sight.Settled:
		return answer{said: said{result: resultGone}}
	case err != nil || sight.Found || sight.Generation == [16]byte{}:
		return answer{said: said{result: resultUnsent}, look: true}
	case row.FollowPut:
		return answer{said: said{result: resultUnproven}}
	}
	return answer{said: said{result: resultGone}, absent: sight.Generation}
}

// unproven asks for a resource whose DELETE found nothing, where another write may
// overturn that.
func (w *deletionWork) unproven(ctx context.Context, row inventory.Resource) answer {
	sight, err := w.Asker.Probe(ctx, w.header(), row)
	return absence(row, sight, err)
}

// exchanged is what came of a DELETE, for the inventory and for the plan.
type exchanged struct {
	settled inventory.Answer
	answer  answer
}

// exchange sends a DELETE. Once sent it is seen to its end.
func (w *deletionWork) exchange(ctx context.Context, q *routing.Request, endpoint *regions.Endpoint, header http.Header, begun time.Time) exchanged {
	header.Set("Referer", fanout.PublicLink(w.Asker.Public, q.Path.Escaped(), q.Query.Raw))
	header.Set(tracing.SystemDataHeader, systemData(w.payload.Caller, w.now()))
	response, err := w.Asker.Upstream.Do(ctx, upstream.Call{
		Endpoint: endpoint, Method: http.MethodDelete, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header,
		Since: begun, SendWithin: w.SendWithin, EndWithin: w.CallLimit, Job: w.held.Job.Name(),
	})
	if err != nil {
		e := exchanged{answer: w.faulty(err, q)}
		var fault *upstream.Fault
		if errors.As(err, &fault) && !fault.Sent {
			e.settled.Outcome = inventory.NotSent
		}
		return e
	}
	defer response.Body.Close()
	body, err := upstream.ReadAll(response.Header, response.Body, 1<<20)
	status := response.StatusCode
	absent := err == nil && status == http.StatusNotFound && arm.SaysAbsent(body, q.ID())
	e := exchanged{settled: inventory.Answer{Outcome: inventory.OutcomeOf(inventory.Delete, status, absent), Status: status}}
	e.answer.said.result = resultOf(status, absent)
	after, _ := upstream.RetryAfter(response.Header, time.Now())
	e.answer.said.after, e.answer.said.why = min(after, longestPause), whyStatus(status)
	switch {
	case err != nil && !errors.Is(err, upstream.ErrTooLarge): // what the status promised is not known
		e.settled.Outcome = inventory.Ambiguous
		e.answer = w.faulty(&upstream.Fault{Sent: true, Region: endpoint.Region, Err: err}, q)
	case e.answer.said.result == resultAccepted:
		e.settled.Poll = PollOf(response, w.Asker.Public, endpoint, w.payload.Caller)
	case e.answer.said.result != resultGone:
		e.answer.text = textOf(status, body)
	}
	if status == http.StatusPreconditionFailed && header.Get("If-Match") != "" {
		e.answer.said.result = resultUnsent // it has changed since it was asked for
	}
	return e
}

// resultOf reads the status of the answer to a DELETE.
func resultOf(status int, absent bool) result {
	switch {
	case status == http.StatusAccepted:
		return resultAccepted
	case status >= 200 && status < 300, status == http.StatusNotFound && absent:
		return resultGone
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return resultSilent
	case status == http.StatusNotFound: // whoever said it does not hold the resource
		return resultTransient
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500, status < 200:
		return resultTransient
	}
	return resultRefused
}

// faulty is a call that brought no answer: its region does not speak, unless
// the call came too late to be made.
func (w *deletionWork) faulty(err error, q *routing.Request) answer {
	var fault *upstream.Fault
	if !errors.As(err, &fault) {
		fault = &upstream.Fault{Sent: true, Err: err}
	}
	if fault.TooLate() || errors.Is(err, context.Canceled) {
		return answer{said: said{result: resultUnsent}}
	}
	return answer{said: said{result: resultSilent, why: "Its provider gave no answer."}, text: string(fault.ARM(q.Type.Provider.Namespace).Body())}
}

// whyStatus says in a sentence what a provider answered.
func whyStatus(status int) string { return "Its provider answered " + strconv.Itoa(status) + "." }

// textOf is what a provider said, or that it said nothing.
func textOf(status int, body []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD"))
	if text == "" {
		return errorText("InvalidProviderResponse", "The provider answered "+http.StatusText(status)+".")
	}
	if len(text) > errorBytes {
		text = strings.ToValidUTF8(text[:errorBytes], "")
	}
	return text
}
