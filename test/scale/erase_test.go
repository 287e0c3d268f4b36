package scale

import (
	"net/http"
	"testing"
	"time"

	"portico/test/harness"
)

// erase has a subscription deleted, and returns once all providers have confirmed that, and
// all that is left of it is erased. meanwhile is called until then.
func (e *estate) erase(t *testing.T, subscription int, meanwhile func()) {
	t.Helper()
	path := "/admin/subscriptions/" + subscriptionID(subscription)
	e.Admin(t, harness.Request{Method: http.MethodPut, Path: path, Body: `{"tenantId":"` + harness.TenantID + `","displayName":"estate","state":"Deleted"}`}).Want(t, 200)
	for end := time.Now().Add(30 * time.Minute); e.Admin(t, harness.Request{Path: path}).Want(t, 200).JSON(t)["erased"] != true; {
		meanwhile()
		if time.Now().After(end) {
			t.Fatalf("%s is not erased", path)
		}
	}
}

// eraseLargest erases the largest subscription, while machines of others are read.
func (e *estate) eraseLargest(t *testing.T) []float64 {
	t.Helper()
	i := 0
	return []float64{milliseconds(func() {
		e.erase(t, e.ordinary(), func() {
			i++
			r := harness.Request{Path: machineID(i*7919%e.subscriptions, i%ofSubscription) + "?api-version=" + harness.Version}
			e.meanwhile = append(e.meanwhile, milliseconds(func() { e.Do(t, r).Want(t, 200) }))
		})
	})}
}
