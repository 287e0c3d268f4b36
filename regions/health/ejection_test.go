package health

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestErrorsEject(t *testing.T) {
	w := newWorld(t, sample(), 3)
	erring := func(bad ...int) func(Choice) {
		return func(c Choice) {
			switch {
			case !slices.Contains(bad, c.Index):
				c.Answered(w.now, time.Millisecond, 501) // a usual answer
			case c.Index == 0:
				c.Failed(w.now)
			default:
				c.Answered(w.now, time.Millisecond, 503)
			}
		}
	}
	w.calls(30, erring(1)) // too few to judge
	w.want(1, true, Closed)
	w.calls(300, erring(1))
	w.want(1, false, Closed)
	if counts := w.calls(100, erring()); counts[1] != 0 {
		t.Errorf("%v", counts)
	}
	// No more than the share, whatever the others do.
	w.calls(300, erring(0, 2))
	w.want(0, true, Closed)
	w.want(2, true, Closed)

	// It returns in time, with a slow start, and the next ejection is longer.
	w.now += 30 * time.Second
	w.want(1, true, Closed)
	if counts := w.calls(1000, erring()); counts[1] < 10 || counts[1] > 150 {
		t.Errorf("at first %v", counts)
	}
	w.now += 20 * time.Second
	if counts := w.calls(1000, erring()); counts[1] < 200 {
		t.Errorf("at last %v", counts)
	}
	w.calls(3000, erring(1))
	w.now += 59 * time.Second
	w.want(1, false, Closed)
	w.now += time.Second
	w.want(1, true, Closed)
	if n := w.address(1).State(w.now).Counts.Ejections[ReasonErrors]; n != 2 {
		t.Errorf("%d ejections", n)
	}
	// Old ejections are forgiven.
	w.now += time.Hour
	w.calls(500, erring(1))
	w.now += 30 * time.Second
	w.want(1, true, Closed)
}

func TestSlownessEjects(t *testing.T) {
	w := newWorld(t, sample(), 4)
	slow := func(third time.Duration) {
		for range 400 {
			w.now += 50 * time.Millisecond
			w.calls(1, func(c Choice) {
				took := 20 * time.Millisecond
				if c.Index == 2 {
					took = third
				}
				c.Answered(w.now, took, 200)
			})
		}
	}
	slow(80 * time.Millisecond)
	w.want(2, true, Closed)
	slow(120 * time.Millisecond)
	w.want(2, false, Closed)
	if last := w.reported[len(w.reported)-1]; last.Address.Name != "https://c" || !strings.Contains(last.Reason, "longer than") {
		t.Errorf("%+v", last)
	}
}
