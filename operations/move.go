package operations

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/locate"
)

// Moving is the kind of work that moves resources from a group to another, which
// both take no write meanwhile (resource reference, Move Resource). It waits for
// the writes before it, tells each provider, region by region, in one call, and
// changes the index by what the provider, or a GET on both IDs, has said.
//
// The job's payload holds the [movePlan]; it is recorded in the transactions that
// record what the plan rests on.
type Moving struct {
	Asker  locate.Prober
	Sender string // which replica sends
	Region string // of the front door, for the ids of its calls
	Budget time.Duration
	Limit  time.Duration // past it nothing is sent any more
	// How long a call may take, and what it does without an answer; see package
	// inventory, rule R4.
	SendWithin, CallTimeout, CallMargin, LateWriteWindow time.Duration
	Floor                                                time.Duration // the least time between two looks at the same thing
	LockETag                                             func(inventory.Lock) string
	Log                                                  *zap.Logger

	metrics *moveMetrics
}

// NewMoving completes a Moving with its metrics.
func NewMoving(k Moving, registry prometheus.Registerer) *Moving {
	k.metrics = newMoveMetrics(registry)
	return &k
}

// MovePayload is what the job of a move keeps, and that of its validation.
type MovePayload struct {
	Source      inventory.GroupName `json:"source"` // as it is written
	Target      inventory.GroupName `json:"target"`
	Resources   []string            `json:"resources"`       // the IDs that the caller named
	Path        string              `json:"path"`            // of the caller's request, as in a request target
	Query       string              `json:"query,omitempty"` // likewise
	Correlation string              `json:"correlation"`     // of all its calls
	Caller      access.Principal    `json:"caller"`          // who began it
	Begun       time.Time           `json:"begun"`           // when the resources are modified, for all of them
	Planned     bool                `json:"planned,omitempty"`
	Calls       []*MovingCall       `json:"calls,omitempty"`
	Progress    MoveProgress        `json:"progress"`
	Ended       time.Time           `json:"ended,omitzero"`
	// Fault is the error that it ended with, as clients get it.
	Fault json.RawMessage `json:"fault,omitempty"`
}

// String is the payload as it is stored.
func (p MovePayload) String() string {
	return inventory.PayloadOf(p)
}

// ReadMove reads the payload of a move's job, or of its validation's.
func ReadMove(j inventory.Job) (p MovePayload, err error) {
	err = j.Read(&p)
	return p, err
}

// Moved tells where a row is since the move, by its key and ID, if it has moved
// with it.
func (p MovePayload) Moved(row inventory.Resource) (moved inventory.Resource, done bool) {
	for _, c := range p.Calls {
		for _, m := range c.Members {
			if m.Fate == fateMoved && !m.Stray && (row.Key == m.Key || strings.HasPrefix(row.Key, m.Key+"/")) {
				done = true
			}
		}
	}
	order := inventory.MoveCall{Source: p.Source, Target: p.Target}
	return order.MovedRow(row, inventory.Group{Subscription: arm.Fold(p.Target.Subscription), Key: arm.Fold(p.Target.Name), Name: p.Target.Name}), done
}

func (k *Moving) limits() moveLimits {
	return moveLimits{budget: k.Budget, pause: k.Floor, longest: longestAsk, window: k.LateWriteWindow}
}

// longestAsk bounds the pause between two questions about the same resource.
const longestAsk = 15 * time.Second

// Run works on the move until there is nothing to do but wait.
func (k *Moving) Run(ctx context.Context, h *Held) (Verdict, error) {
	p, err := ReadMove(h.Job)
	if err != nil {
		return Verdict{End: inventory.JobFailed}, err
	}
	from, to, err := k.Asker.Store.MovingGroups(ctx, h.Job, p.Source, p.Target)
	switch {
	case errors.Is(err, inventory.ErrDeposed):
		return k.vanished(p)
	case err != nil:
		return Verdict{}, err
	}
	w := &moveWork{Moving: k, held: h, payload: &p, from: from, to: to, plan: &movePlan{limits: k.limits(), calls: p.Calls}}
	switch reason := w.stopped(); {
	case p.Planned:
	case reason != "":
		w.forgo(reason)
	default:
		until, drained, err := k.Asker.Store.Drained(ctx, p.Source, p.Target)
		if err != nil {
			return Verdict{}, err
		}
		if !drained {
			return Verdict{Again: max(k.Floor, min(until.Sub(w.now()), longestStay))}, nil
		}
		if err := w.arrange(ctx); err != nil {
			return Verdict{}, err
		}
	}
	return w.run(ctx)
}

// vanished ends a move whose groups are not its any more. Nothing takes them from
// it, neither their delete nor the erasing of a subscription; should they be gone
// all the same, there is nothing left to wait for.
func (k *Moving) vanished(p MovePayload) (Verdict, error) {
	p.Ended = k.Asker.Store.Time()
	p.Fault = faultBody(arm.NewError(arm.ResourceMoveFailed, len(p.Resources)-p.Progress.Moved, len(p.Resources), p.Target.Name, p.Correlation), nil)
	return Verdict{End: inventory.JobFailed, Payload: p.String()}, nil
}

// moveWork is one attempt at a move.
type moveWork struct {
	*Moving
	held     *Held
	payload  *MovePayload
	from, to inventory.Group
	plan     *movePlan
}

func (w *moveWork) now() time.Time { return w.Asker.Store.Time() }

