package health

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample are the configuration's default settings, in round numbers.
func sample() Settings {
	return Settings{
		Failures: 3, Open: time.Second, MaxOpen: 8 * time.Second,
		Unhealthy: 3, Healthy: 2,
		ErrorRatio: 0.5, SlowFactor: 5, Calls: 20, Window: 10 * time.Second,
		Eject: 30 * time.Second, MaxEject: 5 * time.Minute, MaxEjectedShare: 0.5,
		SlowStart: 20 * time.Second,
	}
}

// world is a set with a clock and the notifications that it sent.
type world struct {
	t        testing.TB
	registry *Registry
	set      *Set
	now      time.Duration
	dice     uint64
	reported []Change
	tried    map[trialOf]int // the number of notifications of the address when the trial began
}

func newWorld(t testing.TB, s Settings, n int) *world {
	w := &world{t: t, now: time.Hour, dice: 1, tried: map[trialOf]int{}}
	w.registry = New(s, func(c Change) { w.reported = append(w.reported, c) })
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("https://%c", 'a'+i))
	}
	w.set = w.registry.Set("westus", names...)
	return w
}

func (w *world) random() uint64 { // splitmix64
	w.dice += 0x9e3779b97f4a7c15
	z := w.dice
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (w *world) address(i int) *Address { return w.set.members[i].Address }

func (w *world) choose() (Choice, error) {
	c, ok, err := w.set.Choose(w.now, w.random(), 0)
	if ok != (err == nil) {
		w.t.Fatalf("ok is %v with %v", ok, err)
	}
	return c, err
}

// calls makes n calls, one after the other, and counts the calls of each address.
func (w *world) calls(n int, of func(c Choice)) []int {
	w.t.Helper()
	counts := make([]int, len(w.set.members))
	for range n {
		c, err := w.choose()
		if err != nil {
			w.t.Fatal(err)
		}
		counts[c.Index]++
		of(c)
		c.Release()
	}
	return counts
}

func (w *world) fine(c Choice) {
	c.Connected(w.now)
	c.Answered(w.now, time.Millisecond, 200)
}

// refuse makes n calls of an address fail to connect.
func (w *world) refuse(i, n int) {
	for range n {
		w.address(i).recordUnreachable(w.now, "refused")
	}
}

func (w *world) probe(i, n int, p ProbeOutcome) {
	for range n {
		w.address(i).RecordProbe(w.now, p, "as told")
	}
}

func (w *world) down() *Down {
	w.t.Helper()
	_, err := w.choose()
	var down *Down
	if !errors.As(err, &down) || w.set.Check(w.now) == nil {
		w.t.Fatalf("got %v and %v", err, w.set.Check(w.now))
	}
	return down
}

func (w *world) want(i int, up bool, circuit Circuit) {
	w.t.Helper()
	if s := w.address(i).State(w.now); s.Up != up || s.Circuit != circuit {
		w.t.Fatalf("%s: %+v", w.address(i).Name, s)
	}
}

func TestCircuitOfOneAddress(t *testing.T) {
	w := newWorld(t, sample(), 1)
	w.refuse(0, 2)
	w.want(0, true, Closed)
	w.address(0).recordConnection(w.now) // a success between
	w.refuse(0, 2)
	w.now += 11 * time.Second // too far apart
	w.refuse(0, 2)
	w.want(0, true, Closed)
	w.refuse(0, 1)
	w.want(0, false, Open)
	if down := w.down(); down.RetryAfter != time.Second || down.Region != "westus" {
		t.Errorf("%+v", down)
	}

	// One trial at a time; each failed trial doubles the wait, up to the longest.
	for _, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second} {
		w.now += wait - 1
		w.want(0, false, Open)
		w.now++
		w.want(0, false, HalfOpen)
		c, err := w.choose()
		if err != nil {
			t.Fatal(err)
		}
		if down := w.down(); down.RetryAfter != time.Second {
			t.Errorf("beside the trial: %+v", down)
		}
		c.Unreachable(w.now, "refused")
		c.Release()
		w.want(0, false, Open)
	}

	// A trial without a result is left to the next one, and counts only once.
	w.now += 8 * time.Second
	first, err := w.choose()
	if err != nil {
		t.Fatal(err)
	}
	first.Release()
	second, err := w.choose()
	if err != nil {
		t.Fatal(err)
	}
	w.down()
	second.Connected(w.now)
	w.want(0, true, Closed)
	w.refuse(0, 3)
	w.now += time.Second
	if _, err := w.choose(); err != nil {
		t.Fatal(err)
	}
	second.Release()
	w.down() // the running trial is another one's
}

