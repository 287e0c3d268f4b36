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
	Lease       time.Duration   // how long a job is held without a sign of life
	Floor       time.Duration   // the least pause after an attempt that failed
	CallerShare float64         // the part of the jobs of a Commissioned kind that one caller may have; 0: all
	Tracer      *spans.Tracer
	Log         *zap.Logger
	Metrics     prometheus.Registerer
}

// NewOwner returns a name for one run of a replica: that of its host, and a suffix that
// differs from its predecessors'.
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
	index   *indexMetrics
	events  *eventMetrics
	storeUp prometheus.Gauge
	// storeDown is the time since which the store has not answered, in microseconds; 0:
	// it answers.
	storeDown atomic.Int64
	presence  *presence
	watches   sync.Map // of jobs' ends: from a channel to the job that it is closed for
	// replaced makes housekeeping count the jobs and call the kinds' Schedule at once.
	replaced chan struct{}
}

// NewRunner returns a runner, and registers its metrics and those of its kinds, which may also
// be added later.
func NewRunner(o Options) *Runner {
	r := &Runner{
		Options: o, metrics: newRunnerMetrics(o.Metrics), workers: map[string]*worker{},
		index: newIndexMetrics(o.Metrics), events: newEventMetrics(o.Metrics), storeUp: newStoreGauge(o.Metrics), presence: newPresence(o.Metrics),
		replaced: make(chan struct{}, 1),
	}
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
	select {
	case r.replaced <- struct{}{}:
	default: // the signal is already waiting
	}
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
	var parts sync.WaitGroup
	defer parts.Wait()
	for _, w := range r.workers {
		parts.Go(func() { w.run(ctx) })
	}
	parts.Go(func() { r.watchDue(ctx) })
	parts.Go(func() { r.runHousekeeping(ctx) })
	parts.Go(func() { r.countIndex(ctx) })
	parts.Go(func() { r.watchStore(ctx) })
	parts.Go(func() { r.showPresence(ctx) })
}

// Replicas returns how many replicas share the store, this one included, as last
// counted.
func (r *Runner) Replicas() int { return int(r.presence.replicas.Load()) }

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

// repeat calls part repeatedly until ctx ends, after a first pause and then after the
// pauses that part returns.
func repeat(ctx context.Context, first time.Duration, part func() time.Duration) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(part())
	}
}
