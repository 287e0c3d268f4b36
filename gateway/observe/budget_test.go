package observe

import (
	"fmt"
	"testing"
	"time"
)

// A caller that is refused without end makes a bounded number of events, and takes none
// from others; what is left out is summed up.
func TestBudget(t *testing.T) {
	b, now := newBudget(3), time.Unix(6000, 0)
	created := 0
	for range 50 {
		if ok, _ := b.countRefusal("noisy", now); ok {
			created++
		}
	}
	if ok, omitted := b.countRefusal("calm", now); created != 3 || !ok || omitted != 0 {
		t.Errorf("%d events of one caller; the other: %v, %d", created, ok, omitted)
	}
	now = now.Add(time.Minute)
	for i, want := range []int{47, 0} {
		if ok, omitted := b.countRefusal("noisy", now); !ok || omitted != want {
			t.Errorf("event %d of the next minute: %v, %d left out, want %d", i, ok, omitted, want)
		}
	}
}

// However many callers there are, what is remembered of them is bounded.
func TestBudgetOfManyCallers(t *testing.T) {
	b, now := newBudget(3), time.Unix(6000, 0)
	created := 0
	for i := range 2 * mostCallers {
		if ok, _ := b.countRefusal(fmt.Sprint(i), now); ok {
			created++
		}
	}
	if len(b.counts) != mostCallers+1 || created != mostCallers+3 {
		t.Errorf("%d callers are remembered, %d events made", len(b.counts), created)
	}
}
