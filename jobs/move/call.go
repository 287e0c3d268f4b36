package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs"
	"portico/jobs/move/moveplan"
	"portico/limits"
	"portico/probe"
	"portico/regions"
	"portico/routing"
	"portico/tracing"
	"portico/tracing/spans"
	"portico/upstream"
	"portico/upstream/answers"
)

// probesAtOnce bounds the concurrent probes of one call's resources.
const probesAtOnce = 8

// update applies the outcome of a task to the plan.
type update func(now time.Time)

// execute executes all tasks concurrently and records their outcomes. None starts once
// ctx has ended; tasks that have started go on for a while.
func (w *attempt) execute(ctx context.Context, tasks []moveplan.Task) error {
	calling, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(jobs.RecordTime, cut) })
	defer stop()
	var (
		at      sync.WaitGroup
		mu      sync.Mutex
		updates []update
		panics  error // guarded by mu, like updates
		failed  error
	)
	do := func(work func() update) {
		at.Go(func() {
			var result update
			p := limits.CatchPanic(func() { result = work() })
			mu.Lock()
			defer mu.Unlock()
			if p != nil { // the call's outcome is as open as after a crash
				panics = errors.Join(panics, p)
				return
			}
			updates = append(updates, result)
		})
	}
	for _, task := range tasks {
		if failed != nil || ctx.Err() != nil {
			break
		}
		c := task.Call
		switch task.Action {
		case moveplan.ActionSend:
			var send func(context.Context) update
			if send, failed = w.begin(ctx, c); send != nil {
				do(withSpan(calling, "step move", send))
			}
		case moveplan.ActionPoll:
			do(withSpan(calling, "step poll", func(ctx context.Context) update { return w.poll(ctx, c) }))
		case moveplan.ActionProbe:
			do(withSpan(calling, "step verify", func(ctx context.Context) update { return w.probeResources(ctx, c) }))
		}
	}
	at.Wait()
	failed = errors.Join(failed, panics)
	for _, recorded := range updates {
		recorded(w.now())
	}
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), jobs.RecordTime)
	defer cancel()
	if err := w.settle(recording); err != nil {
		return errors.Join(failed, err)
	}
	if err := w.save(recording); err != nil {
		return errors.Join(failed, err)
	}
	if failed == nil && ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	return failed
}

// withSpan gives a task's work a span of its own.
func withSpan(ctx context.Context, name string, work func(context.Context) update) func() update {
	return func() update {
		ctx, span := spans.Begin(ctx, spans.JobStep, name)
		defer span.End()
		return work(ctx)
	}
}

// begin records that a call is about to be made, and returns the function that makes
// it; nil if the call must not be made after all.
func (w *attempt) begin(ctx context.Context, c *moveplan.Call) (func(context.Context) update, error) {
	q, endpoint, err := w.target(c)
	if err != nil {
		w.plan.OnResult(c, moveplan.Result{Outcome: moveplan.OutcomeNotSent, Unreachable: true}, w.now())
		return nil, nil //nolint:nilerr // the map lacks the region, for now
	}
	before, started, now := *c, time.Now(), w.now()
	c.Sent(now.Add(w.SendWithin + w.CallTimeout + w.CallMargin + w.window(c)))
	var ids []string
	order := inventory.MoveCall{Source: w.payload.Source, Target: w.payload.Target, APIVersion: c.Version, Sender: w.Sender}
	for _, m := range c.Open() {
		ids = append(ids, m.ID)
		order.Members = append(order.Members, c.InventoryRow(m))
	}
	failpoint.Pass(failpoint.MoveBeginBefore)
	err = w.Prober.Store.Moves.BeginCall(ctx, &w.claim.Job, order, w.render())
	switch {
	case errors.Is(err, inventory.ErrChanged), errors.Is(err, inventory.ErrTargetOccupied):
		*c = before
		return nil, w.revise(ctx, c)
	case errors.Is(err, inventory.ErrSubscriptionNotFound):
		*c = before
		w.plan.Stop(answers.FaultText(arm.SubscriptionNotFound,
			"The subscription of the source or of the target was deleted before the provider was told of the move."))
		return nil, nil
	case err != nil:
		*c = before
		return nil, err
	}
	failpoint.Pass(failpoint.MoveBeginAfter)
	return func(ctx context.Context) update {
		result := w.exchange(ctx, c, q, endpoint, contentOf(w.to, ids), started)
		return func(now time.Time) {
			w.metrics.calls.WithLabelValues(result.Outcome.String()).Inc()
			w.logCall(c, result)
			w.plan.OnResult(c, result, now)
		}
	}, nil
}

