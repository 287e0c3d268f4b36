package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	start  = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	bounds = Limits{PerDeployment: 2, PerEndpoint: 1, Budget: 2 * time.Second, Pause: time.Second}
)

// world is a plan with what the providers know.
type world struct {
	plan     *Plan
	now      time.Time
	orders   []Order // under way
	mayLand  []bool  // it was sent, and may land without an answer
	canceled bool
}

func (w *world) clone() *world {
	p := *w.plan
	p.Steps = slices.Clone(p.Steps)
	return &world{&p, w.now, slices.Clone(w.orders), slices.Clone(w.mayLand), w.canceled}
}

// key is all that what follows depends on.
func (w *world) key() string {
	var b strings.Builder
	for i, s := range w.plan.Steps {
		trouble := time.Duration(-1)
		if !s.Trouble.IsZero() {
			trouble = min(w.now.Sub(s.Trouble), bounds.Budget)
		}
		fmt.Fprint(&b, s.State, s.busy, max(0, s.Due.Sub(w.now)), trouble, w.mayLand[i], ";")
	}
	fmt.Fprint(&b, w.orders, w.canceled)
	return b.String()
}

type walk struct {
	t     *testing.T
	seen  map[string]bool
	ends  map[State]int
	graph string
}

// outcomes are those that an act may have.
var outcomes = map[Act][]Outcome{
	Send:   {Done, Refused, GoesOn, Lost, Transient, Throttled},
	Ask:    {Done, Refused, GoesOn, Lost, Absent, Transient, Throttled},
	Follow: {Done, Refused, GoesOn, Transient, Throttled},
}

// explore goes on in every way: each order under way may come to each outcome, the
// deployment may be canceled, and its process killed.
func (k *walk) explore(w *world) {
	k.order(w)
	key := w.key()
	if k.seen[key] {
		return
	}
	k.seen[key] = true
	if end, over := w.plan.Over(); over {
		k.finished(w, end)
		return
	}
	for i, o := range w.orders {
		for _, outcome := range outcomes[o.Act] {
			next := w.clone()
			next.orders = slices.Delete(next.orders, i, i+1)
			next.mayLand[o.Step] = outcome == Lost || o.Act != Send && next.mayLand[o.Step] && (outcome == Transient || outcome == Throttled)
			next.plan.Settle(o, outcome, 0, next.now)
			k.explore(next)
		}
	}
	if !w.canceled {
		next := w.clone()
		next.canceled = true
		next.plan.Cancel()
		k.explore(next)
	}
	if len(w.orders) > 0 {
		k.explore(killed(w))
		return
	}
	due, waits := w.plan.Wake(w.now)
	if !waits {
		k.t.Fatalf("%s: nothing is under way, nothing is awaited, and it is not over: %s", k.graph, w.key())
	}
	next := w.clone()
	next.now = due
	k.explore(next)
}

// killed is a world whose process has died: what it was sending has been recorded as sent.
func killed(w *world) *world {
	next := w.clone()
	for _, o := range next.orders {
		if o.Act == Send {
			next.plan.Steps[o.Step].State, next.mayLand[o.Step] = Sent, true
		}
		next.plan.Steps[o.Step].busy = false
	}
	next.orders = nil
	next.plan = New(next.plan.Steps, bounds)
	if next.canceled {
		next.plan.Cancel()
	}
	return next
}

// order takes the plan's orders, and holds them to the rules.
func (k *walk) order(w *world) {
	for _, o := range w.plan.Next(w.now) {
		if o.Act == Send {
			k.mayBeSent(w, o.Step)
		}
		w.orders = append(w.orders, o)
	}
	n, at := w.plan.running()
	if n > bounds.PerDeployment {
		k.t.Fatalf("%s: %d run side by side", k.graph, n)
	}
	for endpoint, n := range at {
		if endpoint != "" && n > bounds.PerEndpoint {
			k.t.Fatalf("%s: %d run at %s", k.graph, n, endpoint)
		}
	}
	for i := range w.plan.Steps {
		s := &w.plan.Steps[i]
		room := n < bounds.PerDeployment && (s.Endpoint == "" || at[s.Endpoint] < bounds.PerEndpoint)
		if s.State == Waiting && !s.busy && w.plan.free(s) && !s.Due.After(w.now) && room {
			k.t.Fatalf("%s: step %d could be sent, and is not: %s", k.graph, i, w.key())
		}
	}
}

