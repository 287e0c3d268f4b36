// Package move moves resources between groups (resource reference, Move Resource): it
// asks each provider to move its resources, in one call per region.
//
// No answer is trusted: a resource that its provider claims to have moved changes its
// place in the index only when Portico's own GETs have found it at the new place, and no
// longer at the old one.
//
// A [moveplan.Move] decides what is next; the transactions that record the facts it depends
// on record the plan too. An attempt executes its tasks.
//
// Before each call the caller's roles are checked again: if the caller has lost a right
// that the move needs, the resources that were not sent yet stay. After a call has left,
// the provider's work is recorded, whatever rights the caller has by then.
package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/arm"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/move/moveplan"
	"portico/probe"
	"portico/routing"
	"portico/upstream/answers"
)

// Mover moves resources from a group to another; neither takes a write meanwhile. It
// waits for the writes before it, calls each provider once per region, and changes the
// index by the findings of GETs on both IDs. The job's payload holds the plan.
type Mover struct {
	Prober probe.Prober
	Sender string // which replica sends
	Region string // of the front door, for the ids of its calls
	Budget time.Duration
	Limit  time.Duration // after it nothing is sent any more
	// How long a call may take, and how long it may still take effect without an
	// answer; see package inventory, rule R4.
	SendWithin, CallTimeout, CallMargin, LateWriteWindow time.Duration
	Floor                                                time.Duration // the least time between two calls for the same thing
	LockETag                                             func(inventory.Lock) string
	Authorizer                                           Authorizer
	Log                                                  *zap.Logger

	metrics *metrics
}

// Start implements [jobs.Lasting].
func (k *Mover) Start(registry prometheus.Registerer) { k.metrics = newMetrics(registry) }

// Succeed implements [jobs.Lasting].
func (k *Mover) Succeed(before jobs.Kind) { k.metrics = before.(*Mover).metrics }

// Caller implements [jobs.Commissioned].
func (k *Mover) Caller(_ context.Context, job jobrow.Job) (string, error) {
	c, err := jobs.CommissionOf(job)
	return c.Caller.Caller(), err
}

// Describe implements [jobs.Kind].
func (k *Mover) Describe() jobs.Description {
	return jobs.Description{
		Canceled:    "What has moved stays where it is now. Both groups can be used again.",
		Cancellable: true, AfterRestore: jobs.Cancelled, Limit: k.Limit, LimitSetting: "move.limit",
		Problems: jobs.Problems{Subject: "The move of resources"}, Reason: "groupMoveUnderWay",
		Message:  "Resources are being moved from the group or to it; until that ends it takes no writes.",
		Refusals: []arm.Code{arm.ResourcesBeingMoved}, HoldsAt: k.holdsAt, Show: show,
	}
}

// mostMoves bounds the jobs that are searched for the move of a group.
const mostMoves = 1000

// holdsAt finds the move that holds the group of a path. It is a job of the source group,
// which may lie in another subscription.
func (k *Mover) holdsAt(ctx context.Context, path *arm.Path) ([]jobs.Hold, error) {
	if path.Group() == "" {
		return nil, nil
	}
	store := k.Prober.Store
	group, err := store.Group(ctx, path.Subscription(), path.Group())
	if errors.Is(err, inventory.ErrNotFound) || err == nil && group.State != index.GroupMoving {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the group of a move: %w", err)
	}
	on := routing.GroupID(path.Subscription(), group.Name)
	if own, err := jobs.HoldOf(ctx, store.Jobs, group.Subscription, group.Generation, on); err != nil || len(own) > 0 {
		return own, err
	}
	moves, err := store.Jobs.List(ctx, jobrow.Query{Kind: inventory.MoveJob, Limit: mostMoves})
	if err != nil {
		return nil, fmt.Errorf("list moves: %w", err)
	}
	if i := slices.IndexFunc(moves, func(j jobrow.Job) bool { return j.ID == group.Generation && !j.State.Ended() }); i >= 0 {
		return []jobs.Hold{{Job: moves[i], On: on}}, nil
	}
	return nil, nil // it has just ended
}

