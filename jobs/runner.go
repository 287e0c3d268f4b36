// Package jobs runs durable work: it claims the jobs of the inventory, holds each by a
// lease, makes attempts at it, and decides when the next one is due. It knows no kind
// of work: the [Runner] gets each [Kind] under the name of its jobs.
//
// Any replica may claim a job. A runner that dies or loses its lease leaves the job to
// another, and the inventory refuses all records of the former holder. So a kind must
// be correct even if its work is done twice. A runner makes a bounded number of
// attempts at a time, for each kind and region, so that one that hangs delays no other.
package jobs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/internal/timing"
	"portico/inventory"
	"portico/tracing/spans"
)

// Options configure a runner.
type Options struct {
	Store       *inventory.Store
	Kinds       map[string]Kind // by the names of their jobs
	Owner       string          // see NewOwner
	Lease       time.Duration   // how long a claim lasts without renewal
	Floor       time.Duration   // the least pause after a failed attempt
	CallerShare float64         // the part of the jobs of a Commissioned kind that one caller may have; 0: all
	Tracer      *spans.Tracer
	Log         *zap.Logger
	Metrics     prometheus.Registerer
}

// NewOwner returns a name for one run of a replica: the name of its host, and a random suffix.
func NewOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var suffix [4]byte
	rand.Read(suffix[:]) // never fails
	return host + "-" + hex.EncodeToString(suffix[:])
}

// Bounds of the pause between two queries for due jobs.
const (
	shortestPace = 20 * time.Millisecond
	longestPace  = time.Second
)

// Runner works on the jobs of the inventory, alongside the runners of other replicas.
type Runner struct {
	Options
	metrics *runnerMetrics
	kinds   atomic.Pointer[map[string]Kind]
	workers map[string]*worker
	watches sync.Map // by a channel: the job whose end closes it

	scheduler    *scheduler
	housekeeper  *housekeeper
	indexCounter *indexCounter
	storeMonitor *storeMonitor
	heartbeat    *heartbeat
}

// service is a part of a runner with a goroutine of its own.
type service interface {
	// run works until ctx ends, and returns when all goroutines that it started have ended.
	run(ctx context.Context)
}

// NewRunner returns a runner, and registers its metrics and its kinds' metrics. Kinds may also be
// added later.
func NewRunner(o Options) *Runner {
	r := &Runner{Options: o, metrics: newRunnerMetrics(o.Metrics), workers: map[string]*worker{}}
	r.scheduler = &scheduler{r}
	r.housekeeper = newHousekeeper(r)
	r.indexCounter = newIndexCounter(r)
	r.storeMonitor = newStoreMonitor(r)
	r.heartbeat = newHeartbeat(r)
	r.Add(o.Kinds)
	return r
}

// Add gives a runner that does not run yet all its kinds, and registers their metrics.
func (r *Runner) Add(kinds map[string]Kind) {
	for name, kind := range kinds {
		if lasting, ok := kind.(Lasting); ok {
			lasting.Start(r.Metrics)
		}
		r.workers[name] = newWorker(r, name, kind)
	}
	r.kinds.Store(&kinds)
}

// Replace replaces the kinds: the new ones make every attempt that begins from now on.
// Their names are the same as before.
func (r *Runner) Replace(kinds map[string]Kind) {
	for name, before := range *r.kinds.Load() {
		if lasting, ok := kinds[name].(Lasting); ok {
			lasting.Succeed(before)
		}
	}
	r.kinds.Store(&kinds)
	r.housekeeper.measureSoon()
}

// Kinds returns the names of the kinds, in their order.
func (r *Runner) Kinds() []string { return slices.Sorted(maps.Keys(*r.kinds.Load())) }

// Describe returns the description of a kind's jobs. A kind that this replica does not
// know, because a newer one created the job, has the zero description.
func (r *Runner) Describe(kind string) (d Description) {
	if k, known := (*r.kinds.Load())[kind]; known {
		d = k.Describe()
	}
	return d
}

// Nudge makes this runner claim jobs of a kind at once, because a caller waits for a
// job that was just created.
func (r *Runner) Nudge(kind string) {
	if w := r.workers[kind]; w != nil {
		select {
		case w.nudges <- struct{}{}:
		default: // the worker is about to claim anyway
		}
	}
}

// Run works until ctx ends, then releases its jobs. It returns when all its goroutines
// have ended; it must not be called twice at a time.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	services := []service{r.scheduler, r.housekeeper, r.indexCounter, r.storeMonitor, r.heartbeat}
	for _, w := range r.workers {
		services = append(services, w)
	}
	for _, s := range services {
		running.Go(func() { s.run(ctx) })
	}
}

// Replicas returns how many replicas share the store, this one included, as last
// counted.
func (r *Runner) Replicas() int { return int(r.heartbeat.replicas.Load()) }

// StoreDownSince returns the time since which the store has not answered, or the zero time
// if it answered the last probe.
func (r *Runner) StoreDownSince() time.Time { return r.storeMonitor.downSince() }

// pace returns the pause between two queries for due jobs; with jitter, so that
// replicas do not claim at the same time.
func (r *Runner) pace() time.Duration {
	pace := max(shortestPace, min(r.Floor, longestPace))
	return pace*3/4 + mathrand.N(pace/2)
}

// pauseAfter returns how long to wait after a number of failed attempts.
func (r *Runner) pauseAfter(attempts int64) time.Duration {
	longest := min(60*r.Floor, max(r.Floor, time.Minute))
	return max(r.Floor, timing.Jitter(timing.Backoff(2*r.Floor, longest, int(attempts))))
}

// repeat calls run repeatedly until ctx ends, first after the given pause and then after
// the pauses that run returns.
func repeat(ctx context.Context, first time.Duration, run func() time.Duration) {
	repeatOnWake(ctx, first, nil, func(bool) time.Duration { return run() })
}

// repeatOnWake repeats as repeat does. It also calls run, with woken set, when wake receives.
func repeatOnWake(ctx context.Context, first time.Duration, wake <-chan struct{}, run func(woken bool) time.Duration) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		woken := false
		select {
		case <-ctx.Done():
			return
		case <-wake:
			woken = true
		case <-timer.C:
		}
		timer.Reset(run(woken))
	}
}

// tick calls run every interval until ctx ends, and at once after a call that took longer.
func tick(ctx context.Context, first, interval time.Duration, run func()) {
	repeat(ctx, first, func() time.Duration {
		started := time.Now()
		run()
		return interval - time.Since(started)
	})
}