func TestFailingProbesTakeAnAddressOut(t *testing.T) {
	w := newWorld(t, sample(), 1)
	w.address(0).SetProbed(true)
	w.probe(0, 1, ProbeSucceeded)
	w.refuse(0, 3)
	w.want(0, false, Open)
	w.calls(10, func(Choice) {}) // the last probe connected: calls continue
	w.probe(0, 1, ProbeUnreachable)
	w.down()
	// A probe gives way to one trial; the next one would be it.
	w.probe(0, 1, ProbeSucceeded)
	w.want(0, false, HalfOpen)
	c, err := w.choose()
	if err != nil {
		t.Fatal(err)
	}
	w.down()
	w.probe(0, 1, ProbeSucceeded)
	w.want(0, true, Closed)
	c.Release()
	w.calls(10, w.fine)

	// Without calls, the probes alone open the circuit.
	w.probe(0, 3, ProbeUnreachable)
	w.down()
	w.probe(0, 2, ProbeSucceeded)
	w.want(0, true, Closed)

	// An address that connects but is unhealthy is called if no other is left.
	w.probe(0, 3, ProbeFailed)
	w.want(0, false, Closed)
	w.calls(10, w.fine)
	w.probe(0, 2, ProbeSucceeded)
	w.want(0, true, Closed)

	// Without probes the circuit alone decides.
	w.refuse(0, 3)
	if w.set.Check(w.now) != nil {
		t.Error("the probe was good")
	}
	w.address(0).SetProbed(false)
	w.down()
}

func TestCallsGoToHealthyAddresses(t *testing.T) {
	w := newWorld(t, sample(), 4)
	w.address(1).SetProbed(true)
	w.probe(1, 3, ProbeFailed)
	w.refuse(2, 3)
	if counts := w.calls(1000, w.fine); counts[1] != 0 || counts[2] != 0 || counts[0] < 300 || counts[3] < 300 {
		t.Errorf("%v", counts)
	}
	w.refuse(0, 3)
	w.refuse(3, 3)
	if counts := w.calls(100, w.fine); counts[1] != 100 { // unhealthy, but it connects
		t.Errorf("%v", counts)
	}
	// Without probes a call is the trial, even if there are healthy addresses.
	w.address(1).SetProbed(false)
	w.now += time.Second
	if counts := w.calls(200, w.fine); slices.Contains(counts, 0) {
		t.Errorf("%v", counts)
	}
	for i := range 4 {
		w.want(i, true, Closed)
	}
}

func TestChoiceAvoidsTriedAddresses(t *testing.T) {
	w := newWorld(t, sample(), 3)
	seen := Tried(0)
	for range 3 {
		c, ok, err := w.set.Choose(w.now, w.random(), seen)
		if err != nil || !ok || seen.has(c.Index) {
			t.Fatalf("%v %v %v", c, ok, err)
		}
		seen = seen.With(c.Index)
	}
	if _, ok, err := w.set.Choose(w.now, w.random(), seen); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	if seen.With(64) != seen || seen.has(64) {
		t.Error("indexes beyond 63 belong to no set")
	}
}

