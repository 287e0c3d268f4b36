package locate

import (
	"net/http"
	"slices"
	"strings"

	"portico/arm"
)

// regionFailure is a region that did not answer a question.
type regionFailure struct {
	region string
	fault  *arm.Error
}

// inconclusive is the client's error where no provider gave a usable answer: 504 if all
// were too slow, else 503. It names the regions; question completes the sentence "It
// could not be told whether …".
func inconclusive(question, target string, failures []regionFailure) *arm.Error {
	list := &arm.Error{
		Status: http.StatusGatewayTimeout, Code: arm.GatewayTimeout, Target: strings.ToValidUTF8(target, "\uFFFD"),
		RetryAfter: arm.OutageRetryAfter,
	}
	var regions []string
	for _, f := range failures {
		if f.fault.Status != http.StatusGatewayTimeout {
			list.Status, list.Code = http.StatusServiceUnavailable, "ServiceUnavailable"
		}
		list.RetryAfter = max(list.RetryAfter, min(f.fault.RetryAfter, arm.MaxRetryAfter))
		list.Cause = f.fault
		list.Details = append(list.Details, arm.Error{Code: f.fault.Code, Message: f.fault.Message, Target: f.region})
		regions = append(regions, f.region)
	}
	slices.Sort(regions)
	return list.Saying("It could not be told whether %s: the location '%s' did not say. Please try again later.",
		question, strings.Join(slices.Compact(regions), "', '"))
}
