package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"portico/inventory/engine"
)

// database is a store whose values are counted, and a clock.
type database struct {
	mu      sync.Mutex
	now     time.Time
	value   int // of every key
	reads   int
	changes []written
	failure error
}

// written is a row of the change sequence.
type written struct {
	Change
	at time.Time
}

func (d *database) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *database) pass(by time.Duration) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
	return d.now
}

func (d *database) ask(_ context.Context, ago time.Duration) (recent []Change, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.changes {
		if d.now.Sub(w.at) <= ago {
			recent = append(recent, w.Change)
		}
	}
	return recent, d.failure
}

func (d *database) read(context.Context, string, string) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	return d.value, d.failure
}

// change changes every value, as another replica does that says so of a subscription.
func (d *database) change(of string, reported bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.value++; reported {
		d.changes = append(d.changes, written{Change{of, [16]byte{byte(d.value)}}, d.now})
	}
}

func (d *database) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failure = err
}

var (
	errDown = engine.Unavailable(engine.ErrUnreachable)
	errSlow = engine.Unavailable(context.DeadlineExceeded)
)

// newTable makes a table whose Changes asks only when it is told to.
func newTable(t testing.TB, entries int) (*database, *Changes, *ScopeTable[int]) {
	t.Helper()
	return newTableOf(t, entries, ttl)
}

// newTableOf is newTable for values of another age.
func newTableOf(t testing.TB, entries int, ttl time.Duration) (*database, *Changes, *ScopeTable[int]) {
	t.Helper()
	d := &database{now: time.Now()}
	c := NewChanges(ChangesOptions{Ask: d.ask, Now: d.clock, TTL: ttl})
	c.Close()
	table, err := NewScopeTable(c, entries, d.read, func(value int) bool { return value >= 0 })
	if err != nil {
		t.Fatal(err)
	}
	return d, c, table
}

// wants asserts what a table says of the subscription "s".
func wants(t testing.TB, table *ScopeTable[int], now time.Time, want int, remembered bool) {
	t.Helper()
	got, cached, err := table.Get(t.Context(), "S", "Name", now)
	if err != nil || got != want || cached != remembered {
		t.Errorf("%d (remembered %t), %v; want %d (%t)", got, cached, err, want, remembered)
	}
}

func TestWarmLookupAllocatesNothing(t *testing.T) {
	d, _, table := newTable(t, 1000)
	now := d.clock()
	wants(t, table, now, 0, false)
	allocations := testing.AllocsPerRun(5000, func() {
		if _, remembered, err := table.Get(t.Context(), "S", "Name", now); err != nil || !remembered {
			t.Fatal(remembered, err)
		}
	})
	if allocations != 0 || d.reads != 1 {
		t.Errorf("%v allocations per lookup, %d reads", allocations, d.reads)
	}
}

func TestTableIsBounded(t *testing.T) {
	d, _, table := newTable(t, 50)
	for i := range 5000 {
		if _, _, err := table.Get(t.Context(), "s", fmt.Sprint(i), d.clock()); err != nil {
			t.Fatal(err)
		}
	}
	if n := table.Entries(); n == 0 || n > 50 {
		t.Errorf("%d entries are kept, want up to 50", n)
	}
}

// A name is one in any casing, and apart from all others.
func TestKeys(t *testing.T) {
	_, c, _ := newTable(t, 1)
	table, err := NewScopeTable(c, 1000, func(_ context.Context, sub, name string) (string, error) { return sub + " " + name, nil }, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, key := range [][2]string{{"s", ""}, {"S", "A"}, {"s", "ab"}, {"sa", "b"}, {"s", "ÄB"}} {
			got, _, err := table.Get(t.Context(), key[0], key[1], c.started)
			if want := map[[2]string]string{{"s", ""}: "s ", {"S", "A"}: "s a", {"s", "ab"}: "s ab", {"sa", "b"}: "sa b", {"s", "ÄB"}: "s äb"}[key]; err != nil || got != want {
				t.Errorf("%q: %q, %v; want %q", key, got, err, want)
			}
		}
	}
	if n := table.Entries(); n != 5 {
		t.Errorf("%d entries", n)
	}
}