func (k *walk) mayBeSent(w *world, step int) {
	for _, on := range w.plan.Steps[step].DependsOn {
		if w.plan.Steps[on].State != Succeeded {
			k.t.Fatalf("%s: step %d is sent before %d has succeeded", k.graph, step, on)
		}
	}
	if w.mayLand[step] {
		k.t.Fatalf("%s: step %d is sent again while it may land: %s", k.graph, step, w.key())
	}
	if w.canceled {
		k.t.Fatalf("%s: step %d is sent after the deployment was canceled", k.graph, step)
	}
}

func (k *walk) finished(w *world, end State) {
	k.ends[end]++
	want := Succeeded
	for i, s := range w.plan.Steps {
		lame := slices.ContainsFunc(s.DependsOn, func(on int) bool { return w.plan.Steps[on].State != Succeeded })
		switch s.State {
		case Failed:
			want = Failed
		case Ended:
			if !lame {
				k.t.Fatalf("%s: step %d was ended, and all that it depends on has succeeded", k.graph, i)
			}
		case Canceled:
			if !w.canceled {
				k.t.Fatalf("%s: step %d was canceled by nobody", k.graph, i)
			}
		case Succeeded:
			if lame {
				k.t.Fatalf("%s: step %d has succeeded before what it depends on", k.graph, i)
			}
		}
	}
	if w.canceled {
		want = Canceled
	}
	if end != want {
		k.t.Fatalf("%s: it ends as %v, and not %v", k.graph, end, want)
	}
}

// Every graph of three steps, each outcome of each order, cancelled and killed at any point.
func TestWalk(t *testing.T) {
	t.Parallel()
	states := 0
	edges := [][2]int{{1, 0}, {2, 0}, {2, 1}}
	for graph := range 1 << len(edges) {
		for _, endpoints := range [][3]string{{"a", "a", "b"}, {"", "", ""}} {
			steps := make([]Step, 3)
			name := fmt.Sprint(endpoints)
			for i, e := range edges {
				if graph&(1<<i) != 0 {
					steps[e[0]].DependsOn = append(steps[e[0]].DependsOn, e[1])
					name += fmt.Sprintf(" %d→%d", e[0], e[1])
				}
			}
			for i := range steps {
				steps[i].Endpoint = endpoints[i]
			}
			k := &walk{t: t, seen: map[string]bool{}, ends: map[State]int{}, graph: name}
			k.explore(&world{plan: New(steps, bounds), now: start, mayLand: make([]bool, 3)})
			for _, end := range []State{Succeeded, Failed, Canceled} {
				if k.ends[end] == 0 {
					t.Errorf("%s: no way leads to %v", name, end)
				}
			}
			states += len(k.seen)
		}
	}
	t.Logf("%d states", states)
}

func TestTransientFailuresEndWithTheBudget(t *testing.T) {
	t.Parallel()
	p := New([]Step{{}}, bounds)
	now := start
	for tries := 1; ; tries++ {
		orders := p.Next(now)
		if len(orders) != 1 || orders[0].Act != Send {
			t.Fatalf("%d: %v", tries, orders)
		}
		p.Settle(orders[0], Transient, 0, now)
		if p.Steps[0].State == Failed {
			if tries != 3 {
				t.Errorf("%d tries", tries)
			}
			return
		}
		due, _ := p.Wake(now)
		if !due.Equal(now.Add(bounds.Pause)) {
			t.Fatal(due)
		}
		now = due
	}
}

func TestAPauseThatIsAskedForIsKept(t *testing.T) {
	t.Parallel()
	p := New([]Step{{}, {}}, bounds)
	orders := p.Next(start)
	p.Settle(orders[0], Throttled, time.Minute, start)
	p.Settle(orders[1], GoesOn, 0, start)
	if due, _ := p.Wake(start); !due.Equal(start.Add(bounds.Pause)) {
		t.Error(due)
	}
	if next := p.Next(start.Add(59 * time.Second)); len(next) != 1 || next[0] != (Order{1, Follow}) {
		t.Error(next)
	}
	if next := p.Next(start.Add(time.Minute)); len(next) != 1 || next[0] != (Order{0, Send}) {
		t.Error(next)
	}
}

func TestADeploymentThatTakesTooLongEnds(t *testing.T) {
	t.Parallel()
	p := New([]Step{{}, {State: Accepted}, {DependsOn: []int{1}}, {State: Succeeded}}, bounds)
	if ran := p.Expire(); !slices.Equal(ran, []int{1}) {
		t.Error(ran)
	}
	if end, over := p.Over(); end != Failed || !over {
		t.Error(end, over)
	}
	if done, of := p.Counts(); done != 4 || of != 4 {
		t.Error(done, of)
	}
}
