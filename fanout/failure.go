package fanout

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/jsonscan"
	"portico/upstream"
)

// longestPause may be asked of clients: they give up when it is longer.
const maxRetryAfter = 60 * time.Second

// readFault is the fault of a call that brought no answer.
func readFault(err error, namespace string) *arm.Error {
	var fault *upstream.Fault
	switch {
	case errors.Is(err, upstream.ErrTooLarge):
		return arm.NewError(arm.ResponseTooLarge, namespace, "").Saying("The response of '%s' exceeds the maximum size of a page and was dropped.", namespace)
	case errors.As(err, &fault):
		return fault.ARM(namespace)
	}
	return arm.NewError(arm.BadGatewayConnection, namespace).Because(err)
}

// refused carries a region's own code and words, where its answer has the form
// of an ARM error.
func (c Collection) statusError(answer upstream.Answer) *arm.Error {
	fault := c.invalid(fmt.Sprintf("status %d", answer.Status)).WithStatus(answer.Status)
	if code, message := errorOf(answer.Body); code != "" {
		fault = fault.Shown(code, message)
	}
	if pause, ok := upstream.RetryAfter(answer.Header, time.Now()); ok {
		fault.RetryAfter = min(pause, maxRetryAfter)
	}
	return fault
}

// unknownScope holds for a 404 by which a provider says, as an ARM error, that it
// does not know the subscription, the group or the parent, so that it has
// nothing there. Another one may be anybody's, and says nothing.
func unknownScope(body []byte) bool {
	code, _ := errorOf(body)
	switch code {
	case "NotFound", string(arm.HTTPResourceNotFound):
		return false
	}
	return strings.HasSuffix(code, "NotFound") || strings.HasPrefix(code, "Subscription")
}

// errorOf reads code and message of an ARM error body, "" where it is none.
func errorOf(body []byte) (code, message string) {
	err := jsonscan.Object(body, func(m jsonscan.Member) error {
		if string(m.Key) != "error" {
			return nil
		}
		_ = jsonscan.Object(m.Value, func(m jsonscan.Member) error {
			switch string(m.Key) {
			case "code":
				code, _ = jsonscan.Text(m.Value)
			case "message":
				message, _ = jsonscan.Text(m.Value)
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

// regionFault is what went wrong in one region.
type failedRegion struct {
	region string
	fault  *arm.Error
}

// failure is the fault of a list of which these regions failed, of so many that
// were asked: 429 if all that failed were throttled, 504 if all timed out, else
// 503. A request that every region calls a bad one is one.
func listFault(faults []failedRegion, asked int, namespace string) *arm.Error {
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
	case all(http.StatusBadRequest) && len(faults) == asked:
		list = arm.NewError(arm.ServiceUnavailable, "").WithStatus(http.StatusBadRequest)
		list.Code = faults[0].fault.Code
	default:
		list = arm.NewError(arm.ServiceUnavailable, "")
	}
	for _, f := range faults {
		if list.Cause == nil {
			list.Cause = f.fault.Cause
		}
		list.RetryAfter = max(list.RetryAfter, f.fault.RetryAfter)
		list.Details = append(list.Details, arm.Error{Code: f.fault.Code, Message: f.fault.Message, Target: f.region})
	}
	return list.Saying("The list could not be completed: %d of %d regions of '%s' did not answer as they should. Please see details.", len(faults), asked, namespace)
}

// final holds for faults that asking once more would not mend.
func permanent(fault *arm.Error) bool {
	var call *upstream.Fault
	if errors.As(fault.Cause, &call) && call.Queued() {
		return true // it has waited for its turn
	}
	return denied(fault) || fault.Status == http.StatusBadRequest || fault.Code == arm.ClientClosedRequest
}

// denied holds for a region that will not show the caller what it has: no list
// without it is one that the caller may take for whole.
func denied(fault *arm.Error) bool {
	return fault.Status == http.StatusUnauthorized || fault.Status == http.StatusForbidden
}
