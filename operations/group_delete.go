package operations

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/limits"
	"portico/locate"
)

// LastLook is how a group is looked at before it goes; see
// [inventory.Closing].Last.
type LastLook interface {
	// Judge lets a group go whose every place was looked at. It runs in the
	// closing transaction.
	Judge(inventory.Group, []inventory.Touch) error
	// Look looks where Judge, by its refusal, found that nobody had, and adopts
	// what is there; false where the refusal is not Judge's. An error means that
	// somebody did not say.
	Look(ctx context.Context, refusal error) (bool, error)
}

// GroupDeletion is the kind of work that deletes what a group holds, and then
// the group (arm.ResourceGroupDeletionBlocked and its kin tell how it can end).
//
// What it does is one [deletion] after the other, each made from what the
// inventory holds and driven until there is nothing to do but wait. Rows,
// strays and intents say what is left; what is kept beside them, in the job and
// of its members, is no more than a memory of failures.
type GroupDeletion struct {
	Asker       locate.Prober
	LastLook    func(DeletionPayload) LastLook
	Sender      string // which replica sends
	Region      string // of the front door, for the ids of its calls
	PerEndpoint int    // calls under way per endpoint, of one caller's deletions on this replica
	AtEndpoint  int    // and of all callers'; at least PerEndpoint
	PerJob      int    // calls under way of one deletion
	Budget      time.Duration
	Limit       time.Duration // of a deletion as a whole
	// SendWithin and CallLimit say how long after its intent a call may begin,
	// and send at all.
	SendWithin, CallLimit time.Duration

	Floor time.Duration // the least time between two looks at the same thing
	Log   *zap.Logger

	metrics *deletionMetrics
	slots   *endpointSlots
}

// NewGroupDeletion completes a GroupDeletion with its metrics.
func NewGroupDeletion(k GroupDeletion, registry prometheus.Registerer) *GroupDeletion {
	k.metrics, k.slots = newDeletionMetrics(registry), newEndpointSlots(k.AtEndpoint, k.PerEndpoint)
	return &k
}

// longestWait bounds the pause before a member is tried again of which nobody
// said when.
const longestWait = 15 * time.Second

func (k *GroupDeletion) limits() deletionLimits {
	return deletionLimits{perEndpoint: k.PerEndpoint, perJob: k.PerJob, budget: k.Budget, pause: k.Floor, longest: longestWait}
}