// revise finds the resources of a call that can no longer move.
func (w *attempt) revise(ctx context.Context, c *moveplan.Call) error {
	for _, m := range c.Open() {
		review := w.reviewRow
		if m.Stray {
			review = w.reviewStray
		}
		var err error
		if m.Decided, m.Error, err = review(ctx, c, m); err != nil {
			return err
		}
	}
	c.Due = w.now().Add(w.Floor)
	return nil
}

// reviewRow decides whether a row can still move and, if not, its state and the reason.
func (w *attempt) reviewRow(ctx context.Context, c *moveplan.Call, m *moveplan.Resource) (moveplan.State, string, error) {
	row, err := w.Prober.Store.Resource(ctx, w.from.Subscription, m.Key)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return moveplan.Gone, absentText(m.ID), nil
	case err != nil:
		return moveplan.Open, "", fmt.Errorf("read a resource that moves: %w", err)
	case row.Phase != index.Live || row.FollowDelete || row.Region != c.Region:
		return moveplan.Stayed, answers.FaultText("RequestConflict", "The resource is being deleted, or was made anew."), nil
	}
	order := inventory.MoveCall{Source: w.payload.Source, Target: w.payload.Target}
	taken, err := w.targetOccupied(ctx, order.MovedRow(row, w.to).Key)
	if err != nil || !taken {
		return moveplan.Open, "", err
	}
	return moveplan.Stayed, answers.FaultText("RequestConflict", "The target resource group has a resource of this ID."), nil
}

// reviewStray decides the same for a stray: Portico may have seen that its region no longer
// holds it.
func (w *attempt) reviewStray(ctx context.Context, c *moveplan.Call, m *moveplan.Resource) (moveplan.State, string, error) {
	strays, err := w.Prober.Store.Strays.List(ctx, w.from.Subscription, w.from.Key)
	if err != nil || slices.ContainsFunc(strays, func(s inventory.Stray) bool { return s.Key == m.Key && s.Region == c.Region }) {
		return moveplan.Open, "", err
	}
	return moveplan.Gone, absentText(m.ID), nil
}

// targetOccupied reports whether the target has a resource with a key, or one below it.
func (w *attempt) targetOccupied(ctx context.Context, key string) (bool, error) {
	_, err := w.Prober.Store.Resource(ctx, w.to.Subscription, key)
	if !errors.Is(err, inventory.ErrNotFound) {
		return err == nil, err
	}
	next, err := w.Prober.Store.Resources(ctx, inventory.ResourceQuery{Subscription: w.to.Subscription, Group: w.to.Key, After: key + "/", Limit: 1})
	return len(next) > 0 && strings.HasPrefix(next[0].Key, key+"/"), err
}

// target returns the request of a call, and its endpoint.
func (w *attempt) target(c *moveplan.Call) (*routing.Request, *regions.Endpoint, error) {
	return w.targetOf(c, w.from, "moveResources")
}

// targetOf builds the request of an action: its path names the source group.
func (k *Mover) targetOf(c *moveplan.Call, from inventory.Group, action string) (*routing.Request, *regions.Endpoint, error) {
	_, endpoint, err := k.Prober.Target(c.Row(c.Resources[0], from.Subscription))
	if err != nil {
		return nil, nil, err
	}
	q, fault := routing.ClassifyID(k.Prober.Map, http.MethodPost, routing.GroupID(from.Subscription, from.Name)+"/"+action)
	if fault != nil {
		return nil, nil, fault
	}
	q.Query.Raw = "api-version=" + c.Version
	return q, endpoint, nil
}

