package health

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// drawn are random settings.
func drawn(t *rapid.T) Settings {
	return Settings{
		Failures: rapid.IntRange(0, 4).Draw(t, "failures"),
		Open:     time.Second, MaxOpen: time.Duration(rapid.IntRange(1, 20).Draw(t, "longestOpen")) * time.Second,
		Unhealthy: rapid.IntRange(0, 4).Draw(t, "unhealthy"), Healthy: rapid.IntRange(1, 4).Draw(t, "healthy"),
		ErrorRatio: rapid.SampledFrom([]float64{0, 0.2, 1}).Draw(t, "errorRatio"),
		SlowFactor: rapid.SampledFrom([]float64{0, 2}).Draw(t, "slowFactor"),
		Calls:      rapid.IntRange(1, 5).Draw(t, "calls"), Window: 10 * time.Second,
		Eject: 10 * time.Second, MaxEject: 100 * time.Second,
		MaxEjectedShare: rapid.SampledFrom([]float64{0, 0.3, 0.5, 1}).Draw(t, "most"),
		SlowStart:       rapid.SampledFrom([]time.Duration{0, 20 * time.Second}).Draw(t, "slowStart"),
	}
}

// In any order of events: no more than the share is ejected, no set is down without
// cause, there is one trial at a time, and addresses that stay healthy return.
func TestInvariantsHoldForAnySequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		settings, n := drawn(t), rapid.IntRange(1, 6).Draw(t, "addresses")
		w := newWorld(quiet{t: t}, settings, n)
		w.dice = rapid.Uint64().Draw(t, "dice")
		watched := rapid.Bool().Draw(t, "watched")
		for i := range n {
			w.address(i).SetProbed(watched)
		}
		var held []Choice
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			w.now += time.Duration(rapid.IntRange(0, 3000).Draw(t, "pass")) * time.Millisecond
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step < 5:
				among, down := w.set.Candidates(w.now)
				if c, err := w.choose(); (err == nil) != (down == nil) || err == nil && !slices.Contains(among, c.Index) {
					t.Fatalf("chose %d (%v) among %v (%v)", c.Index, err, among, down)
				} else if err == nil {
					if w.doubled(held, c) {
						t.Fatalf("two trials of %s at a time", w.address(c.Index).Name)
					}
					held = append(held, c)
				}
			case step < 8 && len(held) > 0:
				i := rapid.IntRange(0, len(held)-1).Draw(t, "call")
				c := held[i]
				held = append(held[:i], held[i+1:]...)
				switch rapid.IntRange(0, 4).Draw(t, "came to") {
				case 0:
					c.Unreachable(w.now, "refused")
				case 1:
					c.Connected(w.now)
					c.Answered(w.now, time.Duration(rapid.IntRange(1, 900).Draw(t, "took"))*time.Millisecond, 200)
				case 2:
					c.Connected(w.now)
					c.Answered(w.now, time.Millisecond, 500)
				case 3:
					c.Failed(w.now)
				}
				c.Release()
			case watched:
				w.probe(rapid.IntRange(0, n-1).Draw(t, "probed"), 1, ProbeOutcome(rapid.IntRange(0, 2).Draw(t, "outcome"))) //nolint:gosec // 0 to 2
			}
			if err := w.consistent(held); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range held {
			c.Release()
		}
		w.recovers(t, watched)
	})
}

// trialOf is one trial of one address.
type trialOf struct {
	index int
	trial uint64
}

func (c Choice) mark() trialOf { return trialOf{c.Index, c.trial} }

// doubled reports whether a trial runs beside another undecided one.
func (w *world) doubled(held []Choice, c Choice) bool {
	if c.trial == 0 {
		return false
	}
	decided := len(w.reported) // the latest change of the address
	for decided > 0 && w.reported[decided-1].Address != w.address(c.Index) {
		decided--
	}
	doubled := slices.ContainsFunc(held, func(h Choice) bool {
		return h.Index == c.Index && h.trial != 0 && w.tried[h.mark()] == decided
	})
	w.tried[c.mark()] = decided
	return doubled
}

