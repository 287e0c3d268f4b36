package sdk

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

func TestAsynchronousUpdate(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	for _, form := range []string{"location", "azure-async"} {
		t.Run(form, func(t *testing.T) {
			id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+form)
			c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr("eastus")})
			var raw *http.Response
			ctx := policy.WithCaptureResponse(withHeader(t, "x-contoso-async", form, "x-contoso-duration", duration), &raw)
			poller, err := c.resources.BeginUpdateByID(ctx, id, harness.Version, armresources.GenericResource{Tags: map[string]*string{"stage": to.Ptr(form)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if raw.StatusCode != http.StatusAccepted {
				t.Errorf("status %d", raw.StatusCode)
			}
			wantOwnPollingURLs(t, c, raw)
			finish(t, poller)
			read, err := c.resources.GetByID(t.Context(), id, harness.Version, nil)
			if err != nil {
				t.Fatal(err)
			}
			if value(read.Tags["stage"]) != form {
				t.Errorf("tags %v", read.Tags)
			}
		})
	}
}

func TestAsynchronousAction(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr("northeurope")})
	for _, place := range []string{"locations", "provider", "resource"} {
		for _, form := range []string{"location", "azure-async"} {
			t.Run(form+" at "+place, func(t *testing.T) {
				ctx := withHeader(t, "x-contoso-async", form, "x-contoso-duration", duration, "x-contoso-operation-path", place)
				request, err := runtime.NewRequest(ctx, http.MethodPost, c.Portico.URL+id+"/restart?api-version="+harness.Version)
				if err != nil {
					t.Fatal(err)
				}
				raw, err := c.pipeline.Do(request) //nolint:bodyclose // the poller reads and closes it
				if err != nil {
					t.Fatal(err)
				}
				if raw.StatusCode != http.StatusAccepted {
					t.Fatalf("status %d", raw.StatusCode)
				}
				wantOwnPollingURLs(t, c, raw)
				poller, err := runtime.NewPoller[any](raw, c.pipeline, nil)
				if err != nil {
					t.Fatal(err)
				}
				finish(t, poller)
			})
		}
	}
}
