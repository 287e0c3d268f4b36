// Package webhook delivers events to the sinks of the configuration: at least once, and
// those of one resource one after another, in the order of their numbers.
//
// Each sink has one job, whose holder reads the outbox behind a cursor. An event that is
// not taken holds up its resource alone: it becomes a row beside the cursor, as do those
// that come behind it, and the cursor goes on. Rows are bounded; where there is no room
// for more, the cursor waits, and nothing is lost.
//
// A receiver that fails for several resources in a row, or cannot be reached, is away:
// nothing is counted against events then, it is asked now and then by one of them, and
// everything goes on when it takes one. Only while a receiver takes others an event is
// given up, and becomes a dead letter.
//
// An operator may have an event tried, or given up, at once: by an order that the holder
// takes between two messages, and answers as it records what came of it ([Deliverer.Order]).
//
// [queue] is what is on its way, [delivery] moves it, [receiver] sends it, and [Deliverer]
// is the kind of the jobs.
package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/events"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/eventlog"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/tracing/spans"
)

const (
	// absentPause is how long a job of a sink that the configuration lacks is left to
	// others, which may have read a newer one.
	absentPause = 10 * time.Second
	// absentFor is how long it is remembered how far such a sink has come.
	absentFor = 24 * time.Hour
	// soon has a job claimed again at once.
	soon = time.Millisecond
)

// Deliverer delivers events to the sinks of one configuration: it is the kind of their
// jobs.
type Deliverer struct {
	Sinks    []*Sink
	Store    *inventory.Store
	Interval time.Duration // between two looks at the outbox
	Tracer   *spans.Tracer
	Log      *zap.Logger

	metrics  *metrics
	replaced chan struct{} // closed when another configuration takes over
}

// New returns a deliverer.
func New(d Deliverer) *Deliverer {
	d.replaced = make(chan struct{})
	return &d
}

// Start implements [jobs.Lasting].
func (d *Deliverer) Start(registry prometheus.Registerer) {
	d.metrics = newMetrics(registry)
	d.showSinks()
}

// Succeed implements [jobs.Lasting]. What is under way for the former one ends.
func (d *Deliverer) Succeed(before jobs.Kind) {
	b := before.(*Deliverer)
	d.metrics = b.metrics
	for _, s := range b.Sinks {
		if d.Sink(s.Name) == nil {
			d.metrics.hide(s.Name)
		}
	}
	d.showSinks()
	close(b.replaced)
}

func (d *Deliverer) showSinks() {
	for _, s := range d.Sinks {
		d.metrics.show(s.Name)
	}
}

// Sink is the sink of a name, or nil.
func (d *Deliverer) Sink(name string) *Sink {
	for _, s := range d.Sinks {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// TracesItself implements [jobs.SelfTraced]: a message is a trace.
func (d *Deliverer) TracesItself() {}

// Describe implements [jobs.Kind].
func (d *Deliverer) Describe() jobs.Description {
	return jobs.Description{Target: jobs.TheSink, Remedy: func(j jobrow.Job) []string { return []string{"sinks", "show", j.Subject} }}
}

// Run implements [jobs.Kind].
func (d *Deliverer) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	state, err := readState(claim.Job)
	if err != nil {
		return jobs.Result{}, err
	}
	sink := d.Sink(claim.Job.Subject)
	if sink == nil {
		return d.missing(ctx, claim.Job.Subject, state)
	}
	state.AbsentSince = time.Time{}
	if err := d.newDelivery(sink, claim, state).run(ctx); err != nil {
		return jobs.Result{}, err
	}
	return jobs.Result{Again: soon}, nil
}

// missing leaves the job of a sink that the configuration lacks to others, and ends it
// when it has been absent for long.
func (d *Deliverer) missing(ctx context.Context, name string, s state) (jobs.Result, error) {
	now := d.Store.Now()
	if s.AbsentSince.IsZero() {
		s.AbsentSince = now
		return jobs.Result{Again: timing.Jitter(absentPause), Payload: s.payload()}, nil
	}
	if now.Sub(s.AbsentSince) < absentFor {
		return jobs.Result{Again: timing.Jitter(absentPause)}, nil
	}
	if all, err := d.Store.Sinks.Forget(ctx, name); err != nil || !all {
		return jobs.Result{Again: soon}, err
	}
	return jobs.Result{End: jobrow.Done}, nil
}

// Schedule implements [jobs.Scheduled]: it makes the jobs of new sinks that [Begin] has
// not made.
func (d *Deliverer) Schedule(ctx context.Context) error { return Begin(ctx, d.Store, d.Sinks) }

// Begin makes the jobs of sinks that have none: of what is written from now on a new sink
// misses nothing. The jobs of sinks that nobody knew are due at once.
func Begin(ctx context.Context, store *inventory.Store, sinks []*Sink) error {
	var failures error
	for _, s := range sinks {
		failures = errors.Join(failures, begin(ctx, store, s))
	}
	return failures
}

func begin(ctx context.Context, store *inventory.Store, s *Sink) error {
	job, err := store.Job(ctx, "", jobID(s.Name))
	if err == nil && !job.State.Ended() {
		return resume(ctx, store, job)
	}
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return err
	}
	var from state
	if !s.Earliest {
		if err := numberAll(ctx, store); err != nil {
			return err
		}
	}
	first, last, err := store.Events.Numbers(ctx)
	if err != nil {
		return err
	}
	if from.Progress.Cursor = last; s.Earliest {
		from.Progress.Cursor = first - 1
	}
	_, err = store.AddJob(ctx, jobrow.Job{ID: jobID(s.Name), Kind: eventlog.SinkJob, Subject: s.Name, Payload: from.payload()})
	return err
}