// consistent checks what holds at any time.
func (w *world) consistent(held []Choice) error {
	s := w.registry.settings.Load()
	w.set.current(w.now)
	ejected, reachable := 0, false
	outstanding := make([]int64, len(w.set.members))
	trials := make([]int, len(w.set.members))
	for _, c := range held {
		outstanding[c.Index]++
		if c.trial != 0 && c.trial == w.address(c.Index).trials {
			trials[c.Index]++
		}
	}
	for i := range w.set.members {
		a := w.address(i)
		if a.ejection.on {
			ejected++
		}
		if a.circuit.state == Closed || a.circuit.state == HalfOpen && !a.circuit.trialRunning || a.circuit.state == Open && a.probes.enabled && !a.probes.unreachable {
			reachable = true
		}
		if a.outstanding.Load() != outstanding[i] {
			return fmt.Errorf("%s: %d calls under way, want %d", a.Name, a.outstanding.Load(), outstanding[i])
		}
		// A trial that another call has decided is none any more.
		if a.circuit.trialRunning && (a.circuit.state != HalfOpen || trials[i] != 1) {
			return fmt.Errorf("%s: trying is %v with %d trials, %v", a.Name, a.circuit.trialRunning, trials[i], a.circuit.state)
		}
	}
	if most := s.ejectable(len(w.set.members)); ejected > most {
		return fmt.Errorf("%d of %d are ejected, at most %d may be", ejected, len(w.set.members), most)
	}
	var down *Down
	switch err := w.set.Check(w.now); {
	case reachable != (err == nil):
		return fmt.Errorf("there is somebody to call: %v, but: %w", reachable, err)
	case errors.As(err, &down) && (down.RetryAfter < time.Second || down.RetryAfter > time.Minute):
		return fmt.Errorf("come again after %v", down.RetryAfter)
	}
	return nil
}

// recovers makes everything healthy: after enough probes, or calls, every address must
// be in full use again.
func (w *world) recovers(t *rapid.T, watched bool) {
	s := w.registry.settings.Load()
	if watched {
		for i := range w.set.members {
			w.probe(i, max(2, s.Healthy), ProbeSucceeded)
		}
	} else {
		w.now += s.MaxOpen
		for range len(w.set.members) {
			w.calls(1, w.fine)
		}
	}
	w.now += s.MaxEject
	for i, m := range w.set.members {
		if state := m.State(w.now); !state.Up {
			t.Fatalf("%s is healthy and still out: %+v", w.address(i).Name, state)
		}
	}
	w.now += s.SlowStart
	if v := w.set.current(w.now); len(v.healthy) != len(w.set.members) || v.ramping {
		t.Fatalf("%d are called", len(v.healthy))
	}
}

// quiet is a testing.TB for a world inside a property.
type quiet struct {
	testing.TB
	t *rapid.T
}

func (q quiet) Helper()                   {}
func (q quiet) Fatal(args ...any)         { q.t.Fatal(args...) }
func (q quiet) Fatalf(f string, a ...any) { q.t.Fatalf(f, a...) }

// All at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	w := newWorld(t, sample(), 4)
	w.registry.notify = nil
	start := time.Now()
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			dice := uint64(g + 1)
			for i := range 2000 {
				now := time.Since(start)
				dice = dice*6364136223846793005 + 1442695040888963407
				a := w.address(i % 4)
				if g == 0 {
					a.SetProbed(i%512 > 256)
					a.RecordProbe(now, ProbeOutcome(dice>>40%3), "") //nolint:gosec // 0 to 2
					continue
				}
				c, ok, _ := w.set.Choose(now, dice, 0)
				if !ok {
					continue
				}
				switch dice >> 40 % 5 {
				case 0:
					c.Unreachable(now, "")
				case 1:
					c.Failed(now)
				default:
					c.Connected(now)
					c.Answered(now, time.Millisecond<<(dice>>50%8), 200)
				}
				c.Release()
				_ = a.State(now)
			}
		})
	}
	wait.Wait()
	for i := range 4 {
		if n := w.address(i).State(time.Since(start)).Outstanding; n != 0 {
			t.Errorf("%d calls are under way", n)
		}
	}
}
