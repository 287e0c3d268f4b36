package sdk

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// namer is a provider whose operations take two polls and are polled where a test
// says.
type namer struct{ *harness.Scripted }

// names has operations be polled at these paths from now on, of which ended is
// that of one that has ended by then.
func (n namer) names(headers map[string]string, ended string) {
	n.Forget()
	n.On("", "/largeHeaders/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			harness.Reply{Status: http.StatusOK, Body: fmt.Sprintf(`{"id":%q,"name":"header1","location":"westus","properties":{"provisioningState":"Succeeded"}}`, r.URL.Path)}.ServeHTTP(w, r)
			return
		}
		for name, target := range headers {
			w.Header().Set(name, "http://"+r.Host+target)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	for _, target := range headers {
		path, _, _ := strings.Cut(target, "?")
		isPoll := func(c harness.Call) bool { return c.Path == path }
		n.Script(harness.Script{Method: http.MethodGet, When: isPoll, Answer: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := harness.Reply{Status: http.StatusAccepted}
			switch status, done := strings.HasSuffix(path, "_aao"), path == ended || n.polled(path) > 1; {
			case status && done:
				answer = harness.Reply{Status: http.StatusOK, Body: `{"status":"Succeeded"}`}
			case status:
				answer = harness.Reply{Status: http.StatusOK, Body: `{"status":"InProgress"}`}
			case done:
				answer = harness.Reply{Status: http.StatusOK, Body: `{"succeeded":true}`}
			}
			answer.ServeHTTP(w, r)
		})})
	}
}

// polled is how often a path was.
func (n namer) polled(path string) int {
	return len(slices.DeleteFunc(n.Calls(), func(c harness.Call) bool { return c.Path != path }))
}

// newNamer starts a world with such a provider, and makes a resource of it.
func newNamer(t *testing.T) (c clients, n namer, id string) {
	t.Helper()
	n = namer{harness.StartScripted(t)}
	c = newClients(t, harness.Config{Providers: "\n  - namespace: Azure.ResourceManager.LargeHeader\n    registration: automatic\n    endpoints:\n" + n.Endpoints() +
		"    resourceTypes:\n      - {name: largeHeaders, kind: tracked, apiVersions: [\"2024-01-01\"]}\n"})
	c.createGroup(t, "test-rg")
	id = c.ResourcePath("test-rg", "Azure.ResourceManager.LargeHeader/largeHeaders/header1")
	return c, n, id
}

// The scenario two6k of the Azure REST specifications: an action whose polling URLs
// have 6 KiB each, in the namespace that they have there and in the provider's own.
func TestLongPollingURLs(t *testing.T) {
	c, n, id := newNamer(t)
	n.names(map[string]string{"Location": c.SubscriptionPath() + "/providers/Azure.ResourceManager.LargeHeader/operations/put"}, "")
	c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr("westus")})
	context := "?userContext=" + strings.Repeat("a", 6<<10)
	for _, namespace := range []string{"Azure.ResourceManager.LargeHeaders", "Azure.ResourceManager.LargeHeader"} {
		at := c.SubscriptionPath() + "/providers/" + namespace + "/locations/eastus/operations/"
		for name, headers := range map[string]map[string]string{
			"both":     {"Location": at + "post_location" + context, "Azure-AsyncOperation": at + "post_aao" + context},
			"Location": {"Location": at + "post_location" + context},
		} {
			t.Run(namespace+" "+name, func(t *testing.T) {
				ended := ""
				if _, both := headers["Azure-AsyncOperation"]; both {
					ended = at + "post_location" // with the other
				}
				n.names(headers, ended)
				request, err := runtime.NewRequest(t.Context(), http.MethodPost, c.Portico.URL+id+"/two6k?api-version="+harness.Version)
				harness.OK(t, err)
				raw, err := c.pipeline.Do(request) //nolint:bodyclose // the poller closes it
				harness.OK(t, err)
				wantPollingURLs(t, c, raw)
				type result struct {
					Succeeded bool `json:"succeeded"`
				}
				poller, err := runtime.NewPoller[result](raw, c.pipeline, &runtime.NewPollerOptions[result]{FinalStateVia: runtime.FinalStateViaLocation})
				harness.OK(t, err)
				if got := finish(t, poller); !got.Succeeded {
					t.Errorf("the action ended with %+v", got)
				}
			})
		}
	}
}

// Providers call their operations what they like: the SDK polls them where they
// say, to their end.
func TestOperationsOfAnySpelling(t *testing.T) {
	c, n, id := newNamer(t)
	provider := c.SubscriptionPath() + "/providers/Azure.ResourceManager.LargeHeader/"
	for _, place := range []string{provider + "locations/westus/operations/", provider + "operations/", provider + "locations/eastus/azureAsyncOperations/", id + "/operations/", id + "/jobs/"} {
		for _, header := range []string{"Azure-AsyncOperation", "Location"} {
			t.Run(header+" "+strings.TrimPrefix(place, c.SubscriptionPath()), func(t *testing.T) {
				name := map[string]string{"Azure-AsyncOperation": "op_aao", "Location": "op_location"}[header]
				link := place + name + "?api-version=2020-01-01&t=1"
				n.names(map[string]string{header: link}, "")
				var raw *http.Response
				create, err := c.resources.BeginCreateOrUpdateByID(policy.WithCaptureResponse(t.Context(), &raw), id, harness.Version,
					armresources.GenericResource{Location: to.Ptr("westus")}, nil)
				harness.OK(t, err)
				if got := raw.Header.Get(header); got != c.Portico.URL+link {
					t.Errorf("%s: %s", header, got)
				}
				finish(t, create)
				n.names(map[string]string{header: link}, "")
				update, err := c.resources.BeginUpdateByID(t.Context(), id, harness.Version, armresources.GenericResource{Tags: map[string]*string{"a": to.Ptr("b")}}, nil)
				harness.OK(t, err)
				finish(t, update)
				if asked := n.polled(place + name); asked < 2 {
					t.Errorf("it was polled %d times", asked)
				}
			})
		}
	}
}
