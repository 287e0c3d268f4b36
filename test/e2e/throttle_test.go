package e2e

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/test/harness"
)

// flood sends reads of a subscription through one gateway, several at a time and for a
// time, and returns how many were let through.
func flood(t *testing.T, p *harness.Portico, path string, who harness.Token, length time.Duration) int {
	t.Helper()
	var passed atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for ctx.Err() == nil {
				a, err := p.Try(ctx, harness.Request{Path: path, Header: as(who)})
				switch {
				case err != nil && ctx.Err() != nil:
					return
				case err != nil:
					t.Error(err)
					return
				case a.Status == http.StatusOK:
					passed.Add(1)
				case a.Status == http.StatusTooManyRequests:
					if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
						t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
					}
				default:
					t.Errorf("%d %s", a.Status, a.Body)
					return
				}
			}
		})
	}
	senders.Wait()
	return int(passed.Load())
}

// wantReplicas waits until a gateway knows how many share its store.
func wantReplicas(t *testing.T, p *harness.Portico, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); int(p.Metric(t, "portico_replicas")) != n; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it knows of %v replicas, want %d", p.Metric(t, "portico_replicas"), n)
		}
	}
}

// Two gateways let through what one would, also after one was killed and came back, and
// while one knows of no other no more than twice that.
func TestReplicasShareLimits(t *testing.T) {
	t.Parallel()
	const bucket, perSecond = 60, 6
	cluster := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{Replicas: 2, Config: harness.Config{
		Postgres: cluster.CreateDatabase(t, "portico"), Tokens: []harness.Token{alice},
		Extra: "\nthrottle: {reads: {bucket: 60, perSecond: 6}}\n",
	}})
	path := w.SubscriptionPath() + version
	both := func(what string, replicas ...*harness.Portico) {
		t.Helper()
		started, passed := time.Now(), make([]int, len(replicas))
		var floods sync.WaitGroup
		for i, p := range replicas {
			floods.Go(func() { passed[i] = flood(t, p, path, alice, 4*time.Second) })
		}
		floods.Wait()
		sum := 0
		for _, n := range passed {
			sum += n
		}
		came := perSecond * time.Since(started).Seconds()
		t.Logf("%s: %v passed", what, passed)
		if most := bucket + int(came) + len(replicas); sum > most || sum < bucket {
			t.Errorf("%s: %v passed, want %d to %d together", what, passed, bucket, most)
		}
	}
	for _, p := range w.Replicas {
		wantReplicas(t, p, 2)
	}
	both("two", w.Replicas...)

	w.Replicas[1].Kill(t)
	wantReplicas(t, w.Replicas[0], 1)
	time.Sleep(bucket / perSecond * time.Second) // until the bucket is full
	both("one that is left", w.Replicas[0])

	w.Replicas[1].Restart(t)
	for _, p := range w.Replicas {
		wantReplicas(t, p, 2)
	}
	w.Replicas[1].Stop(t) // one that says so is forgotten before its time
	wantReplicas(t, w.Replicas[0], 1)

	w.Replicas[1].Restart(t)
	for _, p := range w.Replicas {
		wantReplicas(t, p, 2)
	}
	cluster.Stop(t)
	time.Sleep(6 * time.Second) // they have asked again by then
	for _, p := range w.Replicas {
		wantReplicas(t, p, 2)
	}
}
