package sdk

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// counting counts the answers that a client gets, by status.
type counting struct{ statuses map[int]int }

// Do implements policy.Policy.
func (c counting) Do(r *policy.Request) (*http.Response, error) {
	answer, err := r.Next()
	if err == nil {
		c.statuses[answer.StatusCode]++
	}
	return answer, err
}

// A client whose calls are too many waits for as long as it is told, and goes on.
func TestThrottledCallsAreRepeated(t *testing.T) {
	t.Parallel()
	c := newClients(t, harness.Config{Extra: "\nthrottle: {reads: {bucket: 3, perSecond: 1}}\n"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := counting{map[int]int{}}
	options := optionsFor(c.World)
	options.Retry = policy.RetryOptions{MaxRetries: 5}
	options.PerRetryPolicies = append(options.PerRetryPolicies, seen)
	groups, err := armresources.NewResourceGroupsClient(c.SubscriptionID, staticToken(owner.Raw), options)
	harness.OK(t, err)
	for range 8 {
		if _, err := groups.CheckExistence(ctx, "none", nil); err != nil {
			var failed *azcore.ResponseError
			if !errors.As(err, &failed) || failed.StatusCode != http.StatusNotFound {
				t.Fatal(err)
			}
		}
	}
	if seen.statuses[http.StatusTooManyRequests] == 0 || seen.statuses[http.StatusNotFound] != 8 {
		t.Errorf("it got %v", seen.statuses)
	}
}
