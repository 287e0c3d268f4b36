package fanout

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/internal/timing"
	"portico/upstream"
	"portico/upstream/answers"
)

// readFault returns the client's error for a call without an answer.
func readFault(err error, namespace string) *arm.Error {
	var fault *upstream.Fault
	switch {
	case errors.Is(err, upstream.ErrTooLarge):
		return arm.NewError(arm.ResponseTooLarge, namespace, "").WithMessage("The response of '%s' exceeds the maximum size of a page and was dropped.", namespace)
	case errors.As(err, &fault):
		return fault.ARM(namespace)
	}
	return arm.NewError(arm.BadGatewayConnection, namespace).WithCause(err)
}

// statusError returns the error for an unexpected status, with the region's
// own code and message if its answer is an ARM error.
func (c Collection) statusError(answer upstream.Answer) *arm.Error {
	fault := c.invalid(fmt.Sprintf("status %d", answer.Status)).WithStatus(answer.Status)
	if code, message := errorOf(answer.Body); code != "" {
		fault = fault.Shown(code, message)
	}
	if pause, ok := timing.RetryAfter(answer.Header, time.Now()); ok {
		fault.RetryAfter = min(pause, arm.MaxRetryAfter)
	}
	return fault
}

// unknownScope reports whether a 404 is an ARM error which means that the provider does
// not know the subscription, the group or the parent, and so has no elements. Any other
// 404 may come from an intermediary and proves nothing.
func unknownScope(body []byte) bool {
	code, _ := errorOf(body)
	switch code {
	case "NotFound", string(arm.HTTPResourceNotFound):
		return false
	}
	return strings.HasSuffix(code, "NotFound") || strings.HasPrefix(code, "Subscription")
}

// errorOf reads code and message of an ARM error body; both are "" for any other
// body.
func errorOf(body []byte) (code, message string) {
	err := jsontext.Object(body, func(m jsontext.Member) error {
		if string(m.Key) != "error" {
			return nil
		}
		_ = jsontext.Object(m.Value, func(m jsontext.Member) error {
			switch string(m.Key) {
			case "code":
				code, _ = jsontext.Text(m.Value)
			case "message":
				message, _ = jsontext.Text(m.Value)
			}
			return nil
		})
		return nil
	})
	if err != nil {
		return "", ""
	}
	return code, message
}

type failedRegion struct {
	region string
	fault  *arm.Error
}

// listFault returns the error of a list if these of the called regions
// failed: 429 if all of them were throttled, 504 if all timed out, else 503.
// If every region answered 400, the list does too.
func listFault(faults []failedRegion, regions int, namespace string) *arm.Error {
	all := func(status int) bool {
		for _, f := range faults {
			if f.fault.Status != status {
				return false
			}
		}
		return true
	}
	var list *arm.Error
	switch {
	case all(http.StatusTooManyRequests):
		list = arm.NewError(arm.TooManyRequests, "")
	case all(http.StatusGatewayTimeout):
		list = arm.NewError(arm.GatewayTimeout, namespace)
	case all(http.StatusBadRequest) && len(faults) == regions:
		list = &arm.Error{Status: http.StatusBadRequest, Code: faults[0].fault.Code}
	default:
		list = arm.NewError(arm.ServiceUnavailable, "")
	}
	for _, f := range faults {
		if list.Cause == nil {
			list.Cause = f.fault.Cause
		}
		list.RetryAfter = max(list.RetryAfter, f.fault.RetryAfter)
		list.Regions = append(list.Regions, f.region)
		list.Details = append(list.Details, arm.Error{Code: f.fault.Code, Message: f.fault.Message, Target: f.region})
	}
	return list.WithMessage("The list could not be completed: %d of %d regions of '%s' did not answer as they should. Please see details.", len(faults),
		regions, namespace)
}

// soleFault returns the error of a list whose only endpoint failed: the
// endpoint's own, if it is an error status.
func soleFault(fault *arm.Error) *arm.Error {
	if fault.Status < http.StatusBadRequest {
		return fault.WithStatus(http.StatusBadGateway)
	}
	return fault
}

// permanent reports whether a retry cannot help.
func permanent(fault *arm.Error) bool {
	var call *upstream.Fault
	if errors.As(fault.Cause, &call) && call.Queued() {
		return true // it already waited in the queue
	}
	return !answers.ListAgain(fault.Status) || linkTooLong(fault) || fault.Code == arm.ClientClosedRequest
}

// denied reports whether the region refused the caller. A partial list must not hide
// that.
func denied(fault *arm.Error) bool {
	return fault.Status == http.StatusUnauthorized || fault.Status == http.StatusForbidden
}