func show(j jobrow.Job) jobs.ProgressReport {
	p, err := ReadPayload(j)
	if err != nil {
		return jobs.ProgressReport{} // the job's attempts report the fault
	}
	progress := p.Progress
	s := jobs.ProgressReport{
		On: routing.GroupID(p.Source.Subscription, p.Source.Name), Done: progress.Moved, Of: progress.Total, WaitingFor: progress.WaitingFor,
		Outcome: fmt.Sprintf("%d of %d resources are moved.", progress.Moved, progress.Total),
		Left:    fmt.Sprintf("%d of %d resources are not moved", progress.Total-progress.Moved, progress.Total),
	}
	if n := progress.Failed; n > 0 {
		s.Outcome += fmt.Sprintf(" %d were not.", n)
	}
	return s
}

// Payload is the payload of the job of a move, or of a validation.
type Payload struct {
	Source    inventory.GroupName `json:"source"` // as it is written
	Target    inventory.GroupName `json:"target"`
	Resources []string            `json:"resources"`       // the IDs that the caller named
	Path      string              `json:"path"`            // of the caller's request, as in a request target
	Query     string              `json:"query,omitempty"` // likewise
	jobs.Commission
	Started  time.Time        `json:"started"` // when the resources are modified, for all of them
	Planned  bool             `json:"planned,omitempty"`
	Calls    []*moveplan.Call `json:"calls,omitempty"`
	Progress moveplan.Summary `json:"progress"`
	Ended    time.Time        `json:"ended,omitzero"`
	// Fault is the error that it ended with, as clients get it.
	Fault json.RawMessage `json:"fault,omitempty"`
}

// String returns the payload as it is stored.
func (p Payload) String() string { return jobrow.PayloadOf(p) }

// Of reports whether a job moves resources, or only validates a move.
func Of(j jobrow.Job) (moves, judgesOnly bool) {
	judgesOnly = j.Kind == inventory.ValidateMoveJob
	return judgesOnly || j.Kind == inventory.MoveJob, judgesOnly
}

// ReadPayload reads the payload of the job of a move, or of a validation.
func ReadPayload(j jobrow.Job) (p Payload, err error) {
	err = j.Read(&p)
	return p, err
}

// Moved returns a row with its key and ID after the move, and reports whether it has
// moved.
func (p Payload) Moved(row inventory.Resource) (moved inventory.Resource, done bool) {
	for _, c := range p.Calls {
		for _, m := range c.Resources {
			if m.State == moveplan.Moved && !m.Stray && (row.Key == m.Key || strings.HasPrefix(row.Key, m.Key+"/")) {
				done = true
			}
		}
	}
	order := inventory.MoveCall{Source: p.Source, Target: p.Target}
	return order.MovedRow(row, inventory.Group{Subscription: arm.Fold(p.Target.Subscription), Key: arm.Fold(p.Target.Name), Name: p.Target.Name}), done
}

func (k *Mover) limits() moveplan.Limits {
	return moveplan.Limits{Budget: k.Budget, Pause: k.Floor, Longest: longestProbePause, Window: k.LateWriteWindow}
}

// longestWait bounds the pause of an attempt that has nothing to do, and longestStay the
// pause that an attempt waits out.
const (
	longestWait = 15 * time.Second
	longestStay = time.Second
)

// longestProbePause bounds the pause between two probes of the same resource.
const longestProbePause = 15 * time.Second

