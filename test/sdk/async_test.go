package sdk

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"net/http"

	"portico/test/harness"
)

// duration is how long the provider's operations take here: long enough that
// the first answer is never the last.
const duration = "400ms"

func TestAsynchronousCreate(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	for _, form := range []struct {
		name, region string
		status       int
	}{
		{"state", "westus", 201},
		{"azure-async", "eastus", 201},
		{"accepted", "northeurope", 202},
		{"accepted-async", "eastus", 202},
	} {
		t.Run(form.name, func(t *testing.T) {
			id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+form.name)
			var raw *http.Response
			ctx := policy.WithCaptureResponse(withHeader(t, "x-contoso-async", form.name, "x-contoso-duration", duration), &raw)
			poller, err := c.resources.BeginCreateOrUpdateByID(ctx, id, harness.Version,
				armresources.GenericResource{Location: to.Ptr(form.region)}, nil)
			harness.OK(t, err)
			if raw.StatusCode != form.status {
				t.Errorf("status %d, want %d", raw.StatusCode, form.status)
			}
			if poller.Done() {
				t.Error("the operation ended with its first answer")
			}
			wantOwnPollingURLs(t, c, raw)
			got := finish(t, poller)
			if value(got.ID) != id || value(got.Location) != form.region {
				t.Errorf("result: id %q, location %q", value(got.ID), value(got.Location))
			}
			read, err := c.resources.GetByID(t.Context(), id, harness.Version, nil)
			harness.OK(t, err)
			if state := provisioningState(read.Properties); state != "" && state != "Succeeded" {
				t.Errorf("provisioningState %q", state)
			}
			c.WantOnlyIn(t, form.region, id)
		})
	}
}

func TestAsynchronousDelete(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	for _, form := range []string{"location", "azure-async", "azure-async-only"} {
		for _, region := range []string{"westus", "northeurope"} {
			t.Run(form+" in "+region, func(t *testing.T) {
				id := c.ResourcePath("rg", "Contoso.Insight/workspaces/"+form+"-"+region)
				c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr(region)})
				var raw *http.Response
				ctx := policy.WithCaptureResponse(withHeader(t, "x-contoso-async", form, "x-contoso-duration", duration), &raw)
				poller, err := c.resources.BeginDeleteByID(ctx, id, harness.Version, nil)
				harness.OK(t, err)
				if raw.StatusCode != 202 {
					t.Errorf("status %d", raw.StatusCode)
				}
				wantOwnPollingURLs(t, c, raw)
				finish(t, poller)
				c.WantOnlyIn(t, "", id)
				_, err = c.resources.GetByID(t.Context(), id, harness.Version, nil)
				wantError(t, err, 404, "ResourceNotFound")
				if c.exists(t, id) {
					t.Error("HEAD: present after its delete")
				}
			})
		}
	}
	deleteGroup(t, c, "rg")
}

// The SDK's own waiting, with its own pauses, ends as well.
func TestPollUntilDone(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	id := c.ResourcePath("rg", "Contoso.Compute/networkInterfaces/nic")
	often := &runtime.PollUntilDoneOptions{Frequency: time.Second}

	create, err := c.resources.BeginCreateOrUpdateByID(withHeader(t, "x-contoso-async", "azure-async", "x-contoso-duration", duration),
		id, harness.Version, armresources.GenericResource{Location: to.Ptr("eastus")}, nil)
	harness.OK(t, err)
	if _, err := create.PollUntilDone(t.Context(), often); err != nil {
		t.Fatal(err)
	}
	remove, err := c.resources.BeginDeleteByID(withHeader(t, "x-contoso-async", "location", "x-contoso-duration", duration), id, harness.Version, nil)
	harness.OK(t, err)
	if _, err := remove.PollUntilDone(t.Context(), often); err != nil {
		t.Fatal(err)
	}
	c.WantOnlyIn(t, "", id)
}

func TestFailedOperation(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	ctx := withHeader(t, "x-contoso-async", "azure-async", "x-contoso-duration", duration, "x-contoso-outcome", "Failed")
	poller, err := c.resources.BeginCreateOrUpdateByID(ctx, id, harness.Version, armresources.GenericResource{Location: to.Ptr("westus")}, nil)
	harness.OK(t, err)
	if _, err = poller.PollUntilDone(t.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Second}); err == nil {
		t.Fatal("the operation succeeded")
	}
}

// wantPollingURLs is wantOwnPollingURLs where there must be one.
func wantPollingURLs(t *testing.T, c clients, raw *http.Response) {
	t.Helper()
	if raw.Header.Get("Location")+raw.Header.Get("Azure-AsyncOperation") == "" {
		t.Errorf("%d without a polling URL: %v", raw.StatusCode, raw.Header)
	}
	wantOwnPollingURLs(t, c, raw)
}

// wantOwnPollingURLs ends the test unless every polling URL is on the host
// that the client called: it sends its token there.
func wantOwnPollingURLs(t *testing.T, c clients, raw *http.Response) {
	t.Helper()
	for _, name := range []string{"Location", "Azure-AsyncOperation", "Operation-Location"} {
		text := raw.Header.Get(name)
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme+"://"+u.Host != c.Portico.URL || !strings.HasPrefix(u.Path, "/subscriptions/") {
			t.Errorf("%s: %s (%v)", name, text, err)
		}
	}
}

func provisioningState(properties any) string {
	m, _ := properties.(map[string]any)
	state, _ := m["provisioningState"].(string)
	return state
}
