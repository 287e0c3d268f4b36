package server

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"portico/internal/connections"
)

type key struct{}

// It ends for those who wait, for what is below it, and for those who ask later; nothing
// is left running.
func TestRequestContextEnds(t *testing.T) {
	outer := context.WithValue(t.Context(), key{}, "outer")
	before := runtime.NumGoroutine()
	for _, waited := range []bool{false, true} {
		c := &requestContext{outer: outer, ambiguous: true}
		var below context.Context
		if waited {
			ctx, cancel := context.WithTimeout(context.WithValue(c, key{}, "inner"), time.Hour)
			t.Cleanup(cancel)
			below = ctx
		}
		if c.Err() != nil || c.Value(key{}) != "outer" || c.Value(connections.AmbiguousKey{}) != true {
			t.Fatalf("%v, %v, %v", c.Err(), c.Value(key{}), c.Value(connections.AmbiguousKey{}))
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines more", n-before)
		}
		c.end()
		<-c.Done()
		if c.Err() != context.Canceled { //nolint:errorlint // that very error
			t.Error(c.Err())
		}
		if below != nil {
			<-below.Done()
		}
	}
}

// Whoever begins to wait while it ends sees the end.
func TestRequestContextEndsWhileSomeoneBeginsToWait(t *testing.T) {
	for range 2000 {
		c := &requestContext{outer: context.Background()}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { <-c.Done() })
		}
		all.Go(c.end)
		all.Wait()
	}
}

// A request that no one waits for costs nothing.
func TestRequestContextAllocatesNothing(t *testing.T) {
	c := &requestContext{outer: context.Background()}
	if n := testing.AllocsPerRun(100, func() {
		if c.Err() == nil && c.Value(key{}) == nil {
			c.end()
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
