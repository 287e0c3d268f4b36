package probe

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory"
)

// regionFailure is a region that did not answer a question.
type regionFailure struct {
	region string
	fault  *arm.Error
}

// inconclusive returns the client's error if no provider gave a usable answer: 504 if all
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
	list.Regions = slices.Compact(regions)
	return list.WithMessage("It could not be told whether %s: the location '%s' did not say. Please try again later.",
		question, strings.Join(list.Regions, "', '"))
}

// Unconfirmed returns the client's error for a write of a resource while the region of
// its row does not answer whether it still exists there: 409, as other regions may hold
// it. err is the probe's error; an outage of the store is returned unchanged.
func Unconfirmed(row inventory.Resource, err error) error {
	if errors.Is(err, inventory.ErrUnavailable) {
		return err
	}
	namespace, _, _ := strings.Cut(row.TypeName, "/")
	fault := inconclusive(fmt.Sprintf("the resource '%s' still exists", row.ID), row.ID,
		[]regionFailure{{row.Region, faultOf(err, namespace, row.Region)}})
	fault.Status, fault.Code = http.StatusConflict, arm.Conflict
	fault.RetryAfter = max(fault.RetryAfter, unconfirmedRetry)
	return fault
}

// unconfirmedRetry is the shortest pause for a client whose write waits for a probe.
const unconfirmedRetry = 10 * time.Second