// DeletionPayload is what the job of a group's deletion keeps.
type DeletionPayload struct {
	Group       string           `json:"group"` // as it was written
	Incarnation [16]byte         `json:"incarnation"`
	Correlation string           `json:"correlation"` // of all its calls
	Caller      access.Principal `json:"caller"`      // who began it
	Progress    DeletionProgress `json:"progress"`
	Waits       []DeletionWait   `json:"waits,omitempty"`
	// Saved is when Progress was recorded: it does not count what came later.
	Saved time.Time `json:"saved,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Fault is the error that the deletion ended with, as clients get it.
	Fault json.RawMessage `json:"fault,omitempty"`
}

// DeletionProgress is how far a deletion has come.
type DeletionProgress struct {
	Total      int      `json:"total"` // of the resources that it found so far
	Deleted    int      `json:"deleted"`
	InFlight   int      `json:"inFlight"` // their deletion is under way
	Waiting    int      `json:"waiting"`
	Parked     int      `json:"parked"` // refused
	Pass       int      `json:"pass"`
	WaitingFor []string `json:"waitingFor,omitempty"` // regions that do not answer
}

// String is the payload as it is stored.
func (p DeletionPayload) String() string {
	return inventory.PayloadOf(p)
}

// ReadDeletion reads the payload of a deletion's job.
func ReadDeletion(j inventory.Job) (p DeletionPayload, err error) {
	err = j.Read(&p)
	return p, err
}

// Run works on the deletion until there is nothing to do but wait.
func (k *GroupDeletion) Run(ctx context.Context, h *Held) (Verdict, error) {
	p, err := ReadDeletion(h.Job)
	if err != nil {
		return Verdict{End: inventory.JobFailed}, err
	}
	group, err := k.Asker.Store.Group(ctx, h.Job.Subscription, h.Job.Subject)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && group.Generation != h.Job.ID:
		p.Ended = k.Asker.Store.Time()
		return Verdict{End: inventory.JobDone, Payload: p.String()}, nil
	case err != nil:
		return Verdict{}, err
	}
	w := &deletionWork{GroupDeletion: k, held: h, payload: &p, group: group, strays: map[string]inventory.Stray{}}
	defer k.metrics.forget(h.Job.ID)
	if h.Job.State == inventory.JobCancelling {
		return w.cancel(ctx)
	}
	if err := w.load(ctx); err != nil {
		return Verdict{}, err
	}
	return w.run(ctx)
}

// deletionWork is one attempt at a deletion.
type deletionWork struct {
	*GroupDeletion
	held    *Held
	payload *DeletionPayload
	group   inventory.Group
	plan    *deletion
	strays  map[string]inventory.Stray // by member
	errors  map[string]string          // of members, not recorded yet
	// gone are the generations of rows whose resources are not there, and asked those
	// that were asked for once more, both by key.
	gone, asked map[string][16]byte
	open        []DeletionWait // writes that hold the group back
	came        int            // how many members are younger than what is recorded
	answers     chan answer
	calls       sync.WaitGroup
	saved       time.Time
	look        bool // the inventory has to be looked at anew
	looks       int  // for what came back
	lost        bool // the group is not this job's any more
}

// answer is what came of one member's call.
type answer struct {
	key  string
	said said
	text string // of a failure
	look bool   // the inventory has changed beside it
	lost bool
	// absent is the row's generation where nothing is there, and the row stays until
	// the group goes.
	absent [16]byte
}

// run makes calls and hears their answers until all that is left is to wait, or
// the end.
func (w *deletionWork) run(ctx context.Context) (Verdict, error) {
	w.answers = make(chan answer, w.PerJob)
	calling, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer w.calls.Wait()
	defer cut()
	tick := time.NewTicker(w.watch())
	defer tick.Stop()
	for {
		over := w.over()
		if !over && !w.lost {
			w.send(ctx, calling)
		}
		w.measure()
		if w.plan.counts[memberInFlight] == 0 {
			if verdict, ended, err := w.rest(ctx, calling, over); ended || err != nil {
				return verdict, err
			}
			continue
		}
		select {
		case a := <-w.answers:
			w.hear(a)
		case <-tick.C:
			if err := w.watchOver(ctx); err != nil {
				w.finish(cut)
				return Verdict{}, err
			}
		case <-ctx.Done():
			w.finish(cut)
			return Verdict{}, context.Cause(ctx)
		}
	}
}

func (w *deletionWork) now() time.Time { return w.Asker.Store.Time() }

// over tells whether the deletion as a whole has taken too long.
func (w *deletionWork) over() bool { return w.now().Sub(w.held.Job.Created) > w.Limit }

// watch is how often the inventory is looked at for what others find out.
func (w *deletionWork) watch() time.Duration { return max(w.Floor, 10*time.Millisecond) }

// send makes the calls that can be made now. None begins once ctx has ended;
// those that have begun go on with calling.
func (w *deletionWork) send(ctx, calling context.Context) (sent bool) {
	orders := w.plan.next(w.now())
	for _, m := range orders {
		w.launch(ctx, calling, m)
	}
	return len(orders) > 0
}

func (w *deletionWork) launch(ctx, calling context.Context, m *member) {
	key := m.key
	stray, isStray := w.strays[key]
	w.calls.Go(func() {
		var a answer
		p := limits.CatchPanic(func() {
			if isStray {
				a = w.callStray(ctx, calling, stray)
			} else {
				a = w.callRow(ctx, calling, key)
			}
		})
		if p != nil { // an answer is waited for all the same
			w.Log.Error("panic", zap.String("job", w.held.Job.Name()), zap.String("member", key), zap.Error(p))
			a = answer{said: said{result: resultUnsent}, look: true}
		}
		a.key = key
		w.answers <- a
	})
}

func (w *deletionWork) hear(a answer) {
	w.metrics.calls.WithLabelValues(a.said.result.String()).Inc()
	w.look, w.lost = w.look || a.look, w.lost || a.lost
	if a.text != "" {
		w.errors[a.key] = a.text
	}
	w.remember(a.key, a)
	if a.said.result == resultRefused {
		m := w.plan.members[a.key]
		a.said.blockers, a.said.named = w.blockers(m.key, a.text)
		if a.said.after > 0 && !a.said.named {
			a.said.result = resultTransient // it is to be sent again, and waits for nothing else
		}
	}
	w.plan.hear(a.key, a.said, w.now())
}

// remember takes note of a row that may go with the group.
func (w *deletionWork) remember(key string, a answer) {
	if a.absent != [16]byte{} {
		w.gone[key] = a.absent
	}
}

// finish waits for the calls that are under way, for a while: cutting one off
// would leave its outcome open, and the group waiting for that.
func (w *deletionWork) finish(cut context.CancelFunc) {
	patience := time.AfterFunc(concludeTime, cut)
	defer patience.Stop()
	for w.plan.counts[memberInFlight] > 0 {
		w.hear(<-w.answers)
	}
}

// watchOver looks at what others found out and records progress, now and then.
func (w *deletionWork) watchOver(ctx context.Context) error {
	if w.plan.counts[memberAccepted] > 0 || w.look {
		if err := w.refresh(ctx); err != nil {
			return err
		}
	}
	if time.Since(w.saved) < saveEvery {
		return nil
	}
	return w.save(ctx)
}

// rest decides what to do when no call is under way: end, go on, or wait.
func (w *deletionWork) rest(ctx, calling context.Context, over bool) (verdict Verdict, ended bool, err error) {
	if w.lost { // see Run
		return Verdict{Again: w.Floor}, true, nil
	}
	if err := w.refresh(ctx); err != nil {
		return Verdict{}, true, err
	}
	end := w.plan.end()
	switch {
	case end == endEmpty:
		verdict, err = w.close(ctx, over)
		return verdict, true, err
	case over:
		verdict, err = w.fail(ctx, arm.ResourceGroupDeletionTimeout, ", ")
		return verdict, true, err
	case end == endBlocked:
		came, undecided, err := w.lookAround(ctx)
		switch {
		case came, err != nil:
			return Verdict{}, false, err
		case undecided:
			verdict, err = w.again(ctx, w.watch())
			return verdict, true, err
		}
		verdict, err = w.fail(ctx, arm.ResourceGroupDeletionBlocked, ",")
		return verdict, true, err
	case w.send(ctx, calling):
		return Verdict{}, false, nil
	}
	if w.tells(w.waiting()) {
		if err := w.save(ctx); err != nil {
			return Verdict{}, true, err
		}
	}
	pause := w.pause()
	if pause <= longestStay && w.plan.counts[memberAccepted] == 0 {
		return Verdict{}, false, stay(ctx, pause)
	}
	verdict, err = w.again(ctx, pause)
	return verdict, true, err
}

// longestStay is the longest pause for which an attempt goes on: what it has
// seen since it began is worth something, but so is its place.
const longestStay = time.Second

func stay(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pause is how long there is nothing to do.
func (w *deletionWork) pause() time.Duration {
	pause := longestWait
	if at, waits := w.plan.wake(); waits {
		pause = max(w.watch(), min(pause, at.Sub(w.now())))
	}
	if w.plan.counts[memberAccepted] > 0 {
		pause = w.watch()
	}
	left := w.held.Job.Created.Add(w.Limit).Sub(w.now())
	return max(min(pause, left), time.Millisecond)
}