// Memory answers for as long as the bound says since the last question.
func TestBound(t *testing.T) {
	d, c, table := newTable(t, 1000)
	wants(t, table, d.clock(), 0, false)
	d.change("s", true)
	wants(t, table, d.pass(Bound), 0, true)
	wants(t, table, d.pass(1), 1, false)
	wants(t, table, d.clock(), 1, false) // no one has asked what else changed
	if err := c.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, table, d.clock(), 1, false)
	wants(t, table, d.clock(), 1, true)
	wants(t, table, d.clock().Add(-Bound-1), 1, false) // by another clock
	wants(t, table, time.Time{}, 1, false)
}

// A change is forgotten when it shows, once, however long the window shows it; what
// other subscriptions have stays.
func TestChangesAreForgottenOnce(t *testing.T) {
	d, c, table := newTable(t, 1000)
	wants(t, table, d.clock(), 0, false)
	d.change("other", true)
	for range 2 {
		if err := c.Ask(t.Context()); err != nil {
			t.Fatal(err)
		}
		wants(t, table, d.clock(), 0, true)
	}
	d.change("s", true)
	if err := c.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, table, d.clock(), 2, false)
	if err := c.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, table, d.clock(), 2, true)
}

// An own change counts at once, without a question.
func TestForget(t *testing.T) {
	d, c, table := newTable(t, 1000)
	wants(t, table, d.clock(), 0, false)
	d.change("s", false)
	c.Forget("s")
	wants(t, table, d.clock(), 1, false)
}

// A question looks back to the Window before the last one, over a pause as well: what was
// committed so late is seen, and what did not change is still remembered.
func TestQuestionReachesOverAPause(t *testing.T) {
	for _, pause := range []time.Duration{time.Second, Window / 2, Window} {
		for _, changed := range []bool{false, true} {
			d, c, table := newTableOf(t, 1000, time.Hour)
			wants(t, table, d.clock(), 0, false)
			if changed {
				d.change("s", true)
				d.changes[0].at = d.clock().Add(-Window)
			}
			d.pass(pause)
			if err := c.Ask(t.Context()); err != nil {
				t.Fatal(err)
			}
			wants(t, table, d.clock(), map[bool]int{true: 1}[changed], !changed)
		}
	}
}

// After a long pause the question does not reach back to the last answer.
func TestPauseForgetsAll(t *testing.T) {
	d, c, table := newTableOf(t, 1000, time.Hour)
	wants(t, table, d.clock(), 0, false)
	d.change("s", true)
	d.changes[0].at = d.clock().Add(-Window)
	d.pass(Window + 1)
	if err := c.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants(t, table, d.clock(), 1, false)
}