// resume has the job of a sink claimed at once that somebody without the sink has put off.
func resume(ctx context.Context, store *inventory.Store, job jobrow.Job) error {
	state, err := readState(job)
	if err != nil || job.Owner != "" || state.AbsentSince.IsZero() {
		return err
	}
	_, err = store.TriggerJob(ctx, "", job.ID)
	if errors.Is(err, jobrow.ErrEnded) || errors.Is(err, inventory.ErrNotFound) {
		return nil // it was forgotten meanwhile, and is made anew by the next call
	}
	return err
}

// numberAll numbers all events that have been committed: what is numbered later was
// written later.
func numberAll(ctx context.Context, store *inventory.Store) error {
	for {
		n, err := store.Events.Number(ctx, readAtOnce)
		if err != nil || n < readAtOnce {
			return err
		}
	}
}

func jobID(sink string) [16]byte { return jobrow.ID(eventlog.SinkJob, sink) }

func (d *Deliverer) job(ctx context.Context, sink string) (jobrow.Job, error) {
	return d.Store.Job(ctx, "", jobID(sink))
}

// Measure implements [jobs.Measured]. What it shows it has from the store, so that every
// replica shows it, and also where nobody delivers.
func (d *Deliverer) Measure(ctx context.Context, _ int) error {
	for _, s := range d.Sinks {
		status, err := d.Status(ctx, s.Name)
		if errors.Is(err, inventory.ErrNotFound) {
			continue // its job is made soon
		}
		if err != nil {
			return err
		}
		m := d.metrics
		m.lag.WithLabelValues(s.Name).Set(float64(status.Lag))
		m.lagSeconds.WithLabelValues(s.Name).Set(status.LagSeconds)
		m.retrying.WithLabelValues(s.Name).Set(float64(status.Retrying))
		m.dead.WithLabelValues(s.Name).Set(float64(status.Dead))
		away := 0.0
		if !status.AwaySince.IsZero() {
			away = d.Store.Now().Sub(status.AwaySince).Seconds()
		}
		m.awaySeconds.WithLabelValues(s.Name).Set(away)
	}
	return nil
}

// Status is how a sink fares.
type Status struct {
	Progress
	Owner    string // who delivers
	Lag      int64  // events that it has not come to, of all
	Retrying int
	Dead     int
	// LagSeconds is the age of the first event that it has not come to.
	LagSeconds float64
}

// Status returns how a sink fares; inventory.ErrNotFound where it has not begun.
func (d *Deliverer) Status(ctx context.Context, name string) (s Status, err error) {
	job, err := d.job(ctx, name)
	if err != nil {
		return s, err
	}
	kept, err := readState(job)
	if err != nil {
		return s, err
	}
	s.Progress, s.Owner = kept.Progress, job.Owner
	counts, err := d.Store.Sinks.Count(ctx, name)
	if err != nil {
		return s, err
	}
	s.Retrying, s.Dead = counts[eventlog.SinkRetrying]+counts[eventlog.SinkReplayed], counts[eventlog.SinkDead]
	_, last, err := d.Store.Events.Numbers(ctx)
	if err != nil {
		return s, err
	}
	if s.Lag = max(0, last-s.Cursor); s.Lag == 0 {
		return s, nil
	}
	next, err := d.Store.Events.KeptAfter(ctx, s.Cursor, 1)
	if err == nil && len(next) > 0 {
		s.LagSeconds = max(0, d.Store.Now().Sub(next[0].At).Seconds())
	}
	return s, err
}

// Test sends a sink an event that says nothing, once and at once, and returns what came
// of it.
func (d *Deliverer) Test(ctx context.Context, s *Sink) (Outcome, error) {
	r := newReceiver(s)
	defer r.close()
	return r.deliver(ctx, []events.CloudEvent{{
		SpecVersion: "1.0", ID: uuid.NewString(), Source: "/", Type: "Portico.Test", Subject: "/", Time: d.Store.Now().UTC(),
		ContentType: "application/json", Sequence: "0",
	}})
}
