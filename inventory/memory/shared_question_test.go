package memory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// burst is a table that is too far behind, and questions that a test answers.
type burst struct {
	*database
	changes *Changes
	table   *ScopeTable[int]
	asking  chan struct{} // a question has been asked
	answer  chan struct{} // closed: they are answered
	fail    chan error    // fails one of them
}

func newBurst(t *testing.T) *burst {
	t.Helper()
	b := &burst{database: &database{now: time.Now()}, asking: make(chan struct{}, 100), answer: make(chan struct{}), fail: make(chan error)}
	b.changes = NewChanges(ChangesOptions{Now: b.clock, TTL: ttl, Ask: func(ctx context.Context, ago time.Duration) ([]Change, error) {
		b.asking <- struct{}{}
		select {
		case <-b.answer:
			return b.ask(ctx, ago)
		case err := <-b.fail:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}})
	t.Cleanup(b.changes.Close)
	var err error
	if b.table, err = NewScopeTable(b.changes, 1000, b.read, func(int) bool { return true }); err != nil {
		t.Fatal(err)
	}
	wants(t, b.table, b.clock(), 0, false)
	b.pass(Bound + 1)
	return b
}

// All who find memory too far behind share one question, and read nothing unless it has
// changed.
func TestBurstSharesAQuestion(t *testing.T) {
	for name, want := range map[string]struct {
		changed    string
		value      int
		remembered bool
	}{
		"nothing changed":                  {"", 0, true},
		"another subscription has changed": {"other", 0, true},
		"the subscription has changed":     {"s", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBurst(t)
				if want.changed != "" {
					b.change(want.changed, true)
					b.value = want.value
				}
				var all sync.WaitGroup
				for range 50 {
					all.Go(func() {
						got, remembered, err := b.table.Get(t.Context(), "s", "name", b.clock())
						if err != nil || got != want.value || remembered && !want.remembered && got != 1 {
							t.Errorf("%d (remembered %t), %v; want %d", got, remembered, err, want.value)
						}
					})
				}
				synctest.Wait() // they wait
				if n := b.changes.Reads(); n != 1 || b.reads != 1 {
					t.Errorf("%d questions and %d readings while memory is behind", n, b.reads)
				}
				close(b.answer)
				all.Wait()
				if n := b.changes.Reads(); n != 1 || want.remembered && b.reads != 1 {
					t.Errorf("%d questions, %d readings", n, b.reads)
				}
			})
		})
	}
}

// What memory does not hold is read at once, and so is what a request of another clock
// asks for.
func TestNoOneWaitsInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t)
		if _, remembered, err := b.table.Get(t.Context(), "s", "other", b.clock()); err != nil || remembered {
			t.Errorf("remembered %t, %v", remembered, err)
		}
		<-b.asking
		wants(t, b.table, b.changes.started.Add(-Bound-1), 0, false)
	})
}

// Whoever cannot wait for the question reads by itself: its own time is over, or that
// which a request waits at most, or the store closes.
func TestWaitForAQuestionEnds(t *testing.T) {
	get := func(ctx context.Context, b *burst) (ended chan bool) {
		ended = make(chan bool, 1)
		go func() {
			got, remembered, err := b.table.Get(ctx, "s", "name", b.clock())
			ended <- remembered && got == 0 && err == nil
		}()
		synctest.Wait()
		return ended
	}
	t.Run("the request ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBurst(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := get(ctx, b)
			cancel()
			if <-ended || b.reads != 2 {
				t.Errorf("%d readings", b.reads)
			}
		})
	})
	t.Run("the question does not end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := &database{now: time.Now()}
			answer := make(chan struct{})
			c := NewChanges(ChangesOptions{Now: time.Now, TTL: ttl, Ask: func(context.Context, time.Duration) ([]Change, error) {
				<-answer // whatever its context says
				return nil, nil
			}})
			defer c.Close()
			defer close(answer)
			table, err := NewScopeTable(c, 1000, d.read, func(int) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			wants(t, table, time.Now(), 0, false)
			time.Sleep(Bound + 1)
			started := time.Now()
			wants(t, table, started, 0, false)
			if waited := time.Since(started); waited != pollWait {
				t.Errorf("a request waited %v", waited)
			}
		})
	})
	t.Run("the store cannot be reached", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBurst(t)
			ended := get(t.Context(), b)
			b.fail <- errDown
			if !<-ended || b.reads != 1 {
				t.Errorf("%d readings", b.reads)
			}
		})
	})
	t.Run("the store closes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBurst(t)
			ended := get(t.Context(), b)
			b.changes.Close()
			<-ended
			started := time.Now()
			get(t.Context(), b)
			if waited := time.Since(started); waited != 0 {
				t.Errorf("a request waited %v for a store that is closed", waited)
			}
		})
	})
}

// A question that is not answered in time says nothing of the store: it is asked again, and
// until it is answered what is older than the bound is read, and a reading that waits too
// long fails.
func TestSlowQuestionVouchesForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(t)
		b.change("s", true)
		for range 3 {
			ended := make(chan error, 1)
			go func() {
				_, remembered, err := b.table.Get(t.Context(), "s", "name", b.clock())
				if remembered {
					t.Error("memory vouches for what is out of date")
				}
				ended <- err
			}()
			<-b.asking
			b.database.fail(errSlow)
			b.fail <- errSlow
			if err := <-ended; !errors.Is(err, errSlow) {
				t.Error(err)
			}
			synctest.Wait()
		}
		<-b.asking // by itself
		b.database.fail(nil)
		close(b.answer)
		synctest.Wait()
		wants(t, b.table, b.clock(), 1, false)
		wants(t, b.table, b.clock(), 1, true)
	})
}

// An answer counts for those alone that came within the bound of its question.
func TestLateAnswerVouchesForNothingLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{now: time.Now()}
		const takes = Bound + time.Second // the process was stopped meanwhile
		c := NewChanges(ChangesOptions{Now: time.Now, TTL: ttl, Ask: func(context.Context, time.Duration) ([]Change, error) {
			time.Sleep(takes)
			return nil, nil
		}})
		defer c.Close()
		table, err := NewScopeTable(c, 1000, d.read, func(int) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		wants(t, table, time.Now(), 0, false)
		time.Sleep(Bound) // memory still answers, and asks
		wants(t, table, time.Now(), 0, true)
		time.Sleep(Bound + 1)
		d.change("s", true)
		wants(t, table, time.Now(), 1, false)
	})
}

// Whoever waited for an answer goes by it only if it is young enough when it comes.
func TestAnswerThatIsOldWhenItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{now: time.Now()}
		c := NewChanges(ChangesOptions{Now: time.Now, TTL: ttl, Ask: func(context.Context, time.Duration) ([]Change, error) {
			time.Sleep(Bound + time.Second)
			return nil, nil // as it was when it was asked
		}})
		defer c.Close()
		table, err := NewScopeTable(c, 1000, d.read, func(int) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		wants(t, table, time.Now(), 0, false)
		time.Sleep(Bound + 1)
		if _, _, err := table.Get(t.Context(), "s", "other", time.Now()); err != nil { // has the question asked
			t.Fatal(err)
		}
		time.Sleep(Bound - 1)
		d.change("s", true)
		wants(t, table, time.Now(), 1, false)
	})
}
