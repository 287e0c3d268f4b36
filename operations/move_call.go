package operations

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
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

// asksAtOnce bounds the questions about the members of one call.
const asksAtOnce = 8

// heard is what came of a task, to be told to the plan.
type heard func(now time.Time)

// carryOut does all tasks at the same time, and records what came of them. None
// begins once ctx has ended; what was begun is seen to its end, for a while.
func (w *moveWork) carryOut(ctx context.Context, tasks []moveTask) error {
	calling, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(concludeTime, cut) })
	defer stop()
	var (
		at      sync.WaitGroup
		mu      sync.Mutex
		told    []heard
		broken  error // guarded by mu, as told is
		failure error
	)
	do := func(work func() heard) {
		at.Go(func() {
			var tell heard
			p := limits.CatchPanic(func() { tell = work() })
			mu.Lock()
			defer mu.Unlock()
			if p != nil { // what was sent is as after a crash
				broken = errors.Join(broken, p)
				return
			}
			told = append(told, tell)
		})
	}
	for _, task := range tasks {
		if failure != nil || ctx.Err() != nil {
			break
		}
		c := task.call
		switch task.step {
		case stepSend:
			var send func() heard
			if send, failure = w.begin(ctx, calling, c); send != nil {
				do(send)
			}
		case stepPoll:
			do(func() heard { return w.poll(calling, c) })
		case stepAsk:
			do(func() heard { return w.ask(calling, c) })
		}
	}
	at.Wait()
	failure = errors.Join(failure, broken)
	for _, tell := range told {
		tell(w.now())
	}
	recording, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTime)
	defer cancel()
	if err := w.settle(recording); err != nil {
		return errors.Join(failure, err)
	}
	if err := w.save(recording); err != nil {
		return errors.Join(failure, err)
	}
	if failure == nil && ctx.Err() != nil {
		failure = context.Cause(ctx)
	}
	return failure
}

// begin records that a call is about to be made, and returns what makes it; nil
// where it is not to be made after all.
func (w *moveWork) begin(ctx, calling context.Context, c *MovingCall) (func() heard, error) {
	q, endpoint, err := w.target(c)
	if err != nil {
		w.plan.hear(c, moveSaid{result: moveNotSent, silent: true}, w.now())
		return nil, nil //nolint:nilerr // the map lacks the region, for now
	}
	before, begun, now := *c, time.Now(), w.now()
	c.sent(now.Add(w.SendWithin + w.CallTimeout + w.CallMargin + w.window(c)))
	var ids []string
	order := inventory.MoveCall{Source: w.payload.Source, Target: w.payload.Target, APIVersion: c.Version, Sender: w.Sender}
	for _, m := range c.open() {
		ids = append(ids, m.ID)
		order.Members = append(order.Members, c.inventoryMember(m))
	}
	failpoint.Pass(failpoint.MoveBeginBefore)
	err = w.Asker.Store.BeginMoveCall(ctx, &w.held.Job, order, w.render())
	switch {
	case errors.Is(err, inventory.ErrChanged), errors.Is(err, inventory.ErrTaken):
		*c = before
		return nil, w.revise(ctx, c)
	case errors.Is(err, inventory.ErrSubscriptionNotFound):
		*c = before
		w.plan.stop(errorText(string(arm.SubscriptionNotFound), "The subscription of the source or of the target was deleted before the provider was told of the move."))
		return nil, nil
	case err != nil:
		*c = before
		return nil, err
	}
	failpoint.Pass(failpoint.MoveBeginAfter)
	return func() heard {
		said := w.exchange(calling, c, q, endpoint, moveContent(w.to, ids), begun)
		return func(now time.Time) {
			w.metrics.calls.WithLabelValues(said.result.String()).Inc()
			w.noteCall(c, said)
			w.plan.hear(c, said, now)
		}
	}, nil
}

// revise finds the members of a call that cannot move any more.
func (w *moveWork) revise(ctx context.Context, c *MovingCall) error {
	for _, m := range c.open() {
		review := w.reviewRow
		if m.Stray {
			review = w.reviewStray
		}
		var err error
		if m.verdict, m.Error, err = review(ctx, c, m); err != nil {
			return err
		}
	}
	c.Due = w.now().Add(w.Floor)
	return nil
}

// reviewRow tells whether a row can still move, and if not, what becomes of it
// and why.
func (w *moveWork) reviewRow(ctx context.Context, c *MovingCall, m *MovingMember) (moveFate, string, error) {
	row, err := w.Asker.Store.Resource(ctx, w.from.Subscription, m.Key)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return fateGone, absentText(m.ID), nil
	case err != nil:
		return fateOpen, "", err
	case row.Phase != inventory.Live || row.FollowDelete || row.Region != c.Region:
		return fateStayed, errorText("RequestConflict", "The resource is being deleted, or was made anew."), nil
	}
	order := inventory.MoveCall{Source: w.payload.Source, Target: w.payload.Target}
	taken, err := w.taken(ctx, order.MovedRow(row, w.to).Key)
	if err != nil || !taken {
		return fateOpen, "", err
	}
	return fateStayed, errorText("RequestConflict", "The target resource group has a resource of this ID."), nil
}

