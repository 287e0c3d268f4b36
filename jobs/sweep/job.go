package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
)

// scheduledSubject is the subject of the one job that sweeps everything periodically;
// the subjects of the others are derived from their orders.
const scheduledSubject = "everything, on schedule"

// saveEvery is the least time between two records of a sweep's progress.
const saveEvery = time.Second

// Bounds of the pause before an uncovered region that failed is tried again. The pause is shorter
// for a region that gave no answer, as it holds up creations in any region.
const (
	shortestUncovered = time.Second
	longestSilent     = time.Minute
	longestUncovered  = 10 * time.Minute
)

// payload is the payload of a sweep's job.
type payload struct {
	Order
	Scheduled bool   `json:"scheduled,omitempty"`
	Place     place  `json:"place"`
	Tries     int    `json:"tries,omitempty"` // the number of sweeps that left something uncovered
	Progress  Report `json:"progress"`
	// Before lists the places whose lists were missing after the previous try.
	Before []UnlistedPlace `json:"before,omitempty"`
	// Last is the latest sweep that has ended. Succeeded is the time when a sweep last ended
	// with answers from every region.
	Last      *summary  `json:"last,omitempty"`
	Succeeded time.Time `json:"succeeded"`
}

// summary is the record of an ended sweep.
type summary struct {
	Started time.Time      `json:"started"`
	Ended   time.Time      `json:"ended"`
	Drift   map[string]int `json:"drift"`
}

// missing returns the places whose lists are missing, by this try or the previous one.
func (p *payload) missing() []UnlistedPlace {
	if p.Progress.Ended != nil {
		return p.Progress.Unlisted
	}
	found := Report{Unlisted: slices.Clone(p.Progress.Unlisted)}
	for _, place := range p.Before {
		if !slices.ContainsFunc(found.Unlisted, func(now UnlistedPlace) bool {
			return now.Region == place.Region && now.Provider == place.Provider
		}) {
			found.merge(place)
		}
	}
	return found.Unlisted
}

func (p *payload) String() string { return jobrow.PayloadOf(p) }

func readPayload(text string) (*payload, error) {
	p := &payload{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return nil, fmt.Errorf("the payload of a sweep: %w", err)
	}
	return p, nil
}

// subject returns the job subject of an order: orders with one subject share a job.
func (o Order) subject() string {
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

// Order adds the job of a sweep, and returns it. If a sweep of the same order is under
// way, it returns that job.
func (s *Sweeper) Order(ctx context.Context, order Order) (jobrow.Job, error) {
	p := payload{Order: order}
	return s.job(ctx, jobrow.Job{Subscription: order.Subscription, Subject: order.subject(), Payload: p.String()})
}

func (s *Sweeper) job(ctx context.Context, j jobrow.Job) (jobrow.Job, error) {
	j.Kind, j.ID = Job, jobrow.ID(Job, j.Subject)
	if _, err := s.Prober.Store.Jobs.Add(ctx, j); err != nil {
		return jobrow.Job{}, fmt.Errorf("record a sweep: %w", err)
	}
	return s.Prober.Store.Jobs.Get(ctx, j.Subscription, j.ID)
}

// Describe implements [jobs.Kind].
func (s *Sweeper) Describe() jobs.Description {
	return jobs.Description{Cancellable: true, Show: progressOf}
}

// progressOf shows how many lists are done, and the regions that the rest waits for.
func progressOf(j jobrow.Job) (shown jobs.ProgressReport) {
	p, err := readPayload(j.Payload)
	if err != nil || p.Progress.Started.IsZero() {
		return shown
	}
	missing := p.missing()
	if p.Scheduled && !j.State.Ended() && p.Progress.Ended != nil && len(missing) == 0 {
		shown.Outcome = "The last sweep ended at " + p.Progress.Ended.UTC().Format(time.RFC3339) + "; the next one begins on schedule."
		return shown // nothing is under way
	}
	shown.Done, shown.Of = p.Progress.Done, p.Progress.Of
	if len(missing) == 0 || j.State.Ended() {
		return shown
	}
	shown.Outcome = "Lists are missing of " + placesInWords(missing) + "."
	for _, place := range missing {
		if place.Silent && place.Region != "" && !slices.Contains(shown.WaitingFor, place.Region) {
			shown.WaitingFor = append(shown.WaitingFor, place.Region)
		}
	}
	slices.Sort(shown.WaitingFor)
	return shown
}

// mostInWords bounds the places that a sentence names.
const mostInWords = 3

func placesInWords(places []UnlistedPlace) string {
	var words []string
	for _, place := range places[:min(len(places), mostInWords)] {
		if place.Region == "" {
			words = append(words, "further places")
			continue
		}
		words = append(words, fmt.Sprintf("%s in %s (%s)", place.Provider, place.Region, strings.TrimSuffix(place.Reason, ".")))
	}
	if more := len(places) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}

// Run sweeps, continuing where the last attempt left off.
func (s *Sweeper) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	p, err := readPayload(claim.Job.Payload)
	if err != nil {
		return jobs.Result{End: jobrow.Failed}, err
	}
	if claim.Job.State == jobrow.Cancelling {
		s.Log.Info("sweep cancelled", zap.String("job", claim.Job.Name()), zap.String("correlationId", claim.Correlation()))
		return jobs.Result{End: jobrow.Cancelled}, nil
	}
	if p.Progress.Started.IsZero() || p.Progress.Ended != nil {
		p.Place, p.Before = place{}, p.Progress.Unlisted
		p.Progress = Report{Started: s.Prober.Store.Now(), CorrelationID: claim.Correlation()}
		s.Log.Info("sweep begins", zap.String("job", claim.Job.Name()), zap.String("subject", claim.Job.Subject),
			zap.String("correlationId", claim.Correlation()))
	}
	saved := time.Now()
	err = s.sweep(ctx, p.Order, &p.Progress, p.Place, func(at place) error {
		p.Place = at
		if time.Since(saved) < saveEvery {
			return nil
		}
		saved = time.Now()
		return claim.Save(ctx, p.String())
	})
	if err != nil {
		p.Progress.Ended = nil
		return jobs.Result{Payload: p.String()}, err // the next attempt continues here
	}
	return s.conclude(claim, p), nil
}

