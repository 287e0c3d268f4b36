package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"

	"portico/arm"
	"portico/internal/sendguard"
	"portico/regions/health"
)

// Fault is the error of a call without an answer.
type Fault struct {
	// Sent reports whether a byte of the request may have left. An unsent
	// write has changed nothing; the effect of any other is unknown.
	Sent   bool
	Region string
	Err    error
}

// FaultOf returns the fault in the error of a call to a region. Any other
// error counts as a fault of a sent request.
func FaultOf(err error, region string) *Fault {
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault
	}
	return &Fault{Sent: true, Region: region, Err: err}
}

func (f *Fault) Error() string { return "the provider gave no answer: " + f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

// Timeout reports whether the call ran out of time.
func (f *Fault) Timeout() bool {
	var timeout net.Error
	return errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, sendguard.ErrCutOff) || errors.As(f.Err, &timeout) && timeout.Timeout()
}

// TooLate reports whether a write stayed unsent because SendWithin or EndWithin had
// passed.
func (f *Fault) TooLate() bool { return !f.Sent && errors.Is(f.Err, sendguard.ErrTooLate) }

// ARM returns the client's error for a call to namespace.
func (f *Fault) ARM(namespace string) *arm.Error {
	var dns *net.DNSError
	var down *health.Down
	switch {
	case errors.Is(f.Err, context.Canceled):
		return arm.NewError(arm.ClientClosedRequest).WithCause(f)
	case f.Queued():
		return queueFault(f, namespace)
	case errors.As(f.Err, &down):
		fault := arm.Unreachable(namespace, f.Region).WithStatus(http.StatusServiceUnavailable).WithCause(f)
		fault.RetryAfter = down.RetryAfter
		return fault
	case errors.As(f.Err, &dns):
		return arm.NewError(arm.InvalidGatewayHost, namespace).WithTarget(f.Region).WithCause(f)
	case f.Timeout() && f.Sent:
		return arm.NewError(arm.GatewayTimeout, namespace).WithTarget(f.Region).WithCause(f)
	}
	return arm.Unreachable(namespace, f.Region).WithCause(f)
}

// IntermediaryFailure reports whether a status is one that intermediaries answer when
// they reach no provider.
func IntermediaryFailure(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}