// reviewStray is reviewRow for a stray: its region may have been seen not to hold
// it any more.
func (w *moveWork) reviewStray(ctx context.Context, c *MovingCall, m *MovingMember) (moveFate, string, error) {
	strays, err := w.Asker.Store.Strays(ctx, w.from.Subscription, w.from.Key)
	if err != nil || slices.ContainsFunc(strays, func(s inventory.Stray) bool { return s.Key == m.Key && s.Region == c.Region }) {
		return fateOpen, "", err
	}
	return fateGone, absentText(m.ID), nil
}

// taken tells whether the target has a resource of a key, or one below it.
func (w *moveWork) taken(ctx context.Context, key string) (bool, error) {
	_, err := w.Asker.Store.Resource(ctx, w.to.Subscription, key)
	if !errors.Is(err, inventory.ErrNotFound) {
		return err == nil, err
	}
	next, err := w.Asker.Store.Resources(ctx, inventory.ResourceQuery{Subscription: w.to.Subscription, Group: w.to.Key, After: key + "/", Limit: 1})
	return len(next) > 0 && strings.HasPrefix(next[0].Key, key+"/"), err
}

// target is what is called for a call, and where.
func (w *moveWork) target(c *MovingCall) (*routing.Request, *regions.Endpoint, error) {
	return moveTarget(w.Asker, c, w.from, "moveResources")
}

// moveTarget builds the request of a call: its path names the source group.
func moveTarget(p locate.Prober, c *MovingCall, from inventory.Group, action string) (*routing.Request, *regions.Endpoint, error) {
	_, endpoint, err := p.Target(c.row(c.Members[0], from.Subscription))
	if err != nil {
		return nil, nil, err
	}
	q, fault := routing.ClassifyID(p.Map, http.MethodPost, routing.GroupID(from.Subscription, from.Name)+"/"+action)
	if fault != nil {
		return nil, nil, fault
	}
	q.Query.Raw = "api-version=" + c.Version
	return q, endpoint, nil
}

// row is what is needed to ask for a member where it was.
func (c *MovingCall) row(m *MovingMember, sub string) inventory.Resource {
	return inventory.Resource{Subscription: sub, Key: m.Key, ID: m.ID, TypeName: m.Type, Region: c.Region, APIVersion: c.Version}
}

// window is how long a call without an answer may still take effect.
func (w *moveWork) window(c *MovingCall) (longest time.Duration) {
	for _, m := range c.Members {
		window := w.LateWriteWindow
		if q, _, err := w.Asker.Target(c.row(m, w.from.Subscription)); err == nil && q.Type.LateWriteWindow > 0 {
			window = q.Type.LateWriteWindow
		}
		longest = max(longest, window)
	}
	return longest
}

func moveContent(to inventory.Group, ids []string) []byte {
	text, err := json.Marshal(struct {
		Target    string   `json:"targetResourceGroup"`
		Resources []string `json:"resources"`
	}{routing.GroupID(to.Subscription, to.Name), ids})
	if err != nil { // strings always have a JSON form
		return nil
	}
	return text
}

// header carries the ids of a call, and on whose behalf it is made.
func (p *MovePayload) header(a locate.Prober, region string) http.Header {
	header := headerOf(p.Correlation, region)
	p.Caller.Stamp(header)
	header.Set("Referer", fanout.PublicLink(a.Public, p.Path, p.Query))
	return header
}

// exchange sends a call. Once sent it is seen to its end.
func (w *moveWork) exchange(ctx context.Context, c *MovingCall, q *routing.Request, to *regions.Endpoint, content []byte, begun time.Time) moveSaid {
	header := w.payload.header(w.Asker, w.Region)
	header.Set(tracing.SystemDataHeader, systemData(w.payload.Caller, w.payload.Begun)) // the same for every resource of a move
	header.Set("Content-Type", "application/json; charset=utf-8")
	response, err := w.Asker.Upstream.Do(ctx, upstream.Call{
		Endpoint: to, Method: http.MethodPost, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header, Content: content,
		Since: begun, SendWithin: w.SendWithin, EndWithin: w.CallTimeout + w.CallMargin, Job: w.held.Job.Name(),
	})
	if err != nil {
		return unansweredMove(err, c)
	}
	defer response.Body.Close()
	body, err := upstream.ReadAll(response.Header, response.Body, 1<<20)
	after, _ := upstream.RetryAfter(response.Header, time.Now())
	said := moveSaid{after: min(after, longestPause), result: moveResultOf(response.StatusCode)}
	switch {
	case err != nil && !errors.Is(err, upstream.ErrTooLarge): // what the status promised is not known
		said.result = moveAmbiguous
	case said.result == moveAccepted:
		if poll := PollOf(response, w.Asker.Public, to, w.payload.Caller); poll != nil {
			said.poll = &MovingPoll{Path: poll.Path, Query: poll.Query, Status: poll.Status}
		}
	case said.result != moveDone:
		said.text = textOf(response.StatusCode, body)
	}
	return said
}

