package operations

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/failpoint"
	"portico/inventory"
)

// concludeTime bounds the recording of what an attempt came to.
const concludeTime = 5 * time.Second

// The outcomes of attempts, as the metrics name them.
const (
	outcomeDone       = "done"
	outcomeAgain      = "again"      // it goes on
	outcomeUnfinished = "unfinished" // it came to nothing yet
	outcomeFailed     = "failed"
	outcomePanicked   = "panicked"
	outcomeDeposed    = "deposed"  // the job was no longer the runner's
	outcomeReleased   = "released" // given back at the end of the runner
)

var (
	errLeaseLost = errors.New("the lease was lost")
	errPanicked  = errors.New("the attempt panicked")
)

// attempt makes one attempt at a job that was claimed, by a call that began at
// a time, and records what it came to.
func (r *Runner) attempt(ctx context.Context, name string, kind Kind, job inventory.Job, claimed time.Time) {
	r.metrics.running.WithLabelValues(name).Inc()
	defer r.metrics.running.WithLabelValues(name).Dec()
	work, stop := context.WithCancelCause(ctx)
	h := &Held{Job: job, store: r.Store}
	hold := &lease{store: r.Store, length: r.Lease, job: job, since: claimed}
	var renewing sync.WaitGroup
	renewing.Go(func() { hold.keep(work, stop) })
	begun := time.Now()
	verdict, err := r.guarded(work, kind, h)
	lost := errors.Is(context.Cause(work), errLeaseLost)
	stop(nil)
	renewing.Wait()
	if lost {
		err = errLeaseLost
	}
	outcome := r.conclude(ctx, h, verdict, err)
	r.metrics.attempts.WithLabelValues(name, outcome).Inc()
	switch {
	case outcome == outcomeDone && verdict.Recorded:
		r.metrics.ended.WithLabelValues(name, inventory.JobDone.String()).Inc()
	case (outcome == outcomeDone || outcome == outcomeFailed) && verdict.End.Ended():
		r.metrics.ended.WithLabelValues(name, verdict.End.String()).Inc()
	}
	r.metrics.seconds.WithLabelValues(name).Observe(time.Since(begun).Seconds())
}

// guarded keeps a panic from reaching further than its attempt. Goroutines that
// an attempt has of its own are past it: they have to contain theirs, or these
// end the process, and then the next one that claims the job.
func (r *Runner) guarded(ctx context.Context, kind Kind, h *Held) (verdict Verdict, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			verdict, err = Verdict{}, errPanicked
			r.Log.Error("panic", zap.String("job", h.Job.Name()), zap.String("kind", h.Job.Kind),
				zap.String("failure", fmt.Sprint(failure)), zap.ByteString("stack", debug.Stack()))
		}
	}()
	return kind.Run(ctx, h)
}

// conclude records what an attempt came to, and returns its outcome. Where that
// fails the job falls due at the end of its lease.
func (r *Runner) conclude(ctx context.Context, h *Held, v Verdict, err error) string {
	ending := ctx.Err() != nil
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTime)
	defer cancel()
	outcome, record := r.weigh(h, v, err, ending)
	if record == nil {
		return outcome
	}
	failpoint.Pass(failpoint.JobConcludeBefore)
	switch failure := record(bounded); {
	case errors.Is(failure, inventory.ErrDeposed):
		return outcomeDeposed
	case failure != nil:
		r.Log.Warn("what an attempt came to was not recorded", zap.String("job", h.Job.Name()), zap.String("kind", h.Job.Kind), zap.Error(failure))
	}
	failpoint.Pass(failpoint.JobConcludeAfter)
	return outcome
}

// weigh decides what an attempt came to and how that is recorded; nil when
// there is nothing to record.
func (r *Runner) weigh(h *Held, v Verdict, err error, ending bool) (outcome string, record func(context.Context) error) {
	job, payload := h.Job, v.Payload
	later := func(pause time.Duration) func(context.Context) error {
		due := r.Store.Time().Add(pause)
		return func(ctx context.Context) error { return r.Store.DeferJob(ctx, job, due, payload) }
	}
	switch {
	case errors.Is(err, inventory.ErrDeposed), errors.Is(err, errLeaseLost):
		return outcomeDeposed, nil
	case err == nil && v.Recorded:
		return outcomeDone, nil
	case v.End.Ended():
		if outcome = outcomeDone; err != nil {
			outcome = r.failed(h, err)
		}
		return outcome, func(ctx context.Context) error { return r.Store.EndJob(ctx, job, v.End, payload) }
	case err == nil && v.Again > 0:
		job.Attempts = 0
		return outcomeAgain, later(v.Again)
	case err != nil && v.Again > 0:
		return r.failed(h, err), later(v.Again)
	case ending:
		return outcomeReleased, later(0)
	case errors.Is(err, errPanicked):
		return outcomePanicked, later(r.pauseAfter(job.Attempts))
	case err != nil:
		return r.failed(h, err), later(r.pauseAfter(job.Attempts))
	}
	return outcomeUnfinished, later(r.pauseAfter(job.Attempts))
}

func (r *Runner) failed(h *Held, err error) string {
	r.Log.Info("an attempt failed", zap.String("job", h.Job.Name()), zap.String("kind", h.Job.Kind), zap.Int64("attempts", h.Job.Attempts),
		zap.String("correlationId", h.Correlation()), zap.Error(err))
	return outcomeFailed
}

// lease is a holder's belief in its hold on a job. It is timed from before the
// claim or renewal was sent, so that the holder is the first to give it up.
type lease struct {
	store  *inventory.Store
	length time.Duration
	job    inventory.Job // for renewals; the kind has its own copy
	since  time.Time     // from when the lease counts
}

// keep renews the lease at a third of its length until ctx ends. When the
// lease is lost, or is over before a renewal worked, it stops the work.
func (l *lease) keep(ctx context.Context, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(max(l.length/10, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		passed := elapsed(l.since, time.Now())
		if passed >= l.length {
			stop(errLeaseLost)
			return
		}
		if passed < l.length/3 {
			continue
		}
		if errors.Is(l.renew(ctx, l.length-passed), inventory.ErrDeposed) {
			stop(errLeaseLost)
			return
		}
	}
}

// renew tries once, for no longer than what is left of the lease.
func (l *lease) renew(ctx context.Context, left time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	before := time.Now()
	err := l.store.RenewJob(ctx, &l.job, l.length)
	if err == nil {
		l.since = before
	}
	return err
}

// elapsed is the larger of what the monotonic and the wall clock say: a
// suspended machine stops the one, a set clock moves the other.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}
