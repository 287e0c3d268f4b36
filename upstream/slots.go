package upstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"portico/arm"
	"portico/limits"
)

const (
	// queueWait bounds how long a client's call waits for a slot.
	queueWait = 5 * time.Second
	// queueRetry is the Retry-After of a call that got no slot.
	queueRetry = 5 * time.Second
)

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

// acquire waits for a slot. Portico's own work waits until ctx ends, or the deadline
// comes, if there is one.
func acquire(ctx context.Context, deadline time.Time, slots *limits.Concurrency, caller string) error {
	if ctx.Err() == nil && slots.TryAcquire(caller) {
		return nil // the usual case, without a timer
	}
	if caller != "" {
		if end := time.Now().Add(queueWait); deadline.IsZero() || end.Before(deadline) {
			deadline = end
		}
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if !deadline.IsZero() {
		waiting, cancel = context.WithDeadline(ctx, deadline)
	}
	defer cancel()
	err := slots.Acquire(waiting, caller)
	switch {
	case errors.Is(err, limits.ErrCallerShare):
		return errors.Join(waiting.Err(), errCallerBusy)
	case errors.Is(err, limits.ErrBusy):
		return errors.Join(waiting.Err(), errEndpointBusy)
	}
	return err
}

// Queued reports whether the call was not made because it got no slot in time.
func (f *Fault) Queued() bool { return queued(f.Err) }

func queued(err error) bool {
	return errors.Is(err, errCallerBusy) || errors.Is(err, errEndpointBusy)
}

// queueFault returns the client's error for such a call.
func queueFault(f *Fault, namespace string) *arm.Error {
	fault := arm.NewError(arm.ServerBusy, "as many calls of '"+namespace+"' are under way in '"+f.Region+"' as there may be")
	if errors.Is(f.Err, errCallerBusy) {
		fault = arm.NewError(arm.TooManyRequests, "as many calls of this caller to '"+namespace+"' are under way in '"+f.Region+"' as one caller may have")
	}
	fault.RetryAfter = queueRetry
	return fault.Because(f)
}