// Run works on the move until it can only wait.
func (k *Mover) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	p, err := ReadPayload(claim.Job)
	if err != nil {
		return jobs.Result{End: jobrow.Failed}, err
	}
	from, to, err := k.Prober.Store.Moves.Groups(ctx, claim.Job, p.Source, p.Target)
	switch {
	case errors.Is(err, jobrow.ErrLeaseLost):
		return k.vanished(p)
	case err != nil:
		return jobs.Result{}, fmt.Errorf("read the groups of a move: %w", err)
	}
	w := &attempt{Mover: k, claim: claim, payload: &p, from: from, to: to, plan: &moveplan.Move{Limits: k.limits(), Calls: p.Calls}}
	switch reason := w.stopped(); {
	case p.Planned:
	case reason != "":
		w.skip(reason)
	default:
		until, drained, err := k.Prober.Store.Moves.Drained(ctx, p.Source, p.Target)
		if err != nil {
			return jobs.Result{}, fmt.Errorf("ask whether writes to the groups of a move have ended: %w", err)
		}
		if !drained {
			return jobs.Result{Again: max(k.Floor, min(until.Sub(w.now()), longestStay))}, nil
		}
		if err := w.arrange(ctx); err != nil {
			return jobs.Result{}, err
		}
	}
	return w.run(ctx)
}

// vanished ends a move whose groups no longer belong to it. Neither deleting them nor
// erasing a subscription takes them from a move; if they are gone all the same, there
// is nothing left to wait for.
func (k *Mover) vanished(p Payload) (jobs.Result, error) {
	p.Ended = k.Prober.Store.Now()
	p.Fault = answers.FaultBody(arm.NewError(arm.ResourceMoveFailed, len(p.Resources)-p.Progress.Moved, len(p.Resources), p.Target.Name, p.Correlation), nil)
	return jobs.Result{End: jobrow.Failed, Payload: p.String()}, nil
}

// attempt is one attempt at a move.
type attempt struct {
	*Mover
	claim    *jobs.Claim
	payload  *Payload
	from, to inventory.Group
	plan     *moveplan.Move
}

func (w *attempt) now() time.Time { return w.Prober.Store.Now() }

// stopped returns why no more calls may be sent; "" as long as they may.
func (w *attempt) stopped() string {
	switch {
	case w.claim.Job.State == jobrow.Cancelling:
		return answers.FaultText(arm.OperationCanceled, "The move was canceled before the provider was told of it.")
	case w.now().Sub(w.claim.Job.Created) > w.Limit:
		return answers.FaultText("ResourceMoveTimeout", "The move did not come to this resource within the allowed time.")
	}
	return ""
}

// skip leaves every resource where it is, for a reason.
func (w *attempt) skip(reason string) {
	var all []moveplan.Candidate
	for _, id := range w.payload.Resources {
		all = append(all, moveplan.Candidate{Resource: moveplan.Resource{ID: id, Key: arm.Fold(id)}, Refusal: reason})
	}
	w.setCandidates(all)
}

func (w *attempt) setCandidates(all []moveplan.Candidate) {
	w.plan.Calls = moveplan.CallsFor(all)
	w.payload.Calls, w.payload.Planned = w.plan.Calls, true
}

// arrange makes the plan from the index, once no write is on its way.
func (w *attempt) arrange(ctx context.Context) error {
	all, err := w.candidates(ctx, w.payload)
	if err != nil {
		return err
	}
	w.setCandidates(all)
	w.logEvent("move begins", zap.Int("resources", len(all)), zap.Int("calls", len(w.plan.Calls)))
	return w.save(ctx)
}