// conclude decides whether the job ends when a sweep has ended.
func (s *Sweeper) conclude(claim *jobs.Claim, p *payload) jobs.Result {
	report := &p.Progress
	p.Last = &summary{Started: report.Started, Ended: *report.Ended, Drift: report.Drift()}
	if report.Complete() {
		p.Succeeded = *report.Ended
	}
	s.Log.Info("sweep ended", zap.String("job", claim.Job.Name()), zap.String("subject", claim.Job.Subject), zap.String("correlationId", claim.Correlation()),
		zap.Bool("complete", report.Complete()), zap.Duration("took", report.Ended.Sub(report.Started)), zap.Int("failures", report.FailureCount),
		zap.Any("drift", report.Drift()))
	for _, f := range report.Failures {
		s.Log.Warn("a region could not be swept completely", zap.String("subscription", f.Subscription), zap.String("type", f.Type),
			zap.String("region", f.Region), zap.String("reason", f.Reason), zap.String("correlationId", claim.Correlation()))
	}
	switch {
	case p.Scheduled && s.Interval > 0:
		return jobs.Result{Again: s.Interval, Payload: p.String()}
	case p.Uncovered && (!report.Complete() || len(report.Unlisted) > 0):
		p.Tries++
		longest := longestUncovered
		if slices.ContainsFunc(report.Unlisted, func(at UnlistedPlace) bool { return at.Silent }) {
			longest = longestSilent
		}
		pause := timing.Backoff(shortestUncovered, longest, p.Tries)
		return jobs.Result{Again: pause, Payload: p.String()}
	case !report.Complete():
		return jobs.Result{End: jobrow.Failed, Payload: p.String()}
	}
	return jobs.Result{End: jobrow.Done, Payload: p.String()}
}

// Schedule adds the job that sweeps everything at each interval and, once under each
// configuration, the jobs that sweep uncovered subscriptions.
func (s *Sweeper) Schedule(ctx context.Context) error {
	return errors.Join(s.scheduleAll(ctx), s.scheduleUncovered(ctx))
}