func TestLessBusyAddressIsChosen(t *testing.T) {
	w := newWorld(t, sample(), 3)
	var held []Choice
	for range 300 {
		c, err := w.choose()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	for i := range 3 {
		if n := w.address(i).State(w.now).Outstanding; n < 95 || n > 105 {
			t.Errorf("%d calls under way of 300 to three", n)
		}
	}
	for _, c := range held {
		c.Release()
	}
	if n := w.address(0).State(w.now).Outstanding; n != 0 {
		t.Errorf("%d", n)
	}
}

// An ejection counts in every endpoint of the address, but no endpoint loses more than
// its share because of another's judgement.
func TestEndpointsShareAddresses(t *testing.T) {
	w := newWorld(t, sample(), 4)
	alone, pair := w.registry.Set("westus", "https://a"), w.registry.Set("westus", "https://a", "https://b")
	elsewhere := w.registry.Set("eastus", "https://a")
	w.address(0).eject(w.now, ReasonErrors, "as told")
	w.now++
	w.address(1).eject(w.now, ReasonErrors, "as told")
	for range 100 {
		if c, _, _ := w.set.Choose(w.now, w.random(), 0); c.Index < 2 {
			t.Fatal("an ejected address")
		}
		if c, _, _ := pair.Choose(w.now, w.random(), 0); c.Index != 1 {
			t.Fatal("the one that was ejected later is spared")
		}
		if _, ok, _ := alone.Choose(w.now, w.random(), 0); !ok {
			t.Fatal("the only one there is")
		}
	}
	w.refuse(0, 3)
	if alone.Check(w.now) == nil || elsewhere.Check(w.now) != nil {
		t.Error("an address is one in its region, and another in the next")
	}
	if w.registry.Set("westus", "https://a") != alone || len(w.registry.Addresses()) != 5 {
		t.Error("what is known is not made twice")
	}
	w.registry.Retain([]*Set{alone})
	if all := w.registry.Addresses(); len(all) != 1 || all[0] != alone.Addresses()[0] || w.registry.Set("westus", "https://a") != alone {
		t.Errorf("%v", all)
	}
}

func TestChangesAreNotified(t *testing.T) {
	w := newWorld(t, sample(), 1)
	w.refuse(0, 3)
	w.now += time.Second
	w.address(0).Advance(w.now)
	w.refuse(0, 1)
	w.now += 2 * time.Second
	w.address(0).Advance(w.now)
	w.address(0).recordConnection(w.now)
	w.probe(0, 3, ProbeFailed)
	w.probe(0, 2, ProbeSucceeded)
	var got []string
	for _, c := range w.reported {
		got = append(got, fmt.Sprintf("%v %v: %s", c.Up, c.Circuit, c.Reason))
	}
	want := []string{
		"false open: 3 connections in a row could not be made: refused",
		"false half-open: it is time for a trial",
		"false open: the trial failed: refused",
		"false half-open: it is time for a trial",
		"true closed: a call connected",
		"false closed: 3 probes failed: as told",
		"true closed: 2 probes succeeded",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	counts := w.address(0).State(w.now).Counts
	if counts.CircuitOpenings != 2 || counts.Probes[ProbeSucceeded] != 2 || counts.Probes[ProbeFailed] != 3 {
		t.Errorf("%+v", counts)
	}
	if fmt.Sprint(ProbeSucceeded, ProbeFailed, ProbeUnreachable) != "good unwell unreachable" {
		t.Error("outcomes do not print themselves")
	}
}

// Without settings nothing is judged: calls take turns, whatever their results.
func TestZeroSettingsDisableTheirRules(t *testing.T) {
	w := newWorld(t, Settings{}, 2)
	counts := w.calls(400, func(c Choice) {
		c.Unreachable(w.now, "refused")
		c.Failed(w.now)
		c.Answered(w.now, time.Hour, 500)
	})
	w.probe(0, 10, ProbeFailed)
	if counts[0] < 100 || counts[1] < 100 || len(w.reported) != 0 {
		t.Errorf("%v %v", counts, w.reported)
	}
}

func TestChoosingDoesNotAllocate(t *testing.T) {
	w := newWorld(t, sample(), 5)
	w.refuse(0, 3)
	if n := testing.AllocsPerRun(1000, func() {
		c, _, _ := w.set.Choose(w.now, w.random(), 0)
		c.Connected(w.now)
		c.Answered(w.now, time.Millisecond, 200)
		c.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A drained address gets calls only if no other one can be called, whatever its own state, and
// is tried again in that case.
func TestDrainedAddressComesLast(t *testing.T) {
	w := newWorld(t, sample(), 3)
	var drained []string
	w.registry.SetDrained(func(place string) bool { return slices.Contains(drained, place) })
	drain := func(places ...string) {
		drained = places
		w.now += drainAge
	}
	want := func(all ...bool) {
		t.Helper()
		for i, n := range w.calls(60, w.fine) {
			if n > 0 != all[i] {
				t.Fatalf("%s got %d calls", w.address(i).Name, n)
			}
		}
	}
	want(true, true, true)
	drain("https://a")
	want(false, true, true)
	drain("https://a", "https://b")
	want(false, false, true)
	w.refuse(2, sample().Failures)
	want(true, true, false)
	w.refuse(0, sample().Failures)
	w.refuse(1, sample().Failures)
	if err := w.set.Check(w.now); err == nil {
		t.Fatal("somebody is there")
	}
	w.now += sample().MaxOpen
	w.calls(3, w.fine) // one trial each
	w.now += sample().SlowStart
	want(false, false, true)
	drain()
	want(true, true, true)
}