// stopped is why nothing more is to be sent, "" while it is.
func (w *moveWork) stopped() string {
	switch {
	case w.held.Job.State == inventory.JobCancelling:
		return errorText(string(arm.OperationCanceled), "The move was canceled before the provider was told of it.")
	case w.now().Sub(w.held.Job.Created) > w.Limit:
		return errorText("ResourceMoveTimeout", "The move did not come to this resource within the allowed time.")
	}
	return ""
}

// forgo leaves everything where it is.
func (w *moveWork) forgo(reason string) {
	var all []toMove
	for _, id := range w.payload.Resources {
		all = append(all, toMove{member: MovingMember{ID: id, Key: arm.Fold(id)}, refusal: reason})
	}
	w.take(all)
}

func (w *moveWork) take(all []toMove) {
	w.plan.calls = planMove(all)
	w.payload.Calls, w.payload.Planned = w.plan.calls, true
}

// arrange makes the plan, from what the index has now that no write is on its way.
func (w *moveWork) arrange(ctx context.Context) error {
	all, err := w.toMove(ctx, w.payload)
	if err != nil {
		return err
	}
	w.take(all)
	w.note("move begins", zap.Int("resources", len(all)), zap.Int("calls", len(w.plan.calls)))
	return w.save(ctx)
}

// toMove finds the resources that a payload names, and the strays of their IDs.
func (k *Moving) toMove(ctx context.Context, p *MovePayload) (all []toMove, err error) {
	strays, err := k.Asker.Store.Strays(ctx, p.Source.Subscription, p.Source.Name)
	if err != nil {
		return nil, err
	}
	for _, id := range p.Resources {
		key := arm.Fold(id)
		row, err := k.Asker.Store.Resource(ctx, p.Source.Subscription, key)
		switch {
		case errors.Is(err, inventory.ErrNotFound), err == nil && row.Phase == inventory.Pending:
			all = append(all, toMove{member: MovingMember{ID: id, Key: key}, refusal: absentText(id)})
			continue
		case err != nil:
			return nil, err
		}
		all = append(all, k.placed(MovingMember{ID: row.ID, Key: key, Type: row.TypeName}, row))
		for _, stray := range strays {
			if stray.Key == key {
				all = append(all, k.placed(MovingMember{ID: stray.ID, Key: key, Type: row.TypeName, Stray: true}, rowOf(stray)))
			}
		}
	}
	return all, nil
}

func (k *Moving) placed(m MovingMember, row inventory.Resource) toMove {
	r := toMove{member: m, region: row.Region}
	q, endpoint, err := k.Asker.Target(row)
	switch {
	case err != nil:
		r.refusal = errorText(string(arm.NoRegisteredProviderFound), err.Error())
	case row.Phase == inventory.Deleting || row.FollowDelete:
		r.refusal = errorText(string(arm.RequestConflict), "The resource is being deleted.")
	default:
		r.namespace, r.server, r.versions = q.Type.Provider.Namespace, endpoint.String(), q.Type.APIVersions
	}
	return r
}

func absentText(id string) string {
	return errorText(string(arm.ResourceNotFound), "The resource '"+shortName(id)+"' was not found.")
}

// run does what there is to do, until all that is left is to wait, or the end.
func (w *moveWork) run(ctx context.Context) (Verdict, error) {
	for {
		if reason := w.stopped(); reason != "" {
			w.plan.stop(reason)
		}
		if err := w.settle(ctx); err != nil {
			return Verdict{}, err
		}
		if w.plan.ended() {
			return w.close(ctx)
		}
		if tasks := w.plan.next(w.now()); len(tasks) > 0 {
			if err := w.carryOut(ctx, tasks); err != nil {
				return Verdict{}, err
			}
			continue
		}
		pause := min(longestWait, w.plan.wake().Sub(w.now()))
		if left := w.held.Job.Created.Add(w.Limit).Sub(w.now()); left > 0 {
			pause = min(pause, left)
		}
		if pause = max(pause, time.Millisecond); pause > longestStay {
			return Verdict{Again: pause, Payload: w.render()}, nil
		}
		if err := stay(ctx, pause); err != nil {
			return Verdict{}, err
		}
	}
}

// render is the payload as it is now.
func (w *moveWork) render() string {
	w.payload.Progress = w.plan.progress()
	return w.payload.String()
}

func (w *moveWork) save(ctx context.Context) error { return w.held.Save(ctx, w.render()) }

func (w *moveWork) note(what string, fields ...zap.Field) {
	w.Log.Info(what, append(fields, zap.String("group", strings.ToValidUTF8(w.from.Name, "\uFFFD")), zap.String("target", strings.ToValidUTF8(w.to.Name, "\uFFFD")),
		zap.String("subscription", w.from.Subscription), zap.String("job", w.held.Job.Name()), zap.String("correlationId", w.payload.Correlation))...)
}

// moveMetrics are labelled by the names of results and ends.
type moveMetrics struct{ calls, ends *prometheus.CounterVec }

func newMoveMetrics(registry prometheus.Registerer) *moveMetrics {
	m := &moveMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_move_calls_total", Help: "Calls by which providers were told to move resources, by what they came to.",
		}, []string{"result"}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_moved_resources_total", Help: "Resources that were to move, by what became of them: moved, stayed, gone.",
		}, []string{"fate"}),
	}
	registry.MustRegister(m.calls, m.ends)
	return m
}
