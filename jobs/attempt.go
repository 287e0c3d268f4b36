package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/events"
	"portico/internal/failpoint"
	"portico/inventory/jobrow"
	"portico/tracing/spans"
)

// RecordTime bounds the recording of an attempt's result, which goes on when the runner
// ends.
const RecordTime = 5 * time.Second

// The outcomes of attempts, as the metrics name them.
const (
	outcomeDone       = "done"
	outcomeAgain      = "again"      // the job goes on
	outcomeUnfinished = "unfinished" // without a result or an error
	outcomeFailed     = "failed"
	outcomePanicked   = "panicked"
	outcomeDeposed    = "deposed"  // the job was no longer the runner's
	outcomeReleased   = "released" // given back at the end of the runner
)

var errPanicked = errors.New("the attempt panicked")

// attempt makes one attempt at a job whose lease counts from since, and records the result.
func (w *worker) attempt(ctx context.Context, job jobrow.Job, since time.Time) {
	name, metrics := w.name, w.metrics
	metrics.running.WithLabelValues(name).Inc()
	defer metrics.running.WithLabelValues(name).Dec()
	kind := (*w.kinds.Load())[name]
	span := w.beginSpan(kind, job)
	ctx = spans.NewContext(ctx, span)
	work, stop := context.WithCancelCause(events.With(ctx, causeOf(kind, job)))
	claim := &Claim{Job: job, store: w.Store.Jobs, trace: span.TraceID()}
	own := &lease{store: w.Store.Jobs, length: w.Lease, job: job, since: since}
	var renewing sync.WaitGroup
	renewing.Go(func() { own.renewUntilDone(work, stop) })
	started := time.Now()
	result, err := w.runSafely(work, kind, claim)
	lost := errors.Is(context.Cause(work), errLeaseLost)
	stop(nil)
	renewing.Wait()
	if lost {
		err = errLeaseLost
	}
	outcome := w.conclude(ctx, claim, result, err)
	metrics.attempts.WithLabelValues(name, outcome).Inc()
	endSpan(span, claim, outcome)
	if state, ended := endOf(outcome, result); ended {
		metrics.ended.WithLabelValues(name, state.String()).Inc()
		w.announceEnd(job.ID)
	}
	metrics.seconds.WithLabelValues(name).Observe(time.Since(started).Seconds())
}

// endOf returns the state of a job after an attempt, and reports whether the job has ended.
func endOf(outcome string, result Result) (state jobrow.State, ended bool) {
	switch {
	case outcome == outcomeDone && result.Recorded:
		return jobrow.Done, true
	case outcome == outcomeDone || outcome == outcomeFailed:
		return result.End, result.End.Ended()
	}
	return jobrow.Waiting, false
}

// runSafely makes an attempt, and turns a panic into its error. It cannot catch panics of
// goroutines that the attempt starts: a kind has to catch these itself, or they end the
// process, and then the next process that claims the job.
func (w *worker) runSafely(ctx context.Context, kind Kind, claim *Claim) (result Result, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			result, err = Result{}, errPanicked
			w.Log.Error("panic", zap.String("job", claim.Job.Name()), zap.String("kind", claim.Job.Kind), claim.traceField(),
				zap.String("failure", fmt.Sprint(failure)), zap.ByteString("stack", debug.Stack()))
		}
	}()
	return w.shares.run(ctx, kind, claim)
}

// conclude records the result of an attempt, and returns its outcome. If the recording
// fails, the job falls due at the end of its lease.
func (r *Runner) conclude(ctx context.Context, claim *Claim, result Result, err error) string {
	ending := ctx.Err() != nil
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), RecordTime)
	defer cancel()
	outcome, record := r.decide(claim, result, err, ending)
	if record == nil {
		return outcome
	}
	failpoint.Pass(failpoint.JobConcludeBefore)
	switch failure := record(bounded); {
	case errors.Is(failure, jobrow.ErrLeaseLost):
		return outcomeDeposed
	case failure != nil:
		r.Log.Warn("the result of an attempt was not recorded", zap.String("job", claim.Job.Name()), zap.String("kind", claim.Job.Kind), zap.Error(failure))
	}
	failpoint.Pass(failpoint.JobConcludeAfter)
	return outcome
}

// decide returns the outcome of an attempt, and the function that records it; nil if
// there is nothing to record.
func (r *Runner) decide(claim *Claim, result Result, err error, ending bool) (outcome string, record func(context.Context) error) {
	job, payload := claim.Job, result.Payload
	job.Step.Did = r.outcomeText(job, payload, err)
	later := func(outcome string, pause time.Duration) (string, func(context.Context) error) {
		due := r.Store.Now().Add(pause)
		job.Step.Outcome = outcome
		return outcome, func(ctx context.Context) error { return r.Store.Jobs.Defer(ctx, job, due, payload) }
	}
	switch {
	case errors.Is(err, jobrow.ErrLeaseLost), errors.Is(err, errLeaseLost):
		return outcomeDeposed, nil
	case err == nil && result.Recorded:
		return outcomeDone, nil
	case result.End.Ended():
		if outcome = outcomeDone; err != nil {
			outcome = r.logFailure(claim, err)
		}
		return outcome, func(ctx context.Context) error { return r.Store.Jobs.End(ctx, job, result.End, payload) }
	case err == nil && result.Again > 0:
		job.Attempts = 0
		return later(outcomeAgain, result.Again)
	case err != nil && result.Again > 0:
		return later(r.logFailure(claim, err), result.Again)
	case ending:
		return later(outcomeReleased, 0)
	case errors.Is(err, errPanicked):
		return later(outcomePanicked, r.pauseAfter(job.Attempts))
	case err != nil:
		return later(r.logFailure(claim, err), r.pauseAfter(job.Attempts))
	}
	return later(outcomeUnfinished, r.pauseAfter(job.Attempts))
}

// outcomeText returns the error of an attempt, or the progress of its job, in a sentence.
func (r *Runner) outcomeText(job jobrow.Job, payload string, err error) string {
	if err != nil {
		return err.Error()
	}
	if payload != "" {
		job.Payload = payload
	}
	s := r.Describe(job.Kind).Progress(job)
	if len(s.WaitingFor) > 0 {
		s.Outcome += " It waits for " + strings.Join(s.WaitingFor, ", ") + "."
	}
	return s.Outcome
}

func (r *Runner) logFailure(claim *Claim, err error) string {
	r.Log.Info("an attempt failed", zap.String("job", claim.Job.Name()), zap.String("kind", claim.Job.Kind), zap.Int64("attempts", claim.Job.Attempts),
		zap.String("correlationId", claim.Correlation()), claim.traceField(), zap.Error(err))
	return outcomeFailed
}