// window returns how long a call without an answer may still take effect.
func (w *attempt) window(c *moveplan.Call) (longest time.Duration) {
	for _, m := range c.Resources {
		window := w.LateWriteWindow
		if q, _, err := w.Prober.Target(c.Row(m, w.from.Subscription)); err == nil && q.Type.LateWriteWindow > 0 {
			window = q.Type.LateWriteWindow
		}
		longest = max(longest, window)
	}
	return longest
}

func contentOf(to inventory.Group, ids []string) []byte {
	text, err := json.Marshal(struct {
		Target    string   `json:"targetResourceGroup"`
		Resources []string `json:"resources"`
	}{routing.GroupID(to.Subscription, to.Name), ids})
	if err != nil { // strings always have a JSON form
		return nil
	}
	return text
}

// header returns the headers of a call: its ids, and the caller that it is made for.
func (k *Mover) header(p *Payload) http.Header {
	header := p.Header(k.Region)
	p.Caller.Stamp(header)
	header.Set("Referer", answers.Referer(k.Prober.Public, p.Path, p.Query))
	return header
}

// exchange sends a call. Once the request has left, exchange waits for its end even if
// the attempt is over.
func (w *attempt) exchange(ctx context.Context, c *moveplan.Call, q *routing.Request, to *regions.Endpoint, content []byte, started time.Time) moveplan.Result {
	header := w.header(w.payload)
	header.Set(tracing.SystemDataHeader, w.payload.Caller.LastModified(w.payload.Started)) // the same for every resource of a move
	header.Set("Content-Type", "application/json; charset=utf-8")
	got, err := w.Prober.Upstream.Send(ctx, upstream.Call{
		Endpoint: to, Method: http.MethodPost, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header, Content: content,
		Since: started, SendWithin: w.SendWithin, EndWithin: w.CallTimeout + w.CallMargin, Job: w.claim.Job.Name(),
	})
	if got.Status == 0 {
		return unanswered(err, c)
	}
	read := w.read(w.payload, to, got, err)
	result := resultOf(read, got.Header)
	switch {
	case answers.StatusUntrusted(err):
	case result.Outcome == moveplan.OutcomeAccepted && read.Poll != nil:
		result.Poll = &moveplan.Poll{Path: read.Poll.Path, Query: read.Poll.Query, Status: read.Poll.Status}
	case result.Outcome != moveplan.OutcomeAccepted && result.Outcome != moveplan.OutcomeMoved:
		result.Text = answers.Text(got.Status, got.Body)
	}
	return result
}

// read reads the answer to a call of a move, or of its validation.
func (k *Mover) read(p *Payload, from *regions.Endpoint, got upstream.Answer, err error) inventory.WriteResult {
	return answers.Write{Kind: index.Move, Endpoint: from, Public: k.Prober.Public, Caller: p.Caller}.Read(got, err)
}

// outcomeOf maps the verdict on an answer to the outcome of its call.
var outcomeOf = [...]moveplan.Outcome{
	answers.Done: moveplan.OutcomeMoved, answers.Accepted: moveplan.OutcomeAccepted, answers.Absent: moveplan.OutcomeRefused, answers.Refused: moveplan.OutcomeRefused,
	answers.Later: moveplan.OutcomeThrottled, answers.Unreachable: moveplan.OutcomeAmbiguous,
}

// resultOf returns the result of a call from its answer. A 404 refuses the call; it does not mean
// that a resource is gone.
func resultOf(answer inventory.WriteResult, header http.Header) moveplan.Result {
	means, after := answers.Verdict(answer.Status, header, true)
	if answer.Outcome == index.Ambiguous { // it may have moved some
		return moveplan.Result{Outcome: moveplan.OutcomeAmbiguous, After: after}
	}
	return moveplan.Result{Outcome: outcomeOf[means], After: after}
}

// unanswered returns the result of a call without an answer.
func unanswered(err error, c *moveplan.Call) moveplan.Result {
	fault := upstream.FaultOf(err, c.Region)
	result := moveplan.Result{Outcome: moveplan.OutcomeAmbiguous, Unreachable: !fault.TooLate(), Text: string(fault.ARM(c.Namespace).Body())}
	if !fault.Sent {
		result.Outcome = moveplan.OutcomeNotSent
	}
	return result
}

