package deployplan

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
	plan     *Graph
	now      time.Time
	orders   []Order // under way
	mayLand  []bool  // it was sent, and may land without an answer
	canceled bool
	grows    int // how many steps step 0 turns out to hold
}

func (w *world) clone() *world {
	p := *w.plan
	p.Steps = slices.Clone(p.Steps)
	return &world{&p, w.now, slices.Clone(w.orders), slices.Clone(w.mayLand), w.canceled, w.grows}
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
	fmt.Fprint(&b, w.orders, w.canceled, w.grows)
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
	Probe:  {Done, Refused, GoesOn, Lost, Absent, Transient, Throttled},
	Follow: {Done, Refused, GoesOn, Transient, Throttled},
}

// nestedOutcomes are those of an act with a nested deployment: no provider has a part in it.
var nestedOutcomes = map[Act][]Outcome{
	Send:   {Done, Refused, GoesOn, Transient},
	Follow: {Done, Refused, Transient},
}

func (w *world) outcomesOf(o Order) []Outcome {
	if w.plan.Steps[o.Step].Nested {
		return nestedOutcomes[o.Act]
	}
	return outcomes[o.Act]
}

// settle takes an outcome. A nested deployment that begins may turn out to hold steps, each of
// which waits for the one before.
func (w *world) settle(o Order, outcome Outcome) {
	if o.Act == Send && o.Step == 0 && outcome == GoesOn && w.grows > 0 {
		var steps []PlannedStep
		var holds []int
		for i := range w.grows {
			s := PlannedStep{}
			if i > 0 {
				s.DependsOn = []int{len(w.plan.Steps) + i - 1}
			}
			steps, holds = append(steps, s), append(holds, len(w.plan.Steps)+i)
		}
		w.plan.Grow(0, steps, holds)
		w.mayLand = append(w.mayLand, make([]bool, w.grows)...)
		w.grows = 0
	}
	w.plan.Settle(o, outcome, 0, w.now)
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
		for _, outcome := range w.outcomesOf(o) {
			next := w.clone()
			next.orders = slices.Delete(next.orders, i, i+1)
			next.mayLand[o.Step] = outcome == Lost || o.Act != Send && next.mayLand[o.Step] && (outcome == Transient || outcome == Throttled)
			next.settle(o, outcome)
			k.endsAsItsSteps(next, o)
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

// endsAsItsSteps holds the end of a nested deployment to what its steps came to.
func (k *walk) endsAsItsSteps(w *world, o Order) {
	s := &w.plan.Steps[o.Step]
	if o.Act != Follow || !s.Nested || s.State != Succeeded {
		return
	}
	for _, held := range s.Holds {
		if state := w.plan.Steps[held].State; state != Succeeded {
			k.t.Fatalf("%s: the nested deployment %d has succeeded, and its step %d is %v", k.graph, o.Step, held, state)
		}
	}
}

// killed is a world whose process has died: what it was sending has been recorded as sent.
func killed(w *world) *world {
	next := w.clone()
	for _, o := range next.orders {
		if o.Act == Send && !next.plan.Steps[o.Step].Nested {
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
		if _, over := w.plan.NestedEnd(o.Step); !over && o.Act == Follow && w.plan.Steps[o.Step].Nested {
			k.t.Fatalf("%s: the nested deployment %d is ended before what it holds", k.graph, o.Step)
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
		room := s.Nested || n < bounds.PerDeployment && (s.Endpoint == "" || at[s.Endpoint] < bounds.PerEndpoint)
		if s.State == Waiting && !s.busy && w.plan.ready(s) && !s.Due.After(w.now) && room {
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
	if within := w.plan.Steps[step].within; within != nil && w.plan.Steps[*within].State != Accepted {
		k.t.Fatalf("%s: step %d is sent before the nested deployment that holds it has begun", k.graph, step)
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
		var leftOut bool
		if s.within != nil {
			around := &w.plan.Steps[*s.within]
			leftOut = around.State == Succeeded
			lame = lame || around.State != Succeeded
		}
		if _, over := w.plan.NestedEnd(i); !over {
			k.t.Fatalf("%s: the nested deployment %d has ended, and its steps have not", k.graph, i)
		}
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
			if lame && !leftOut && s.within == nil {
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
			steps := make([]PlannedStep, 3)
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

// Nested deployments, and those whose steps are known once they begin, in the same way.
func TestWalkOfNestedDeployments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		grows int
		steps []PlannedStep
	}{
		{"one holds two, another waits for it", 0, []PlannedStep{{Nested: true, Holds: []int{1, 2}}, {}, {DependsOn: []int{1}}, {DependsOn: []int{0}}}},
		{"one holds two side by side and waits for another", 0, []PlannedStep{{Nested: true, Holds: []int{1, 2}, DependsOn: []int{3}}, {Endpoint: "a"}, {Endpoint: "a"}, {}}},
		{"one in another", 0, []PlannedStep{{Nested: true, Holds: []int{1, 2}}, {Nested: true, Holds: []int{3}}, {DependsOn: []int{1}}, {}}},
		{"one that is empty, and another waits for it", 0, []PlannedStep{{Nested: true}, {DependsOn: []int{0}}}},
		{"one that turns out to hold two, another waits for it", 2, []PlannedStep{{Nested: true}, {DependsOn: []int{0}}}},
		{"one that turns out to hold one, beside another", 1, []PlannedStep{{Nested: true, DependsOn: []int{1}}, {}, {}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := &walk{t: t, seen: map[string]bool{}, ends: map[State]int{}, graph: c.name}
			k.explore(&world{plan: New(c.steps, bounds), now: start, mayLand: make([]bool, len(c.steps)), grows: c.grows})
			for _, end := range []State{Succeeded, Failed, Canceled} {
				if k.ends[end] == 0 {
					t.Errorf("no way leads to %v", end)
				}
			}
			t.Logf("%d states", len(k.seen))
		})
	}
}

func TestTransientFailuresEndWithTheBudget(t *testing.T) {
	t.Parallel()
	p := New([]PlannedStep{{}}, bounds)
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

func TestARequestedPauseIsKept(t *testing.T) {
	t.Parallel()
	p := New([]PlannedStep{{}, {}}, bounds)
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
	p := New([]PlannedStep{{}, {State: Accepted}, {DependsOn: []int{1}}, {State: Succeeded}}, bounds)
	if failed := p.Expire(); !slices.Equal(failed, []int{1}) {
		t.Error(failed)
	}
	if end, over := p.Over(); end != Failed || !over {
		t.Error(end, over)
	}
	late := New([]PlannedStep{{}, {DependsOn: []int{0}}, {State: Succeeded}}, bounds) // no gateway ran
	if failed := late.Expire(); !slices.Equal(failed, []int{0, 1}) {
		t.Error(failed)
	}
	if end, over := late.Over(); end != Failed || !over {
		t.Error(end, over)
	}
	if done, of := p.Counts(); done != 4 || of != 4 {
		t.Error(done, of)
	}
}
