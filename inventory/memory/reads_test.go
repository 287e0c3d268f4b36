package memory

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

var errRefused = errors.New("refused")

// reader reads numbers in sequence, each when it is told to.
type reader struct {
	sharedReads[int]
	t       *testing.T
	started int // readings that have begun
	goOn    chan error
	wait    sync.WaitGroup
}

func newReader(t *testing.T) *reader { return &reader{t: t, goOn: make(chan error)} }

// wants begins a reading that waits for others.
func (r *reader) wants(ctx context.Context, want int, failure error) {
	r.t.Helper()
	r.wait.Go(func() {
		got, err := r.Do(ctx, Key{1}, func() (int, error) {
			r.started++
			mine := r.started
			select {
			case err := <-r.goOn:
				return mine, err
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		if err == nil && got != want || !errors.Is(err, failure) {
			r.t.Errorf("reading %d, %v; want %d, %v", got, err, want, failure)
		}
	})
	synctest.Wait()
}

func (r *reader) ends(started int) {
	r.t.Helper()
	r.wait.Wait()
	if r.started != started || len(r.inProgress) != 0 {
		r.t.Errorf("%d readings, want %d; %d are left", r.started, started, len(r.inProgress))
	}
}

// Those who ask while a reading is under way share the next one, its failure too.
func TestReadingsAreSharedButNeverOldOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t)
		r.wants(t.Context(), 1, nil)
		for range 10 {
			r.wants(t.Context(), 2, errRefused)
		}
		r.goOn <- nil
		synctest.Wait()
		for range 10 {
			r.wants(t.Context(), 3, nil) // the second has begun
		}
		r.goOn <- errRefused
		r.goOn <- nil
		r.ends(3)
	})
}

// Readings of other keys wait for nothing.
func TestReadingsOfKeysAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t)
		r.wants(t.Context(), 1, nil)
		if got, err := r.Do(t.Context(), Key{2}, func() (int, error) { return 7, nil }); got != 7 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		r.goOn <- nil
		r.ends(1)
	})
}

// A caller that goes takes no one along: not while it reads, nor while it waits for its
// turn, nor while it waits for another.
func TestCallerThatGoesEndsNoOneElsesCall(t *testing.T) {
	cancelled := func(t *testing.T) (context.Context, func()) {
		ctx, cancel := context.WithCancel(t.Context())
		return ctx, func() { cancel(); synctest.Wait() }
	}
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t)
		reading, endReading := cancelled(t)
		turn, endTurn := cancelled(t)
		sharing, endSharing := cancelled(t)
		r.wants(reading, 0, context.Canceled)
		r.wants(turn, 0, context.Canceled)
		r.wants(t.Context(), 2, nil)
		r.wants(sharing, 0, context.Canceled)
		r.wants(t.Context(), 2, nil)
		endTurn()
		endSharing()
		endReading()
		r.goOn <- nil
		r.ends(2)
	})
	synctest.Test(t, func(t *testing.T) {
		r := newReader(t)
		r.wants(t.Context(), 1, nil)
		second, endSecond := cancelled(t)
		r.wants(second, 0, context.Canceled)
		r.wants(t.Context(), 3, nil)
		r.goOn <- nil
		synctest.Wait()
		endSecond() // which has begun
		r.goOn <- nil
		r.ends(3)
	})
}

// A reading that panics leaves nothing behind that others would wait for.
func TestReadingThatPanics(t *testing.T) {
	var r sharedReads[int]
	func() {
		defer func() { _ = recover() }()
		_, _ = r.Do(t.Context(), Key{1}, func() (int, error) { panic("on purpose") })
	}()
	if got, err := r.Do(t.Context(), Key{1}, func() (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
}