// candidates finds the resources that a payload names, and the strays of their IDs.
func (k *Mover) candidates(ctx context.Context, p *Payload) (all []moveplan.Candidate, err error) {
	strays, err := k.Prober.Store.Strays.List(ctx, p.Source.Subscription, p.Source.Name)
	if err != nil {
		return nil, fmt.Errorf("list the strays of a group that is left: %w", err)
	}
	for _, id := range p.Resources {
		key := arm.Fold(id)
		row, err := k.Prober.Store.Resource(ctx, p.Source.Subscription, key)
		switch {
		case errors.Is(err, inventory.ErrNotFound), err == nil && row.Phase == index.Pending:
			all = append(all, moveplan.Candidate{Resource: moveplan.Resource{ID: id, Key: key}, Refusal: absentText(id)})
			continue
		case err != nil:
			return nil, fmt.Errorf("read a resource that is to move: %w", err)
		}
		all = append(all, k.candidateOf(moveplan.Resource{ID: row.ID, Key: key, Type: row.TypeName}, row))
		for _, stray := range strays {
			if stray.Key == key {
				all = append(all, k.candidateOf(moveplan.Resource{ID: stray.ID, Key: key, Type: row.TypeName, Stray: true}, stray.Row()))
			}
		}
	}
	return all, nil
}

func (k *Mover) candidateOf(m moveplan.Resource, row inventory.Resource) moveplan.Candidate {
	r := moveplan.Candidate{Resource: m, Region: row.Region}
	q, endpoint, err := k.Prober.Target(row)
	switch {
	case err != nil:
		r.Refusal = answers.FaultText(arm.NoRegisteredProviderFound, err.Error())
	case row.Phase == index.Deleting || row.FollowDelete:
		r.Refusal = answers.FaultText(arm.RequestConflict, "The resource is being deleted.")
	default:
		r.Namespace, r.Server, r.Versions = q.Type.Provider.Namespace, endpoint.String(), q.Type.APIVersions
	}
	return r
}

func absentText(id string) string {
	return answers.FaultText(arm.ResourceNotFound, "The resource '"+arm.ShortName(id)+"' was not found.")
}

// run executes the plan until the move can only wait, or has ended.
func (w *attempt) run(ctx context.Context) (jobs.Result, error) {
	for {
		if reason := w.stopped(); reason != "" {
			w.plan.Stop(reason)
		}
		if err := w.settle(ctx); err != nil {
			return jobs.Result{}, err
		}
		if w.plan.Ended() {
			return w.close(ctx)
		}
		if tasks := w.plan.Next(w.now()); len(tasks) > 0 {
			if sends(tasks) {
				reason, err := w.withdrawn(ctx, w.payload, false)
				if err != nil {
					return jobs.Result{}, err
				}
				if reason != "" {
					w.plan.Stop(reason)
					continue
				}
			}
			if err := w.execute(ctx, tasks); err != nil {
				return jobs.Result{}, err
			}
			continue
		}
		pause := min(longestWait, w.plan.Wake().Sub(w.now()))
		if left := w.claim.Job.Created.Add(w.Limit).Sub(w.now()); left > 0 {
			pause = min(pause, left)
		}
		if pause = max(pause, time.Millisecond); pause > longestStay {
			return jobs.Result{Again: pause, Payload: w.render()}, nil
		}
		if err := timing.Sleep(ctx, pause); err != nil {
			return jobs.Result{}, err
		}
	}
}

// render returns the present payload.
func (w *attempt) render() string {
	w.payload.Progress = w.plan.Summary()
	return w.payload.String()
}

func (w *attempt) save(ctx context.Context) error { return w.claim.Save(ctx, w.render()) }

func (w *attempt) logEvent(what string, fields ...zap.Field) {
	w.Log.Info(what, append(fields, zap.String("group", strings.ToValidUTF8(w.from.Name, "\uFFFD")),
		zap.String("target", strings.ToValidUTF8(w.to.Name, "\uFFFD")),
		zap.String("subscription", w.from.Subscription), zap.String("job", w.claim.Job.Name()), zap.String("correlationId", w.payload.Correlation))...)
}

// metrics are labelled by the names of results and ends.
type metrics struct{ calls, ends *prometheus.CounterVec }

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_move_calls_total", Help: "Calls that ask providers to move resources, by result.",
		}, []string{"result"}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_moved_resources_total", Help: "Resources of moves, by outcome: moved, stayed, gone.",
		}, []string{"fate"}),
	}
	registry.MustRegister(m.calls, m.ends)
	return m
}
