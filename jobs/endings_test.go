package jobs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/jobstest"
)

// All that watch a job see its end once, and none of its other attempts.
func TestEndsAreWatched(t *testing.T) {
	b := jobstest.NewProvider(t)
	id := b.AddJob("long", "x")
	var attempts atomic.Int32
	release := make(chan struct{})
	r := b.Run(b.Store, one("long", work(func(ctx context.Context, _ *jobs.Claim) (jobs.Result, error) {
		if attempts.Add(1) == 1 {
			return jobs.Result{Again: time.Millisecond}, nil
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return done, ctx.Err()
	})))
	first, stopFirst := r.WatchEnd(id)
	second, stopSecond := r.WatchEnd(id)
	gone, stopGone := r.WatchEnd(id)
	stopGone()
	b.Within("the last attempt", func() bool { return attempts.Load() == 2 })
	select {
	case <-first:
		t.Error("an attempt that goes on counts as an end")
	default:
	}
	close(release)
	for _, ended := range []<-chan struct{}{first, second} {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the end is not seen")
		}
	}
	if b.Load(id).State != jobrow.Done {
		t.Error("the end was seen before it was recorded")
	}
	stopFirst()
	stopSecond()
	again, stop := r.WatchEnd(id)
	defer stop()
	for who, ended := range map[string]<-chan struct{}{"that has stopped": gone, "that watches from then on": again} {
		select {
		case <-ended:
			t.Errorf("the end is seen by one %s", who)
		default:
		}
	}
}