// poll polls the operation of a call.
func (w *attempt) poll(ctx context.Context, c *moveplan.Call) update {
	result := moveplan.Result{Outcome: moveplan.OutcomeNotSent, Unreachable: true}
	if _, endpoint, err := w.target(c); err == nil {
		result = w.pollCall(ctx, c, endpoint, w.payload)
	}
	return func(now time.Time) {
		if result.Outcome != moveplan.OutcomeAccepted && result.Outcome != moveplan.OutcomeNotSent {
			w.metrics.calls.WithLabelValues(result.Outcome.String()).Inc()
			w.logCall(c, result)
		}
		w.plan.OnResult(c, result, now)
	}
}

// pollCall polls the operation of a call.
func (k *Mover) pollCall(ctx context.Context, c *moveplan.Call, endpoint *regions.Endpoint, p *Payload) moveplan.Result {
	answer, err := k.Prober.Read(ctx, k.header(p), endpoint, c.Poll.Path, c.Poll.Query)
	if err != nil {
		return moveplan.Result{Outcome: moveplan.OutcomeNotSent, Unreachable: true}
	}
	result := moveplan.Result{Outcome: moveplan.OutcomeAccepted, After: answers.RetryAfter(answer.Header)}
	progress, failure := answers.ReadPoll(c.Poll.Status, answer.Status, answer.Body)
	switch progress {
	case index.PollMissing:
		result.Outcome = moveplan.OutcomeLost
	case index.PollFinished, index.PollRefused:
		result.Outcome, result.Text = moveplan.OutcomeOver, failure
	case index.PollRunning:
		if next, own := answers.OwnLink(answer.Header.Get("Location"), k.Prober.Public, endpoint); own && !c.Poll.Status &&
			answer.Status == http.StatusAccepted {
			result.Poll = &moveplan.Poll{Path: next.EscapedPath(), Query: next.RawQuery}
		}
	case index.PollUnclear:
	case index.PollFailed:
		result.Outcome = moveplan.OutcomeNotSent
	}
	return result
}

// probeResources probes all open resources of a call at their old and their new place.
func (w *attempt) probeResources(ctx context.Context, c *moveplan.Call) update {
	probed, members := w.now(), c.Open()
	seen := make([]moveplan.Presence, len(members))
	twins := make([]*inventory.Discovery, len(members))
	limits.ForEach(probesAtOnce, len(members), func(i int) {
		seen[i], twins[i] = w.probeBothIDs(ctx, c, members[i], probed)
	})
	return func(now time.Time) {
		answered := false
		for i, m := range members {
			answered = answered || seen[i].Known
			m.Twin = twins[i]
			c.Observe(m, seen[i], probed)
		}
		w.plan.Conclude(c, answered, now)
	}
}

// probeBothIDs probes one resource under both of its IDs.
func (w *attempt) probeBothIDs(ctx context.Context, c *moveplan.Call, m *moveplan.Resource, probed time.Time) (s moveplan.Presence, twin *inventory.Discovery) {
	row := c.Row(m, w.from.Subscription)
	order := inventory.MoveCall{Source: w.payload.Source, Target: w.payload.Target}
	for i, at := range [...]inventory.Resource{row, order.MovedRow(row, w.to)} {
		q, endpoint, err := w.Prober.Target(at)
		if err != nil {
			return moveplan.Presence{}, nil
		}
		answer, err := w.Prober.Get(ctx, w.header(w.payload), at)
		if err != nil {
			return moveplan.Presence{}, nil
		}
		there := answer.Status == http.StatusOK
		if shown, _ := inventory.ReadObservation(answer.Body); there && !index.Terminal(shown.ProvisioningState) {
			s.Working = true
		}
		if i == 0 {
			s.Old = there
			continue
		}
		if s.New = there; there && s.Old {
			seen := probe.NewDiscovery(w.Prober.Map, q, endpoint.Region, c.Version, answer.Body, probed)
			twin = &seen
		}
	}
	s.Known = true
	return s, twin
}
