package upstream

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"portico/arm"
	"portico/limits"
)

// Queue bounds clients' calls that wait for slots of an endpoint: the time of one, and
// the number of each kind, in total and for one caller. Zeros stand for the defaults.
type Queue struct {
	Time           time.Duration
	All, PerCaller int
}

const (
	defaultQueueTime = 5 * time.Second
	defaultQueue     = 1024
	// queueRetry is the Retry-After of a call that got no slot.
	queueRetry = 5 * time.Second
)

func (q Queue) orDefaults() Queue {
	q.Time, q.All = cmp.Or(q.Time, defaultQueueTime), cmp.Or(q.All, defaultQueue)
	q.PerCaller = cmp.Or(q.PerCaller, q.All)
	return q
}

var (
	errCallerBusy   = errors.New("the caller has as many calls of the endpoint under way as one caller may have")
	errEndpointBusy = errors.New("as many calls of the endpoint are under way as there may be")
)

// slots returns the slots for calls with this method.
func (t *target) slots(method string) *limits.Concurrency {
	if method == http.MethodGet || method == http.MethodHead {
		return t.reads
	}
	return t.writes
}

// acquire waits for a slot. Portico's own work waits until ctx ends or the
// deadline passes, regardless of how many wait.
func (c *Client) acquire(ctx context.Context, deadline time.Time, slots *limits.Concurrency, call *Call) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if slots.TryAcquire(call.Caller) {
		return nil // the usual case, without a timer
	}
	began := time.Now()
	bounds := c.options.Queue
	if call.Caller != "" {
		if end := began.Add(bounds.Time); deadline.IsZero() || end.Before(deadline) {
			deadline = end
		}
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if !deadline.IsZero() {
		waiting, cancel = context.WithDeadline(ctx, deadline)
	}
	defer cancel()
	var err error
	if call.Caller == "" {
		err = slots.Acquire(waiting, call.Caller)
	} else {
		err = slots.AcquireWithin(waiting, call.Caller, limits.Queue{All: bounds.All, PerCaller: bounds.PerCaller})
	}
	switch {
	case errors.Is(err, limits.ErrCallerShare):
		err = errors.Join(waiting.Err(), errCallerBusy)
	case errors.Is(err, limits.ErrBusy), errors.Is(err, limits.ErrNoRoom):
		err = errors.Join(waiting.Err(), errEndpointBusy)
		if call.Caller != "" {
			c.target(call.Endpoint).shed.recordShed(time.Now())
		}
	}
	call.queued = time.Since(began)
	c.metrics.recordWait(call, call.queued, err)
	return err
}

// Queued reports whether the call was not made because it got no slot in time.
func (f *Fault) Queued() bool { return queued(f.Err) }

func queued(err error) bool {
	return errors.Is(err, errCallerBusy) || errors.Is(err, errEndpointBusy)
}

// queueFault returns the client's error for a call that got no slot.
func queueFault(f *Fault, namespace string) *arm.Error {
	fault := arm.NewError(arm.ServerBusy, "as many calls of '"+namespace+"' are under way in '"+f.Region+"' as there may be")
	if errors.Is(f.Err, errCallerBusy) {
		fault = arm.NewError(arm.TooManyRequests, "as many calls of this caller to '"+namespace+"' are under way in '"+f.Region+"' as one caller may have")
	}
	fault.RetryAfter = queueRetry
	return fault.WithCause(f)
}
