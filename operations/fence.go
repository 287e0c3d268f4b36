package operations

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/arm"
	"portico/fanout"
	"portico/inventory"
	"portico/locate"
	"portico/upstream"
)

// Fencing is the kind of work that watches the fences on an ID until the last of
// them has gone: it asks for what may land under them, and deletes that. The
// inventory makes its job where a group closes over writes of unknown fate.
type Fencing struct {
	Asker locate.Prober
	// Floor is the least time between two questions, Asker.Timeout that of the
	// first; later ones have more patience, up to Patience.
	Floor, Patience time.Duration
	// SendWithin is until a DELETE has to leave, and CallLimit until the last of its
	// bytes has.
	SendWithin, CallLimit time.Duration
	// After Limit a fence that still stands is reported, and looked at every Recheck.
	Limit, Recheck time.Duration
	Region         string // of the front door, for the ids of its calls
	Log            *zap.Logger

	standing, overLimit prometheus.Gauge
}

// NewFencing completes a Fencing with its metrics.
func NewFencing(f Fencing, metrics prometheus.Registerer) *Fencing {
	f.standing = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_fences",
		Help: "Writes of unknown fate that resource groups were closed over, and that may still take effect.",
	})
	f.overLimit = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_fences_over_limit",
		Help: "Resources under fences for longer than index.followLimit: what landed there late cannot be deleted, or its provider does not say.",
	})
	metrics.MustRegister(f.standing, f.overLimit)
	return &f
}

// Measure counts the fences, and those that stand too long.
func (f *Fencing) Measure(ctx context.Context) error {
	n, err := f.Asker.Store.CountFences(ctx)
	if err != nil {
		return err
	}
	counts, err := f.Asker.Store.CountJobs(ctx, inventory.FenceJob, f.Limit, f.Limit)
	if err != nil {
		return err
	}
	f.standing.Set(float64(n))
	f.overLimit.Set(float64(counts.Old))
	return nil
}

// Run asks once in each region where something may land.
func (f *Fencing) Run(ctx context.Context, h *Held) (Verdict, error) {
	sub, key := h.Job.Subscription, h.Job.Subject
	fences, err := f.Asker.Store.Fences(ctx, sub, key)
	if err != nil {
		return Verdict{}, err
	}
	absent, failure := inventory.ProvedAbsent{}, error(nil)
	asked := map[string]bool{}
	for _, fence := range fences {
		if fence.Kind != inventory.Put || asked[fence.Region] {
			continue
		}
		asked[fence.Region] = true
		since := f.Asker.Store.Time()
		switch there, err := f.there(ctx, h, fence); {
		case err != nil:
			failure = err
		case !there:
			absent[fence.Region] = since
		default:
			failure = errors.Join(failure, f.remove(ctx, h, fence))
		}
	}
	left, err := f.Asker.Store.Unfence(ctx, sub, key, absent)
	switch {
	case err != nil:
		return Verdict{}, err
	case len(left) == 0:
		return Verdict{End: inventory.JobDone}, nil
	case failure != nil:
		return Verdict{}, failure
	}
	return Verdict{Again: f.pause(h, left)}, nil
}

// pause is the pause until the next look: growing, but no longer than until the next
// fence's time is over.
func (f *Fencing) pause(h *Held, left []inventory.Fence) time.Duration {
	now := f.Asker.Store.Time()
	age := now.Sub(h.Job.Created)
	if age > f.Limit {
		return f.Recheck
	}
	asks, next := false, time.Duration(0)
	for _, fence := range left {
		asks = asks || fence.Kind == inventory.Put
		if ends := fence.Until.Sub(now); ends > 0 && (next == 0 || ends < next) {
			next = ends
		}
	}
	if asks || next == 0 {
		next = min(pace(age, 0, f.Floor), max(next, f.Floor))
	}
	return max(next, f.Floor)
}

// question is the GET of what a fence stands on.
func (f *Fencing) question(fence inventory.Fence) inventory.Resource {
	return inventory.Resource{
		Subscription: fence.Subscription, Key: fence.Key, ID: fence.ID, Group: fence.Group, Type: fence.Type, TypeName: fence.Type,
		Region: fence.Region, APIVersion: fence.APIVersion,
	}
}

// there asks whether something has landed under a fence.
func (f *Fencing) there(ctx context.Context, h *Held, fence inventory.Fence) (bool, error) {
	answer, err := patient(f.Asker, h, f.Patience).Get(ctx, h.header(f.Region), f.question(fence))
	return err == nil && answer.Status == http.StatusOK, err
}

// remove deletes what has landed under a fence, unless that is under way already.
// Once sent, the DELETE is seen to its end.
func (f *Fencing) remove(ctx context.Context, h *Held, fence inventory.Fence) error {
	q, endpoint, err := f.Asker.Target(f.question(fence))
	if err != nil {
		return err
	}
	begun := time.Now()
	ticket, err := f.Asker.Store.BeginUnderFence(ctx, fence, q.Type.LateWriteWindow)
	if errors.Is(err, inventory.ErrChanged) {
		return nil
	}
	if err != nil {
		return err
	}
	f.Log.Info("a write that landed after its resource group was deleted is being deleted", zap.String("job", h.Job.Name()),
		zap.String("region", fence.Region), zap.String("correlationId", h.Correlation()))
	ctx = context.WithoutCancel(ctx)
	header := h.header(f.Region)
	header.Set("Referer", fanout.PublicLink(f.Asker.Public, q.Path.Escaped(), q.Query.Raw))
	outcome, failure := f.send(ctx, upstream.Call{
		Endpoint: endpoint, Method: http.MethodDelete, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header,
		Since: begun, SendWithin: f.SendWithin, EndWithin: f.CallLimit, Job: h.Job.Name(),
	}, fence.ID)
	return errors.Join(failure, f.Asker.Store.SettleUnderFence(ctx, ticket, outcome, q.Type.LateWriteWindow))
}

// send makes the call of a DELETE and tells what it came to. A refusal is a failure:
// it is tried again.
func (f *Fencing) send(ctx context.Context, call upstream.Call, id string) (inventory.Outcome, error) {
	answer, err := f.Asker.Upstream.Do(ctx, call)
	if err != nil {
		var fault *upstream.Fault
		if errors.As(err, &fault) && !fault.Sent {
			return inventory.NotSent, err
		}
		return inventory.Ambiguous, err
	}
	defer answer.Body.Close()
	body, err := upstream.ReadAll(answer.Header, answer.Body, 1<<20)
	if err != nil && !errors.Is(err, upstream.ErrTooLarge) {
		return inventory.Ambiguous, err
	}
	absent := answer.StatusCode == http.StatusNotFound && arm.SaysAbsent(body, id)
	outcome := inventory.OutcomeOf(inventory.Delete, answer.StatusCode, absent)
	if outcome == inventory.Refused || outcome == inventory.Ambiguous {
		return outcome, locate.NewStatusError(answer.StatusCode, answer.Header)
	}
	return outcome, nil
}
