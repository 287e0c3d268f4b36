package deletionplan

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"portico/inventory"
)

// thing is a resource of a simulated provider.
type thing struct {
	key, Type, endpoint string
	parent              string
	refuses             bool
	needs               []int // that have to go before it

	never       bool          // it refuses for ever
	async       time.Duration // its delete is accepted, and takes so long
	fails       int           // so many accepted deletes fail
	transient   int           // so many calls are answered 500
	unreachable int           // so many calls get no answer
	back        bool          // it comes back after its delete, once

	// writes is how long a write of its own runs, and deletes somebody else's delete of it,
	// which fails; they begin after a while. Meanwhile deletes of the thing are refused
	// without a reason, and those of what awaits its write too.
	begins, writes, deletes time.Duration
	vanishes                bool  // its write fails, and leaves nothing behind
	awaits                  []int // see writes

	writing, deleting    bool
	there, working, came bool
}

// naming is how much a refusal tells.
type naming int

const (
	namesAll naming = iota
	namesOne
	namesNone
)

// world is a provider with its resources, the inventory's rows of them, and a
// clock. Calls take a constant time; what they do happens at their end.
type world struct {
	random  *rand.Rand
	naming  naming
	latency time.Duration
	things  []*thing
	index   map[string]int
	below   map[string][]*thing
	rows    map[string]*row
	now     time.Time
	events  events
	serial  int
	epoch   int // of the plan; calls of an earlier one are no one's

	calls, settled int
}

// row is what the inventory has of a thing.
type row struct {
	accepted, doubted bool
	theirs            bool   // the delete of somebody else is followed
	busy              string // the write that is followed
}

func (r *row) followed() bool { return r.accepted || r.theirs }