// What was read before a change does not outlive it, whenever that is noticed.
func TestReadingOvertakenByAChangeIsNotKept(t *testing.T) {
	d, c, _ := newTable(t, 1)
	table, err := NewScopeTable(c, 1000, func(ctx context.Context, sub, name string) (int, error) {
		value, err := d.read(ctx, sub, name)
		if value == 0 { // the change comes after the row was read
			d.change("s", true)
			c.Forget("s")
		}
		return value, err
	}, func(int) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	wants(t, table, d.clock(), 0, false)
	wants(t, table, d.clock(), 1, false)
	wants(t, table, d.clock(), 1, true)
}

func TestAbsenceAndRefusedValuesAreNotKept(t *testing.T) {
	d, _, table := newTable(t, 1000)
	d.fail(engine.ErrNotFound)
	if _, _, err := table.Get(t.Context(), "s", "name", d.clock()); !errors.Is(err, engine.ErrNotFound) {
		t.Error(err)
	}
	d.fail(nil)
	d.value = -1
	for range 2 {
		wants(t, table, d.clock(), -1, false)
	}
}

// Without the store memory answers until the values' age is over, whether the question
// or the reading fails; any other failure is the caller's.
func TestStoreThatIsDown(t *testing.T) {
	for name, asked := range map[string]bool{"the question failed": true, "nobody asked": false} {
		t.Run(name, func(t *testing.T) {
			d, c, table := newTable(t, 1000)
			wants(t, table, d.clock(), 0, false)
			d.fail(errDown)
			if asked {
				if c.Ask(t.Context()) == nil {
					t.Error("the question is answered")
				}
			}
			wants(t, table, d.pass(ttl/2), 0, true)
			if reads := map[bool]int{true: 1, false: 2}[asked]; d.reads != reads {
				t.Errorf("%d reads, want %d", d.reads, reads)
			}
			if _, _, err := table.Get(t.Context(), "s", "other", d.clock()); !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("what no one has read: %v", err)
			}
			if _, _, err := table.Get(t.Context(), "s", "name", d.pass(ttl/2)); !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("after its time: %v", err)
			}
			d.fail(nil)
			d.change("s", false)
			if err := c.Ask(t.Context()); err != nil {
				t.Fatal(err)
			}
			wants(t, table, d.clock(), 1, false)
		})
	}
	d, _, table := newTable(t, 1000)
	wants(t, table, d.clock(), 0, false)
	d.fail(context.Canceled)
	if _, _, err := table.Get(t.Context(), "s", "name", d.pass(Bound+1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What memory held when the store last answered answers for the TTL from then on, however
// long before it was read; what was too old by then does not come back.
func TestAllThatWasHeldOutlastsTheStoreByTheTTL(t *testing.T) {
	d, c, table := newTable(t, 1000)
	places := newPlaces(t, c, d)
	locate := func(now time.Time) error {
		_, err := places.Locate(t.Context(), "s", []byte("key"), now)
		return err
	}
	wants(t, table, d.clock(), 0, false)
	if err := locate(d.clock()); err != nil {
		t.Fatal(err)
	}
	d.pass(ttl / 2)
	if err := c.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.fail(errDown)
	d.pass(Interval)
	if c.Ask(t.Context()) == nil {
		t.Error("the question is answered")
	}
	wants(t, table, d.pass(ttl-Interval-1), 0, true)
	if err := locate(d.clock()); err != nil {
		t.Errorf("a location: %v", err)
	}
	if _, _, err := table.Get(t.Context(), "s", "name", d.pass(1)); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("after the TTL: %v", err)
	}
	if err := locate(d.clock()); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("a location after the TTL: %v", err)
	}

	d.fail(nil)
	wants(t, table, d.pass(1), 0, false)
	d.pass(ttl)
	if err := c.Ask(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.fail(errDown)
	if c.Ask(t.Context()) == nil {
		t.Error("the question is answered")
	}
	if _, _, err := table.Get(t.Context(), "s", "name", d.pass(1)); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("what was too old before: %v", err)
	}
}

// newPlaces makes a table of locations beside one of scopes.
func newPlaces(t *testing.T, c *Changes, d *database) *Locations {
	t.Helper()
	places, err := NewLocations(LocationOptions{Now: d.clock, TTL: ttl, Entries: 1000, AgesAt: c.AgesAt, Read: func(ctx context.Context, _, _ string) (Located, error) {
		_, err := d.read(ctx, "", "")
		return Located{Found: true}, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return places
}

// A replica asks while it is used, and not otherwise.
func TestQuestionsFollowUse(t *testing.T) {
	d := &database{now: time.Now()}
	questions := make(chan struct{}, 10)
	c := NewChanges(ChangesOptions{Now: d.clock, TTL: ttl, Ask: func(ctx context.Context, ago time.Duration) ([]Change, error) {
		defer func() { questions <- struct{}{} }()
		return d.ask(ctx, ago)
	}})
	defer c.Close()
	table, err := NewScopeTable(c, 1000, d.read, func(int) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	wants(t, table, d.clock(), 0, false)
	wants(t, table, d.clock(), 0, true)
	d.pass(Interval)
	if n := c.Reads(); n != 0 {
		t.Errorf("%d questions without need", n)
	}
	wants(t, table, d.pass(1), 0, true)
	<-questions
	if n := c.Reads(); n != 1 {
		t.Errorf("%d questions, want 1", n)
	}
}
