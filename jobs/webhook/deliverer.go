// Package webhook delivers events to the sinks of the configuration, at least once. It delivers
// the events of one resource one after another, in the order of their numbers.
//
// Each sink has one job, whose holder reads the event log from a cursor on. An event
// that is not taken delays only its own resource: it and the later events of that
// resource become rows, and the cursor goes on. Rows are bounded; if there is no room
// for more, the cursor waits, and nothing is lost.
//
// A receiver that fails for several resources in a row, or cannot be reached, is away:
// failures then do not count against events, one event now and then tests the receiver,
// and all delivery resumes when it takes one. An event is given up, and becomes a dead
// letter, only while the receiver takes others.
//
// An operator may order that an event is tried, or given up, at once. The holder executes such
// an order between two messages, and answers it in the transaction that records the result
// ([Deliverer.Order]).
//
// [queue] holds the events on their way, [delivery] moves them, [receiver] sends them, and
// [Deliverer] is the kind of the jobs.
package webhook

import (
	"context"
	"errors"
	"fmt"
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
	// absentPause is the pause before the next attempt at the job of a sink that the
	// configuration lacks. It leaves the job to replicas with a newer configuration.
	absentPause = 10 * time.Second
	// absentFor is how long the progress of such a sink is kept.
	absentFor = 24 * time.Hour
	// soon is a pause that lets the job be claimed again at once.
	soon = time.Millisecond
)

// Deliverer delivers events to the sinks of one configuration: it is the kind of their
// jobs.
type Deliverer struct {
	Sinks    []*Sink
	Store    *inventory.Store
	Interval time.Duration // between two reads of the event log
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

// Succeed implements [jobs.Lasting]. It ends the work of the former kind.
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

// Sink returns the sink of a name, or nil.
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
	return jobs.Description{Subject: jobs.SinkSubject, Remedy: func(j jobrow.Job) []string { return []string{"sinks", "show", j.Subject} }}
}

// Run implements [jobs.Kind].
func (d *Deliverer) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	state, err := readState(claim.Job)
	if err != nil {
		return jobs.Result{}, err
	}
	sink := d.Sink(claim.Job.Subject)
	if sink == nil {
		return d.onMissingSink(ctx, claim.Job.Subject, state)
	}
	state.AbsentSince = time.Time{}
	if err := d.newDelivery(sink, claim, state).run(ctx); err != nil {
		return jobs.Result{}, err
	}
	return jobs.Result{Again: soon}, nil
}

// onMissingSink leaves the job of a sink that the configuration lacks to other replicas, and
// ends it after a long absence.
func (d *Deliverer) onMissingSink(ctx context.Context, name string, s state) (jobs.Result, error) {
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

// Schedule implements [jobs.Scheduled]: it creates the jobs of new sinks that [Begin]
// has not created.
func (d *Deliverer) Schedule(ctx context.Context) error { return Begin(ctx, d.Store, d.Sinks) }

// Begin creates the jobs of sinks that have none, so that a new sink misses no event from
// now on. The jobs of sinks that no replica knew are due at once.
func Begin(ctx context.Context, store *inventory.Store, sinks []*Sink) error {
	var failures error
	for _, s := range sinks {
		failures = errors.Join(failures, begin(ctx, store, s))
	}
	return failures
}

func begin(ctx context.Context, store *inventory.Store, s *Sink) error {
	job, err := store.Jobs.Get(ctx, "", jobID(s.Name))
	if err == nil && !job.State.Ended() {
		return resume(ctx, store.Jobs, job)
	}
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return err
	}
	var from state
	if !s.Earliest {
		if err := numberAll(ctx, store.Events); err != nil {
			return err
		}
	}
	first, last, err := store.Events.Numbers(ctx)
	if err != nil {
		return fmt.Errorf("read where the events begin and end: %w", err)
	}
	if from.Progress.Cursor = last; s.Earliest {
		from.Progress.Cursor = first - 1
	}
	_, err = store.Jobs.Add(ctx, jobrow.Job{ID: jobID(s.Name), Kind: eventlog.SinkJob, Subject: s.Name, Payload: from.payload()})
	return err
}

// resume makes the job of a sink due at once if a replica without the sink has deferred
// it.
func resume(ctx context.Context, store *jobrow.Jobs, job jobrow.Job) error {
	state, err := readState(job)
	if err != nil || job.Owner != "" || state.AbsentSince.IsZero() {
		return err
	}
	_, err = store.Trigger(ctx, "", job.ID)
	if errors.Is(err, jobrow.ErrEnded) || errors.Is(err, inventory.ErrNotFound) {
		return nil // it was forgotten meanwhile, and the next call creates it again
	}
	return err
}

// numberAll numbers all committed events, so that every event numbered later was
// written later.
func numberAll(ctx context.Context, store *eventlog.Log) error {
	for {
		n, err := store.Number(ctx, readAtOnce)
		if err != nil || n < readAtOnce {
			return err
		}
	}
}

func jobID(sink string) [16]byte { return jobrow.ID(eventlog.SinkJob, sink) }

func (d *Deliverer) job(ctx context.Context, sink string) (jobrow.Job, error) {
	return d.Store.Jobs.Get(ctx, "", jobID(sink))
}

// Measure implements [jobs.Measured]. It reads the store, so that every replica shows
// the metrics, even if none delivers.
func (d *Deliverer) Measure(ctx context.Context, _ int) error {
	for _, s := range d.Sinks {
		status, err := d.Status(ctx, s.Name)
		if errors.Is(err, inventory.ErrNotFound) {
			continue // its job is created soon
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

// Status is the state of a sink's delivery.
type Status struct {
	SinkStatus
	Owner    string // the replica that delivers
	Lag      int64  // events that it has not reached yet, of all
	Retrying int
	Dead     int
	// LagSeconds is the age of the first event that it has not reached yet.
	LagSeconds float64
}

// Status returns the state of a sink's delivery, or inventory.ErrNotFound if it has not
// started.
func (d *Deliverer) Status(ctx context.Context, name string) (s Status, err error) {
	job, err := d.job(ctx, name)
	if err != nil {
		return s, err
	}
	kept, err := readState(job)
	if err != nil {
		return s, err
	}
	s.SinkStatus, s.Owner = kept.Progress, job.Owner
	counts, err := d.Store.Sinks.Count(ctx, name)
	if err != nil {
		return s, fmt.Errorf("count the events of a sink: %w", err)
	}
	s.Retrying, s.Dead = counts[eventlog.SinkRetrying]+counts[eventlog.SinkReplayed], counts[eventlog.SinkDead]
	_, last, err := d.Store.Events.Numbers(ctx)
	if err != nil {
		return s, fmt.Errorf("read where the events end: %w", err)
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

// Test sends a sink an empty event, once and at once, and returns the outcome.
func (d *Deliverer) Test(ctx context.Context, s *Sink) (Outcome, error) {
	r := newReceiver(s)
	defer r.close()
	return r.deliver(ctx, []events.CloudEvent{{
		SpecVersion: "1.0", ID: uuid.NewString(), Source: "/", Type: "Portico.Test", Subject: "/", Time: d.Store.Now().UTC(),
		ContentType: "application/json", Sequence: "0",
	}})
}