// moveResultOf reads the status of the answer to a move: what is definite in it
// is as for any write (see package inventory, rule R4).
func moveResultOf(status int) moveResult {
	switch {
	case status == http.StatusAccepted:
		return moveAccepted
	case status == http.StatusTooManyRequests:
		return moveThrottled
	case status == http.StatusRequestTimeout, status >= 500, status < 200:
		return moveAmbiguous
	case status < 300:
		return moveDone
	}
	return moveRefused
}

// unansweredMove is a call that brought no answer.
func unansweredMove(err error, c *MovingCall) moveSaid {
	var fault *upstream.Fault
	if !errors.As(err, &fault) {
		fault = &upstream.Fault{Sent: true, Region: c.Region, Err: err}
	}
	said := moveSaid{result: moveAmbiguous, silent: !fault.TooLate(), text: string(fault.ARM(c.Namespace).Body())}
	if !fault.Sent {
		said.result = moveNotSent
	}
	return said
}

// poll asks how the operation of a call stands.
func (w *moveWork) poll(ctx context.Context, c *MovingCall) heard {
	said := moveSaid{result: moveNotSent, silent: true}
	if _, endpoint, err := w.target(c); err == nil {
		said = pollMove(ctx, w.Asker, c, endpoint, w.payload.header(w.Asker, w.Region))
	}
	return func(now time.Time) {
		if said.result != moveAccepted && said.result != moveNotSent {
			w.metrics.calls.WithLabelValues(said.result.String()).Inc()
			w.noteCall(c, said)
		}
		w.plan.hear(c, said, now)
	}
}

func pollMove(ctx context.Context, p locate.Prober, c *MovingCall, endpoint *regions.Endpoint, header http.Header) moveSaid {
	answer, err := p.Read(ctx, header, endpoint, c.Poll.Path, c.Poll.Query)
	if err != nil {
		return moveSaid{result: moveNotSent, silent: true}
	}
	asked, _ := upstream.RetryAfter(answer.Header, time.Now())
	said := moveSaid{result: moveAccepted, after: min(asked, longestPause)}
	follow := inventory.Follow{Status: c.Poll.Status}
	switch result := judgePoll(c.Poll.Status, answer.Status, answer.Body); {
	case result == pollMissing:
		said.result = moveLost
	case result == pollFinished, result == pollRefused:
		said.result, said.text = moveOver, failureText(follow, answer)
	case answer.Status == http.StatusAccepted:
		if next, own := PollTarget(answer.Header.Get("Location"), p.Public, endpoint); own && !c.Poll.Status {
			said.poll = &MovingPoll{Path: next.EscapedPath(), Query: next.RawQuery}
		}
	case answer.Status != http.StatusOK:
		said.result = moveNotSent
	}
	return said
}

// ask looks for all open members of a call where they were and where they are to
// be.
func (w *moveWork) ask(ctx context.Context, c *MovingCall) heard {
	asked, members := w.now(), c.open()
	sights := make([]moveSight, len(members))
	twins := make([]*inventory.Sighting, len(members))
	limits.ForEach(asksAtOnce, len(members), func(i int) {
		sights[i], twins[i] = w.look(ctx, c, members[i], asked)
	})
	return func(now time.Time) {
		heard := false
		for i, m := range members {
			heard = heard || sights[i].known
			m.twin = twins[i]
			c.see(m, sights[i], asked)
		}
		w.plan.conclude(c, heard, now)
	}
}

// look asks for one member under both of its IDs.
func (w *moveWork) look(ctx context.Context, c *MovingCall, m *MovingMember, asked time.Time) (s moveSight, twin *inventory.Sighting) {
	row := c.row(m, w.from.Subscription)
	order := inventory.MoveCall{Source: w.payload.Source, Target: w.payload.Target}
	for i, at := range [...]inventory.Resource{row, order.MovedRow(row, w.to)} {
		q, endpoint, err := w.Asker.Target(at)
		if err != nil {
			return moveSight{}, nil
		}
		answer, err := w.Asker.Read(ctx, w.payload.header(w.Asker, w.Region), endpoint, q.Path.Escaped(), q.Query.Raw)
		if err != nil || answer.Status != http.StatusOK && answer.Status != http.StatusNotFound {
			return moveSight{}, nil
		}
		there := answer.Status == http.StatusOK
		if !there && !arm.SaysAbsent(answer.Body, at.ID) {
			return moveSight{}, nil
		}
		if there && !inventory.Terminal(inventory.ReadObservation(answer.Body).ProvisioningState) {
			s.working = true
		}
		if i == 0 {
			s.old = there
			continue
		}
		if s.new = there; there && s.old {
			seen := locate.NewDiscovery(w.Asker.Map, q, endpoint.Region, c.Version, answer.Body, asked)
			twin = &seen
		}
	}
	s.known = true
	return s, twin
}