func (s *Sweeper) scheduleAll(ctx context.Context) error {
	if s.Interval <= 0 {
		return nil
	}
	known, err := s.Prober.Store.Jobs.Get(ctx, "", jobrow.ID(Job, scheduledSubject))
	if !errors.Is(err, inventory.ErrNotFound) && (err != nil || !known.State.Ended()) {
		return err
	}
	p := payload{Scheduled: true}
	if last, err := readPayload(known.Payload); err == nil { // of one that was cancelled
		p.Last, p.Succeeded = last.Last, last.Succeeded
	}
	_, err = s.job(ctx, jobrow.Job{
		Subject: scheduledSubject, Due: s.Prober.Store.Now().Add(s.Interval), Payload: p.String(),
	})
	return err
}

func (s *Sweeper) scheduleUncovered(ctx context.Context) error {
	return s.scan.VisitSome(ctx, s.Prober.Store, func(sub inventory.Subscription) error {
		if sub.Covered || sub.State == inventory.Deleted {
			return nil
		}
		return s.OrderUncovered(ctx, sub.ID)
	})
}

// OrderUncovered orders a sweep of a subscription unless absence was seen everywhere.
func (s *Sweeper) OrderUncovered(ctx context.Context, sub string) error {
	for _, t := range tracked(s.Prober.Map) {
		uncovered, err := s.Prober.Store.Coverage.Uncovered(ctx, sub, t.Key, t.EffectiveRegions())
		if err != nil {
			return fmt.Errorf("read which regions are not listed: %w", err)
		}
		if len(uncovered) > 0 {
			_, err := s.Order(ctx, Order{Subscription: sub, Uncovered: true})
			return err
		}
	}
	return nil
}

// Measure updates the metrics of the latest sweep of everything, by any replica, and of uncovered
// subscriptions.
func (s *Sweeper) Measure(ctx context.Context, _ int) error {
	return errors.Join(s.measureLatest(ctx), s.measureUncovered(ctx))
}

func (s *Sweeper) measureUncovered(ctx context.Context) error {
	found, err := s.Uncovered(ctx, "", mostUncovered)
	if err != nil {
		return err
	}
	var regions []string
	for _, t := range tracked(s.Prober.Map) {
		regions = append(regions, t.EffectiveRegions()...)
	}
	slices.Sort(regions)
	s.metrics.showUncovered(slices.Compact(regions), found)
	return nil
}

func (s *Sweeper) measureLatest(ctx context.Context) error {
	strays, err := s.Prober.Store.Strays.Count(ctx)
	if err != nil {
		return fmt.Errorf("count strays: %w", err)
	}
	s.metrics.strays.Set(float64(strays))
	latest, err := s.Latest(ctx)
	if err != nil || latest.Ended.IsZero() {
		return err
	}
	s.metrics.seconds.Set(latest.Ended.Sub(latest.Started).Seconds())
	for kind, n := range latest.Drift {
		s.metrics.drift.WithLabelValues(kind).Set(float64(n))
	}
	if !latest.Succeeded.IsZero() {
		s.metrics.success.Set(float64(latest.Succeeded.UnixMilli()) / 1000)
	}
	return nil
}

// Latest is the record of the latest ended sweep of everything; the zero Latest if none has
// ended.
type Latest struct {
	Started, Ended time.Time
	Drift          map[string]int // as [Report.Drift] counts
	// Complete: every region was listed in full. Succeeded is when a sweep last ended so.
	Complete  bool
	Succeeded time.Time
}

// Latest returns the record of the latest sweep of everything, by any replica.
func (s *Sweeper) Latest(ctx context.Context) (latest Latest, err error) {
	for _, subject := range []string{scheduledSubject, Order{}.subject()} {
		job, err := s.Prober.Store.Jobs.Get(ctx, "", jobrow.ID(Job, subject))
		if errors.Is(err, inventory.ErrNotFound) {
			continue
		}
		if err != nil {
			return latest, fmt.Errorf("read the latest sweep: %w", err)
		}
		p, err := readPayload(job.Payload)
		if err != nil {
			return latest, err
		}
		if p.Last != nil && p.Last.Ended.After(latest.Ended) {
			latest.Started, latest.Ended, latest.Drift = p.Last.Started, p.Last.Ended, p.Last.Drift
			latest.Complete = p.Succeeded.Equal(p.Last.Ended)
		}
		if p.Succeeded.After(latest.Succeeded) {
			latest.Succeeded = p.Succeeded
		}
	}
	return latest, nil
}
