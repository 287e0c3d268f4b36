package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"portico/inventory"
)

// scheduledSweep is the subject of the one job that sweeps everything again and
// again; the subjects of the others are made of their orders.
const scheduledSweep = "everything, on schedule"

// saveEvery is how often a sweep records how far it has come, at most.
const saveEvery = time.Second

// Bounds of the pause before an uncovered region that failed is tried again.
const (
	shortestUncovered = time.Second
	longestUncovered  = 10 * time.Minute
)

// sweepPayload is what a sweep's job keeps.
type sweepPayload struct {
	SweepOrder
	Scheduled bool        `json:"scheduled,omitempty"`
	Place     place       `json:"place"`
	Tries     int         `json:"tries,omitempty"` // that left something uncovered
	Progress  SweepReport `json:"progress"`
	// Last is the latest sweep that has ended, Succeeded when the latest ended
	// in which every region answered.
	Last      *sweepSummary `json:"last,omitempty"`
	Succeeded time.Time     `json:"succeeded"`
}

// sweepSummary is what the metrics tell of a sweep.
type sweepSummary struct {
	Started time.Time      `json:"started"`
	Ended   time.Time      `json:"ended"`
	Drift   map[string]int `json:"drift"`
}

func (p *sweepPayload) String() string {
	return inventory.PayloadOf(p)
}

func readSweep(payload string) (*sweepPayload, error) {
	p := &sweepPayload{}
	if err := json.Unmarshal([]byte(payload), p); err != nil {
		return nil, fmt.Errorf("the payload of a sweep: %w", err)
	}
	return p, nil
}

// subject names what an order is about: orders of one subject are one job.
func (o SweepOrder) subject() string {
	subject := o.Subscription
	if subject == "" {
		subject = "everything"
	}
	switch {
	case o.Uncovered:
		subject += ", what is not covered"
	case o.DryRun:
		subject += ", dry run"
	}
	return subject
}

// Order has a sweep made, by whichever replica takes it, and returns its job.
// Where one with the same order is under way that is the job.
func (s *Sweeping) Order(ctx context.Context, order SweepOrder) (inventory.Job, error) {
	payload := sweepPayload{SweepOrder: order}
	return s.job(ctx, inventory.Job{Subscription: order.Subscription, Subject: order.subject(), Payload: payload.String()})
}

func (s *Sweeping) job(ctx context.Context, j inventory.Job) (inventory.Job, error) {
	j.Kind, j.ID = SweepJob, inventory.JobID(SweepJob, j.Subject)
	if _, err := s.Asker.Store.AddJob(ctx, j); err != nil {
		return inventory.Job{}, err
	}
	return s.Asker.Store.Job(ctx, j.Subscription, j.ID)
}

// Run sweeps, from where the last attempt left off.
func (s *Sweeping) Run(ctx context.Context, h *Held) (Verdict, error) {
	p, err := readSweep(h.Job.Payload)
	if err != nil {
		return Verdict{End: inventory.JobFailed}, err
	}
	if h.Job.State == inventory.JobCancelling {
		s.Log.Info("sweep cancelled", zap.String("job", h.Job.Name()), zap.String("correlationId", h.Correlation()))
		return Verdict{End: inventory.JobCancelled}, nil
	}
	if p.Progress.Started.IsZero() || p.Progress.Ended != nil {
		p.Place = place{}
		p.Progress = SweepReport{Started: s.Asker.Store.Time(), CorrelationID: h.Correlation()}
		s.Log.Info("sweep begins", zap.String("job", h.Job.Name()), zap.String("subject", h.Job.Subject), zap.String("correlationId", h.Correlation()))
	}
	saved := time.Now()
	err = s.sweep(ctx, p.SweepOrder, &p.Progress, p.Place, func(at place) error {
		p.Place = at
		if time.Since(saved) < saveEvery {
			return nil
		}
		saved = time.Now()
		return h.Save(ctx, p.String())
	})
	if err != nil {
		p.Progress.Ended = nil
		return Verdict{Payload: p.String()}, err // the next attempt goes on from here
	}
	return s.conclude(h, p), nil
}

