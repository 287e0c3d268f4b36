package gateway

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
)

// silence is a region that did not say what the front door has to know.
type silence struct {
	region string
	fault  *arm.Error
}

// longestRetry is the longest pause that is asked of clients: they give up at
// once when it is longer.
const longestRetry = time.Minute

// unsaid is the answer where providers did not say what has to be known: 504 if
// all were too slow, else 503. It names the regions; question completes the
// sentence "It could not be told whether …".
func unsaid(question, target string, silent []silence) *arm.Error {
	answer := &arm.Error{
		Status: http.StatusGatewayTimeout, Code: arm.GatewayTimeout, Target: strings.ToValidUTF8(target, "\uFFFD"),
		RetryAfter: exchange.OutageRetry,
	}
	var regions []string
	for _, s := range silent {
		if s.fault.Status != http.StatusGatewayTimeout {
			answer.Status, answer.Code = http.StatusServiceUnavailable, "ServiceUnavailable"
		}
		answer.RetryAfter = max(answer.RetryAfter, min(s.fault.RetryAfter, longestRetry))
		answer.Cause = s.fault
		answer.Details = append(answer.Details, arm.Error{Code: s.fault.Code, Message: s.fault.Message, Target: s.region})
		regions = append(regions, s.region)
	}
	slices.Sort(regions)
	return answer.Saying("It could not be told whether %s: the location '%s' did not say. Please try again later.",
		question, strings.Join(slices.Compact(regions), "', '"))
}
