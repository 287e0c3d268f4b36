package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/probe"
	"portico/upstream"
	"portico/upstream/answers"
)

// FenceWatcher watches the fences on an ID until the last of them is gone: it probes
// for resources that land under them, and deletes these. The inventory creates its job
// when a group closes over writes of unknown outcome.
type FenceWatcher struct {
	Prober probe.Prober
	// Floor is the least time between two probes; Prober.Timeout and Patience are as in
	// Verifier.
	Floor, Patience time.Duration
	// SendWithin bounds the time until a DELETE begins, and CallLimit the time until its last
	// byte is sent.
	SendWithin, CallLimit time.Duration
	// After Limit a fence that is still there is reported, and checked every Recheck.
	Limit, Recheck time.Duration
	Region         string // of the front door, for the ids of its calls
	Log            *zap.Logger

	fences, overLimit prometheus.Gauge
}

// Start implements [jobs.Lasting].
func (f *FenceWatcher) Start(metrics prometheus.Registerer) {
	f.fences = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_fences",
		Help: "Writes of unknown outcome below deleted resource groups that may still take effect.",
	})
	f.overLimit = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_fences_over_limit",
		Help: "Resources fenced for longer than index.followLimit: a late write cannot be deleted, or its provider does not answer.",
	})
	metrics.MustRegister(f.fences, f.overLimit)
}

// Succeed implements [jobs.Lasting].
func (f *FenceWatcher) Succeed(before jobs.Kind) {
	b := before.(*FenceWatcher)
	f.fences, f.overLimit = b.fences, b.overLimit
}

// Measure counts the fences, and the resources with fences beyond Limit.
func (f *FenceWatcher) Measure(ctx context.Context, open int) error {
	n, err := f.Prober.Store.Fences.Count(ctx)
	if err != nil {
		return fmt.Errorf("count fences: %w", err)
	}
	var counts jobrow.Counts
	if open > 0 {
		if counts, err = f.Prober.Store.Jobs.CountKind(ctx, inventory.FenceJob, f.Limit, f.Limit); err != nil {
			return fmt.Errorf("count the jobs of fences: %w", err)
		}
	}
	f.fences.Set(float64(n))
	f.overLimit.Set(float64(counts.Old))
	return nil
}

// Describe implements [jobs.Kind].
func (f *FenceWatcher) Describe() jobs.Description {
	return jobs.Description{
		Subject: jobs.FenceSubject, Remedy: unstick,
		Problems: jobs.Problems{
			TooLong: "fencesTooLong", After: f.Limit,
			Summary: "Fences on %s have stood for long: what landed late cannot be deleted, or its provider does not say.",
			One:     "resource", Many: "resources",
		},
	}
}

// WatchOn names the job that watches the fences on an ID.
func WatchOn(sub, id string) jobrow.Job {
	key := arm.Fold(id)
	return jobrow.Job{Subscription: arm.Fold(sub), ID: jobrow.ID(inventory.FenceJob, key), Kind: inventory.FenceJob, Subject: key}
}

// Run probes once each region where something may land.
func (f *FenceWatcher) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	sub, key := claim.Job.Subscription, claim.Job.Subject
	fences, err := f.Prober.Store.Fences.On(ctx, sub, key)
	if err != nil {
		return jobs.Result{}, fmt.Errorf("read the fences on a resource: %w", err)
	}
	absent, failure := inventory.ProvedAbsent{}, error(nil)
	probed := map[string]bool{}
	for _, fence := range fences {
		if fence.Kind != index.Put || probed[fence.Region] {
			continue
		}
		probed[fence.Region] = true
		since := f.Prober.Store.Now()
		switch landed, err := f.hasLanded(ctx, claim, fence); {
		case err != nil:
			failure = fmt.Errorf("ask %s for what landed late: %w", fence.Region, err)
		case !landed:
			absent[fence.Region] = since
		default:
			failure = errors.Join(failure, f.deleteLanded(ctx, claim, fence))
		}
	}
	left, err := f.Prober.Store.Fences.RemoveEnded(ctx, sub, key, absent)
	switch {
	case err != nil:
		return jobs.Result{}, fmt.Errorf("remove ended fences: %w", err)
	case len(left) == 0:
		return jobs.Result{End: jobrow.Done}, nil
	case failure != nil:
		return jobs.Result{}, failure
	}
	return jobs.Result{Again: f.pause(claim, left)}, nil
}