// conclude decides what becomes of the job when a sweep has ended.
func (s *Sweeping) conclude(h *Held, p *sweepPayload) Verdict {
	report := &p.Progress
	p.Last = &sweepSummary{Started: report.Started, Ended: *report.Ended, Drift: report.Drift()}
	if report.Complete() {
		p.Succeeded = *report.Ended
	}
	s.Log.Info("sweep ended", zap.String("job", h.Job.Name()), zap.String("subject", h.Job.Subject), zap.String("correlationId", h.Correlation()),
		zap.Bool("complete", report.Complete()), zap.Duration("took", report.Ended.Sub(report.Started)), zap.Int("failures", report.FailureCount),
		zap.Any("drift", report.Drift()))
	for _, f := range report.Failures {
		s.Log.Warn("a region could not be swept in full", zap.String("subscription", f.Subscription), zap.String("type", f.Type),
			zap.String("region", f.Region), zap.String("reason", f.Reason), zap.String("correlationId", h.Correlation()))
	}
	switch {
	case p.Scheduled && s.Interval > 0:
		return Verdict{Again: s.Interval, Payload: p.String()}
	case p.Uncovered && !report.Complete():
		pause := min(longestUncovered, shortestUncovered<<min(p.Tries, 10))
		p.Tries++
		return Verdict{Again: pause, Payload: p.String()}
	case !report.Complete():
		return Verdict{End: inventory.JobFailed, Payload: p.String()}
	}
	return Verdict{End: inventory.JobDone, Payload: p.String()}
}

// Schedule sees to it that everything is swept at each interval, and once in
// the life of a process that whatever is not covered will be. It is for one
// goroutine to call.
func (s *Sweeping) Schedule(ctx context.Context) error {
	return errors.Join(s.scheduleAll(ctx), s.scheduleUncovered(ctx))
}

func (s *Sweeping) scheduleAll(ctx context.Context) error {
	if s.Interval <= 0 {
		return nil
	}
	known, err := s.Asker.Store.Job(ctx, "", inventory.JobID(SweepJob, scheduledSweep))
	if !errors.Is(err, inventory.ErrNotFound) && (err != nil || !known.State.Ended()) {
		return err
	}
	payload := sweepPayload{Scheduled: true}
	if last, err := readSweep(known.Payload); err == nil { // of one that was cancelled
		payload.Last, payload.Succeeded = last.Last, last.Succeeded
	}
	_, err = s.job(ctx, inventory.Job{
		Subject: scheduledSweep, Due: s.Asker.Store.Time().Add(s.Interval), Payload: payload.String(),
	})
	return err
}

func (s *Sweeping) scheduleUncovered(ctx context.Context) error {
	return s.covered.visit(ctx, s.Asker.Store, func(sub inventory.Subscription) error {
		if sub.Covered || sub.State == inventory.Deleted {
			return nil
		}
		return s.OrderUncovered(ctx, sub.ID)
	})
}

// OrderUncovered has a subscription swept if there is anywhere that absence
// was not seen.
func (s *Sweeping) OrderUncovered(ctx context.Context, sub string) error {
	for _, t := range tracked(s.Asker.Map) {
		uncovered, err := s.Asker.Store.Uncovered(ctx, sub, t.Key, t.EffectiveRegions())
		if err != nil {
			return err
		}
		if len(uncovered) > 0 {
			_, err := s.Order(ctx, SweepOrder{Subscription: sub, Uncovered: true})
			return err
		}
	}
	return nil
}

// Measure takes the metrics from the latest sweep of everything that any
// replica has made.
func (s *Sweeping) Measure(ctx context.Context) error {
	strays, err := s.Asker.Store.CountStrays(ctx)
	if err != nil {
		return err
	}
	s.metrics.strays.Set(float64(strays))
	var last *sweepSummary
	var succeeded time.Time
	for _, subject := range []string{scheduledSweep, SweepOrder{}.subject()} {
		job, err := s.Asker.Store.Job(ctx, "", inventory.JobID(SweepJob, subject))
		if errors.Is(err, inventory.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		p, err := readSweep(job.Payload)
		if err != nil {
			return err
		}
		if p.Last != nil && (last == nil || p.Last.Ended.After(last.Ended)) {
			last = p.Last
		}
		if p.Succeeded.After(succeeded) {
			succeeded = p.Succeeded
		}
	}
	if last == nil {
		return nil
	}
	s.metrics.seconds.Set(last.Ended.Sub(last.Started).Seconds())
	for kind, n := range last.Drift {
		s.metrics.drift.WithLabelValues(kind).Set(float64(n))
	}
	if !succeeded.IsZero() {
		s.metrics.success.Set(float64(succeeded.UnixMilli()) / 1000)
	}
	return nil
}
