package operations

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/inventory"
	"portico/tracing"
)

// Kind is one kind of work.
type Kind interface {
	// Run makes one attempt. It must end with ctx, which is cancelled when the
	// lease is lost. After an error the next attempt waits, the longer the more
	// attempts have failed.
	Run(ctx context.Context, h *Held) (Verdict, error)
}

// Measured is a Kind with metrics of its own, which Measure brings up to date
// from time to time.
type Measured interface {
	Measure(ctx context.Context) error
}

// Scheduled is a Kind that has jobs without anybody's asking: Schedule, which
// is called from time to time on each replica, sees to it that they are there. It
// has little time, and goes on with the next call.
type Scheduled interface {
	Schedule(ctx context.Context) error
}

// Verdict is what an attempt came to. The zero Verdict means that the work is
// not done and is to be tried again as after an error.
type Verdict struct {
	End   inventory.JobState // an end, if it has one
	Again time.Duration      // > 0: it goes on, after this pause; with an error, the pause in place of the runner's
	// Payload replaces the job's; empty: it stays as it was last saved.
	Payload string
	// Recorded: what the attempt did in the inventory has removed the job.
	Recorded bool
}

// Held is a job in the hands of a Kind.
type Held struct {
	Job inventory.Job

	store *inventory.Store
}

// Save records progress durably. inventory.ErrDeposed means that the job is
// another's by now, and that the attempt has to end.
func (h *Held) Save(ctx context.Context, payload string) error {
	return h.store.SaveJob(ctx, &h.Job, payload)
}

// header carries the ids of a job's calls: all calls of a job have one
// correlation id.
func (h *Held) header(region string) http.Header { return headerOf(h.Correlation(), region) }

// headerOf carries the ids of a call that belongs to a correlation.
func headerOf(correlation, region string) http.Header {
	header := http.Header{tracing.CorrelationHeader: {correlation}}
	id, _ := tracing.Identify(header, region, time.Now()) // no client, so nothing to refuse
	id.Stamp(header)
	return header
}

// Correlation is the id by which the calls of a job are found in every log.
func (h *Held) Correlation() string { return uuid.UUID(h.Job.Incarnation).String() }

// RunnerOptions say what a runner works on, and how.
type RunnerOptions struct {
	Store   *inventory.Store
	Kinds   map[string]Kind
	Owner   string        // see NewOwner
	Lease   time.Duration // for which a job is held without a sign of life
	Floor   time.Duration // the least pause after an attempt that failed
	Log     *zap.Logger
	Metrics prometheus.Registerer
}

// NewOwner makes a name for one replica's run: its host's, and something that
// tells it from its predecessors there.
func NewOwner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var suffix [4]byte
	rand.Read(suffix[:]) // never fails
	return host + "-" + hex.EncodeToString(suffix[:])
}

// Bounds of the pause between two looks for work.
const (
	shortestPace = 20 * time.Millisecond
	longestPace  = time.Second
)

// Runner works on the jobs of the inventory, beside those of other replicas.
type Runner struct {
	RunnerOptions
	metrics *runnerMetrics
	kinds   atomic.Pointer[map[string]Kind]
	index   *indexMetrics
	up      prometheus.Gauge
	nudges  map[string]chan struct{} // by kind
}

// NewRunner returns a runner, whose metrics it registers.
func NewRunner(o RunnerOptions) *Runner {
	nudges := map[string]chan struct{}{}
	for name := range o.Kinds {
		nudges[name] = make(chan struct{}, 1)
	}
	r := &Runner{RunnerOptions: o, metrics: newRunnerMetrics(o.Metrics), index: newIndexMetrics(o.Metrics), up: newStoreGauge(o.Metrics), nudges: nudges}
	r.Replace(o.Kinds)
	return r
}

// Replace has every attempt that is begun from now on made by these kinds, of
// the same names as before.
func (r *Runner) Replace(kinds map[string]Kind) { r.kinds.Store(&kinds) }

// Nudge has this runner look for work of a kind without waiting for the next
// look: somebody waits for a job that was just made.
func (r *Runner) Nudge(kind string) {
	select {
	case r.nudges[kind] <- struct{}{}:
	default: // it will look, or there is no such kind
	}
}

// Run works until ctx ends, then gives back what it holds. It returns when
// nothing of it is left; it must not be called twice at a time.
func (r *Runner) Run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	for name := range r.nudges {
		l := &lane{Runner: r, name: name, slots: newRegionSlots(slotsOf((*r.kinds.Load())[name]))}
		parts.Go(func() { l.run(ctx) })
	}
	parts.Go(func() { r.keepHouse(ctx) })
	parts.Go(func() { r.takeCensus(ctx) })
	parts.Go(func() { r.watchStore(ctx) })
}

// pace is the pause between two looks for work; with jitter, so that replicas
// do not look at the same time.
func (r *Runner) pace() time.Duration {
	pace := max(shortestPace, min(r.Floor, longestPace))
	return pace*3/4 + mathrand.N(pace/2)
}

// pauseAfter is how long to wait after so many attempts that came to nothing.
func (r *Runner) pauseAfter(attempts int64) time.Duration {
	longest := min(60*r.Floor, max(r.Floor, time.Minute))
	pause := min(r.Floor<<min(max(attempts, 1), 10), longest)
	return max(r.Floor, pause/2+mathrand.N(pause/2+1))
}

// lane works on the jobs of one kind.
type lane struct {
	*Runner
	name  string
	slots *regionSlots
}

func (l *lane) run(ctx context.Context) {
	var attempts sync.WaitGroup
	defer attempts.Wait()
	trouble := complaint{log: l.Log, what: "jobs could not be claimed"}
	more := false // more may be due than could be claimed
	timer := time.NewTimer(l.pace())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.slots.freed:
			if !more {
				continue
			}
		case <-l.nudges[l.name]:
		case <-timer.C:
		}
		due, err := l.claim(ctx)
		more = due.more
		for _, job := range due.jobs {
			l.slots.take(job.Region)
			attempts.Go(func() {
				defer l.slots.release(job.Region)
				l.attempt(ctx, l.name, (*l.kinds.Load())[l.name], job, due.since)
			})
		}
		timer.Reset(l.pace() + trouble.after(ctx, err))
	}
}

// claimed are the jobs that a claim brought. Their leases count since before it
// was sent.
type claimed struct {
	jobs  []inventory.Job
	more  bool // jobs may be due that found no slot
	since time.Time
}

// claim takes what is due and finds a slot. It is bounded by the leases: what it
// claims later would be lost already.
func (l *lane) claim(ctx context.Context) (c claimed, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Lease)
	defer cancel()
	c.since = time.Now()
	c.jobs, c.more, err = l.Store.ClaimJobsByRegion(ctx, l.Owner, l.Lease, l.name, l.slots.room())
	return c, err
}

// complaint is a fault that goes on: it is logged when it begins, then once in
// a while, and when it is over.
type complaint struct {
	log    *zap.Logger
	what   string
	times  int
	logged time.Time
}

const (
	complainEvery   = time.Minute
	longestTrouble  = 2 * time.Second
	shortestTrouble = 100 * time.Millisecond
)

// after notes how a try went, and returns how much longer to wait for the next.
func (c *complaint) after(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	if err == nil {
		if c.times > 0 {
			c.log.Info("over: " + c.what)
		}
		c.times = 0
		return 0
	}
	if c.times++; c.times == 1 || time.Since(c.logged) > complainEvery {
		c.logged = time.Now()
		c.log.Warn(c.what, zap.Error(err))
	}
	return min(longestTrouble, shortestTrouble<<min(c.times, 10))
}