// pause returns the pause until the next probe. It grows, but not beyond the time of
// the next fence.
func (f *FenceWatcher) pause(claim *jobs.Claim, left []inventory.Fence) time.Duration {
	now := f.Prober.Store.Now()
	age := now.Sub(claim.Job.Created)
	if age > f.Limit {
		return f.Recheck
	}
	asks, next := false, time.Duration(0)
	for _, fence := range left {
		asks = asks || fence.Kind == index.Put
		if ends := fence.Until.Sub(now); ends > 0 && (next == 0 || ends < next) {
			next = ends
		}
	}
	if asks || next == 0 {
		next = min(pace(age, 0, f.Floor), max(next, f.Floor))
	}
	return max(next, f.Floor)
}

// resourceUnder returns the resource that a fence is on.
func resourceUnder(fence inventory.Fence) inventory.Resource {
	return inventory.Resource{
		Subscription: fence.Subscription, Key: fence.Key, ID: fence.ID, Group: fence.Group, Type: fence.Type, TypeName: fence.Type,
		Region: fence.Region, APIVersion: fence.APIVersion,
	}
}

// hasLanded probes whether something has landed under a fence.
func (f *FenceWatcher) hasLanded(ctx context.Context, claim *jobs.Claim, fence inventory.Fence) (bool, error) {
	answer, err := withPatience(f.Prober, claim, f.Patience).Get(ctx, claim.Header(f.Region), resourceUnder(fence))
	return err == nil && answer.Status == http.StatusOK, err
}

// deleteLanded deletes a resource that has landed under a fence, unless a DELETE is already
// under way. Once the request has left, remove waits for its end even if the attempt is
// over.
func (f *FenceWatcher) deleteLanded(ctx context.Context, claim *jobs.Claim, fence inventory.Fence) error {
	q, endpoint, err := f.Prober.Target(resourceUnder(fence))
	if err != nil {
		return err
	}
	started := time.Now()
	ticket, err := f.Prober.Store.Fences.BeginDelete(ctx, fence, q.Type.LateWriteWindow)
	if errors.Is(err, inventory.ErrChanged) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("record the intent to delete what landed late: %w", err)
	}
	f.Log.Info("a write that landed after its resource group was deleted is being deleted", zap.String("job", claim.Job.Name()),
		zap.String("region", fence.Region), zap.String("correlationId", claim.Correlation()))
	ctx = context.WithoutCancel(ctx)
	header := claim.Header(f.Region)
	header.Set("Referer", answers.Referer(f.Prober.Public, q.Path.Escaped(), q.Query.Raw))
	outcome, failure := f.send(ctx, upstream.Call{
		Endpoint: endpoint, Method: http.MethodDelete, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header,
		Since: started, SendWithin: f.SendWithin, EndWithin: f.CallLimit, Job: claim.Job.Name(),
	}, fence.ID)
	return errors.Join(failure, f.Prober.Store.Fences.SettleDelete(ctx, ticket, outcome, q.Type.LateWriteWindow))
}

// send makes the call of a DELETE and returns its outcome. A refusal is an error, so
// that the call is tried again.
func (f *FenceWatcher) send(ctx context.Context, call upstream.Call, id string) (index.Outcome, error) {
	answer, err := f.Prober.Upstream.Send(ctx, call)
	outcome := answers.Write{Kind: index.Delete, ID: id}.Read(answer, err).Outcome
	switch {
	case answers.StatusUntrusted(err):
		return outcome, fmt.Errorf("delete what landed late in %s: %w", call.Endpoint.Region, err)
	case outcome == index.Refused || outcome == index.Ambiguous:
		return outcome, fmt.Errorf("delete what landed late in %s: %w", call.Endpoint.Region, probe.NewStatusError(answer.Status, answer.Header))
	}
	return outcome, nil
}
