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
	// queueWait is how long a caller's call waits for others to end.
	queueWait = 5 * time.Second
	// queueRetry is when a caller may come again whose call was not made.
	queueRetry = 5 * time.Second
)

var (
	errCallerBusy   = errors.New("the caller has as many calls of the endpoint under way as one caller may have")
	errEndpointBusy = errors.New("as many calls of the endpoint are under way as there may be")
)

// slots are those that calls of a method take.
func (t *target) slots(method string) *limits.Concurrency {
	if method == http.MethodGet || method == http.MethodHead {
		return t.reads
	}
	return t.writes
}

// acquire waits for a slot. Portico's own work waits as long as its time lasts.
func acquire(ctx context.Context, slots *limits.Concurrency, caller string) error {
	if ctx.Err() == nil && slots.TryAcquire(caller) {
		return nil // nearly always, and without a timer
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if caller != "" {
		waiting, cancel = context.WithTimeout(ctx, queueWait)
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

// Queued reports whether the call was not made because as many as there may be, of the
// caller's or of all, were under way.
func (f *Fault) Queued() bool { return queued(f.Err) }

func queued(err error) bool {
	return errors.Is(err, errCallerBusy) || errors.Is(err, errEndpointBusy)
}

// queueFault is the fault of such a call.
func queueFault(f *Fault, namespace string) *arm.Error {
	fault := arm.NewError(arm.ServerBusy, "as many calls of '"+namespace+"' are under way in '"+f.Region+"' as there may be")
	if errors.Is(f.Err, errCallerBusy) {
		fault = arm.NewError(arm.TooManyRequests, "as many calls of this caller to '"+namespace+"' are under way in '"+f.Region+"' as one caller may have")
	}
	fault.RetryAfter = queueRetry
	return fault.Because(f)
}