type event struct {
	at     time.Time
	serial int
	run    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

func newWorld(seed uint64, n naming, things []*thing) *world {
	w := &world{
		random: rand.New(rand.NewPCG(seed, 7)), naming: n, latency: 100 * time.Millisecond, things: things,
		index: map[string]int{}, below: map[string][]*thing{}, rows: map[string]*row{}, now: time.Unix(1_000_000, 0),
	}
	for i, th := range things {
		th.there = true
		w.index[th.key] = i
		w.below[th.parent] = append(w.below[th.parent], th)
		w.rows[th.key] = &row{}
	}
	for _, th := range things {
		if th.writes+th.deletes > 0 {
			w.after(th.begins, func() { w.write(th) })
		}
	}
	return w
}

// write has a write of a thing accepted by its provider. What it comes to is known a while
// later.
func (w *world) write(th *thing) {
	r := w.rows[th.key]
	if !th.there || th.working || r == nil {
		return
	}
	if th.writes > 0 {
		th.writing, r.busy = true, "PUT"
	} else {
		th.deleting, r.theirs = true, true
	}
	w.after(th.writes+th.deletes, func() {
		if th.writing && th.there && th.vanishes {
			w.lose(th)
		}
		th.writing, th.deleting = false, false
		w.after(w.latency, func() {
			if r.busy, r.theirs = "", false; w.rows[th.key] == r && !th.there {
				w.drop(th.key)
			}
		})
	})
}

func (w *world) after(d time.Duration, run func()) {
	w.serial++
	heap.Push(&w.events, event{w.now.Add(d), w.serial, run})
}

// step lets time go on until something has happened, or at most until a time.
func (w *world) step(until time.Time) {
	if len(w.events) == 0 || w.events[0].at.After(until) {
		w.now = until
		return
	}
	e := heap.Pop(&w.events).(event)
	w.now = e.at
	e.run()
}

// blockers are the things that keep one from being deleted at present.
func (w *world) blockers(th *thing) (keys []string) {
	for _, i := range th.needs {
		if w.things[i].there {
			keys = append(keys, w.things[i].key)
		}
	}
	for _, child := range w.below[th.key] {
		if th.refuses && child.there {
			keys = append(keys, child.key)
		}
	}
	return keys
}

// busy reports whether a thing's own write runs, or one that its provider does not name.
func (w *world) busy(th *thing) bool {
	return th.writing || th.deleting || slices.ContainsFunc(th.awaits, func(i int) bool { return w.things[i].there && w.things[i].writing })
}

// take is the provider's answer to a DELETE.
func (w *world) take(th *thing) Result {
	switch {
	case th.unreachable > 0:
		th.unreachable--
		return Result{Outcome: OutcomeUnreachable}
	case th.transient > 0:
		th.transient--
		return Result{Outcome: OutcomeTransient}
	case !th.there:
		return Result{Outcome: OutcomeGone}
	case th.working:
		return Result{Outcome: OutcomeAccepted}
	case w.busy(th):
		return Result{Outcome: OutcomeRefused}
	}
	blockers := w.blockers(th)
	switch {
	case th.never:
		return Result{Outcome: OutcomeRefused}
	case len(blockers) > 0 && w.naming == namesAll:
		return Result{Outcome: OutcomeRefused, Blockers: blockers, Named: true}
	case len(blockers) > 0 && w.naming == namesOne:
		return Result{Outcome: OutcomeRefused, Blockers: blockers[:1], Named: true}
	case len(blockers) > 0:
		return Result{Outcome: OutcomeRefused}
	case th.async > 0:
		th.working = true
		w.after(th.async, func() {
			th.working = false
			if th.fails > 0 {
				th.fails--
			} else {
				w.lose(th)
			}
			if r := w.rows[th.key]; r != nil && r.accepted { // followed, and asked for
				if r.accepted = false; !th.there {
					w.drop(th.key)
				}
			}
		})
		return Result{Outcome: OutcomeAccepted}
	}
	w.lose(th)
	return Result{Outcome: OutcomeGone}
}

// lose lets a thing go, and what lies below it.
func (w *world) lose(th *thing) {
	th.there = false
	if th.back {
		th.back, th.came = false, true
		w.after(time.Second, func() { th.there = true })
	}
	for _, child := range w.below[th.key] {
		if child.there {
			w.lose(child)
		}
	}
}

// drop removes a row, and has those below it asked for.
func (w *world) drop(key string) {
	delete(w.rows, key)
	for _, child := range w.below[key] {
		r := w.rows[child.key]
		if r == nil {
			continue
		}
		r.doubted = true
		w.after(w.latency, func() {
			if now := w.rows[child.key]; now != r {
				return
			}
			if r.doubted = false; !child.there {
				w.drop(child.key)
			}
		})
	}
}

// call makes a call and hands its answer to done, if the plan is still the one
// that made it. A killed runner's call is made or not, and settled or not.
func (w *world) call(key string, done func(Result)) {
	r := w.rows[key]
	if r == nil || r.followed() {
		// The intent is refused, as what it was meant for has changed.
		w.after(0, func() { done(Result{Outcome: OutcomeUnsent}) })
		return
	}
	th, epoch, busy := w.things[w.index[key]], w.epoch, r.busy
	w.calls++
	w.after(w.latency, func() {
		orphaned := epoch != w.epoch
		if orphaned && w.random.IntN(3) == 0 {
			return // it was never sent
		}
		answer := w.take(th)
		if orphaned && w.random.IntN(2) == 0 {
			if answer.Outcome == OutcomeAccepted {
				return // as after a crash: the row knows nothing of it
			}
			return
		}
		if now := w.rows[key]; now != nil {
			switch answer.Outcome {
			case OutcomeGone:
				w.settled++
				w.drop(key)
			case OutcomeAccepted:
				now.accepted = th.working
				if !th.there {
					w.drop(key)
				}
			}
		}
		if !orphaned {
			if now := w.rows[key]; now != nil {
				busy = cmp.Or(busy, now.busy)
			}
			answer.Busy = busy
			if now := w.rows[key]; now != nil && now.theirs && answer.Outcome == OutcomeRefused {
				answer.Outcome = OutcomeUnproven
			}
			done(answer)
		}
	})
}

// mustStay are the keys of what no one could delete.
func (w *world) mustStay() (keys []string) {
	// What is left waits for itself in a circle unless it can be taken away.
	left := slices.Repeat([]bool{true}, len(w.things))
	for i, th := range w.things {
		if th.vanishes {
			w.clear(left, i)
		}
	}
	for changed := true; changed; {
		changed = false
		for i, th := range w.things {
			free := left[i] && !th.never
			for _, need := range th.needs {
				free = free && !left[need]
			}
			for j, child := range w.things {
				free = free && !(th.refuses && child.parent == th.key && left[j])
			}
			if free {
				w.clear(left, i)
				changed = true
			}
		}
	}
	for i, th := range w.things {
		if left[i] {
			keys = append(keys, th.key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (w *world) clear(left []bool, i int) {
	left[i] = false
	for j, child := range w.things {
		if child.parent == w.things[i].key && left[j] {
			w.clear(left, j)
		}
	}
}

// plan makes the deletion from what the inventory has, and maybe from what an
// earlier one has recorded.
func (w *world) plan(limits Limits, order []inventory.TypeOrder, earlier *Queue) *Queue {
	d := New(limits, order)
	for _, th := range w.things {
		if r := w.rows[th.key]; r != nil {
			d.Add(w.member(th, r, earlier))
		}
	}
	if earlier != nil {
		came := 0
		for key := range d.Resources {
			if earlier.Resources[key] == nil {
				came++
			}
		}
		d.Resume(earlier.Total, earlier.Total-len(earlier.Resources), came, earlier.pass)
	}
	return d
}

func (w *world) member(th *thing, r *row, earlier *Queue) *Resource {
	m := &Resource{Key: th.key, Type: th.Type, Region: th.endpoint, Endpoint: th.endpoint, Parent: th.parent, Refuses: th.refuses}
	if earlier != nil && earlier.Resources[th.key] != nil {
		record := earlier.Resources[th.key].Record()
		record.Blockers = slices.Clone(record.Blockers)
		m.Restore(record)
	}
	m.Busy = cmp.Or(r.busy, m.Busy)
	if r.followed() && m.State != Accepted || m.State == Waiting && r.doubted && th.parent != "" && w.rows[th.parent] == nil {
		m.State, m.Orphan, m.Blockers = Accepted, true, nil
	}
	return m
}

// refresh shows a plan what the inventory has.
func (w *world) refresh(d *Queue) {
	for _, key := range keysOf(d) {
		if r := w.rows[key]; r == nil {
			d.Drop(key)
		} else {
			d.Observe(key, RowState{Accepted: r.followed(), Unverified: r.doubted, Busy: r.busy, Failure: Result{Outcome: OutcomeRefused}})
		}
	}
	for _, th := range w.things {
		if r := w.rows[th.key]; r != nil && d.Resources[th.key] == nil {
			d.Add(w.member(th, r, nil))
		}
	}
}

func keysOf(d *Queue) []string {
	keys := make([]string, 0, len(d.Resources))
	for key := range d.Resources {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// ending is what a run came to.
type ending struct {
	end   End
	plan  *Queue
	took  time.Duration
	calls int
}

// run deletes everything, as the job does, and kills the runner with a chance of
// one in kill at each step (0: never).
func (w *world) run(limits Limits, order []inventory.TypeOrder, kill int) (ending, error) {
	started, watch := w.now, 50*time.Millisecond
	d := w.plan(limits, order, nil)
	seen := w.now
	kills := 30
	for range 200_000 {
		if kill > 0 && kills > 0 && w.random.IntN(kill) == 0 {
			kills--
			w.epoch++
			earlier := d
			if w.random.IntN(2) == 0 {
				earlier = nil // nothing of it was recorded
			}
			d = w.plan(limits, order, earlier)
		}
		plan := d
		for _, m := range d.Next(w.now) {
			w.call(m.Key, func(s Result) {
				if plan == d {
					d.OnResult(m.Key, s, w.now)
				}
			})
		}
		if err := d.sound(); err != nil {
			return ending{}, err
		}
		switch e := d.End(); {
		case e == EndEmpty && w.look(), e == EndBlocked && d.counts[InFlight] == 0 && w.returned():
			w.refresh(d)
		case e != EndNone && d.counts[InFlight] == 0:
			return ending{e, d, w.now.Sub(started), w.calls}, nil
		}
		w.step(w.now.Add(watch))
		if w.now.Sub(seen) >= watch {
			seen = w.now
			w.refresh(d)
		}
	}
	return ending{}, fmt.Errorf("it does not end: %v", d.counts)
}

// look is the last look; it finds what has a row still as well.
func (w *world) look() (found bool) { return w.returned() || len(w.rows) > 0 }

// returned gives what is there without a row one.
func (w *world) returned() (found bool) {
	for _, th := range w.things {
		if th.there && w.rows[th.key] == nil {
			w.rows[th.key] = &row{}
			found = true
		}
	}
	return found
}

// sound checks the plan's own counts, and its limits.
func (p *Queue) sound() error {
	var counts [Parked + 1]int
	at, active, busy := map[string]int{}, map[string]int{}, 0
	for _, m := range p.Resources {
		counts[m.State]++
		if m.State == Parked && m.Busy != "" {
			busy++
		}
		if m.State == InFlight {
			at[m.Endpoint]++
		}
		if m.active() {
			active[m.Type]++
		}
		for _, b := range m.Blockers {
			if m.State != Parked {
				return fmt.Errorf("%s is in state %d and waits for %v", m.Key, m.State, m.Blockers)
			}
			if p.Resources[b] == nil {
				return fmt.Errorf("%s waits for %s, which has gone", m.Key, b)
			}
		}
	}
	if counts != p.counts || counts[InFlight] > p.limits.PerJob {
		return fmt.Errorf("counts %v, counted %v", p.counts, counts)
	}
	if busy != p.Busy() {
		return fmt.Errorf("%d are busy, counted %d", busy, p.Busy())
	}
	for endpoint, n := range at {
		if n > p.limits.PerEndpoint || n != p.atEndpoint[endpoint] {
			return fmt.Errorf("%d calls at %s, counted %d", n, endpoint, p.atEndpoint[endpoint])
		}
	}
	for typ, n := range p.activeOf {
		if active[typ] != n {
			return fmt.Errorf("%d of %s are active, counted %d", active[typ], typ, n)
		}
	}
	return nil
}
