package sdk

import (
	"errors"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// restart posts an action of a machine and returns its first answer, and its
// poller or why there is none.
func (c clients) restart(t *testing.T, id string, header ...string) (*http.Response, *runtime.Poller[any], error) {
	t.Helper()
	request, err := runtime.NewRequest(withHeader(t, header...), http.MethodPost, c.Portico.URL+id+"/restart?api-version="+harness.Version)
	harness.OK(t, err)
	raw, err := c.pipeline.Do(request)
	harness.OK(t, err)
	if raw.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d", raw.StatusCode)
	}
	poller, err := runtime.NewPoller[any](raw, c.pipeline, nil)
	return raw, poller, err
}

// A provider whose polling URLs lead elsewhere, in each of the patterns: the
// SDK's pollers come to the end all the same, though Portico dies meanwhile.
func TestForeignPollingURLs(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	whole := t // a process lives as long as the test that it is started by
	lie := func(form string) []string {
		return []string{"x-contoso-fault", "foreign-location", "x-contoso-async", form, "x-contoso-duration", duration}
	}
	for _, form := range []string{"azure-async", "accepted", "accepted-async"} {
		t.Run("create "+form, func(t *testing.T) {
			id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+form)
			var raw *http.Response
			poller, err := c.resources.BeginCreateOrUpdateByID(policy.WithCaptureResponse(withHeader(t, lie(form)...), &raw), id, harness.Version,
				armresources.GenericResource{Location: to.Ptr("eastus")}, nil)
			harness.OK(t, err)
			wantPollingURLs(t, c, raw)
			if form == "accepted" {
				c.Portico.Kill(whole)
				c.Portico.Restart(whole)
			}
			if got := finish(t, poller); value(got.ID) != id {
				t.Errorf("id %q", value(got.ID))
			}
			c.WantOnlyIn(t, "eastus", id)
		})
	}
	id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	for _, form := range []string{"location", "azure-async", "azure-async-only"} {
		t.Run("update, act and delete "+form, func(t *testing.T) {
			c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr("westus")})
			var raw *http.Response
			update, err := c.resources.BeginUpdateByID(policy.WithCaptureResponse(withHeader(t, lie(form)...), &raw), id, harness.Version,
				armresources.GenericResource{Tags: map[string]*string{"form": to.Ptr(form)}}, nil)
			harness.OK(t, err)
			wantPollingURLs(t, c, raw)
			finish(t, update)
			read, err := c.resources.GetByID(t.Context(), id, harness.Version, nil)
			if err != nil || value(read.Tags["form"]) != form {
				t.Errorf("tags %v, %v", read.Tags, err)
			}

			raw, act, err := c.restart(t, id, lie(form)...) //nolint:bodyclose // see restart
			harness.OK(t, err)
			wantPollingURLs(t, c, raw)
			finish(t, act)

			remove, err := c.resources.BeginDeleteByID(policy.WithCaptureResponse(withHeader(t, lie(form)...), &raw), id, harness.Version, nil)
			harness.OK(t, err)
			wantPollingURLs(t, c, raw)
			finish(t, remove)
			c.WantOnlyIn(t, "", id)
			if c.exists(t, id) {
				t.Error("HEAD: present after its delete")
			}
		})
	}
}

// A provider whose operation is nowhere to be found ends by the resource.
func TestLostOperations(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	lose := func() {
		c.Contoso("westus").Do(t, harness.Request{Method: http.MethodPost, Path: "/contoso/faults",
			Body: `{"method":"GET","pathContains":"/operation","fault":"status=404","count":-1}`}).Want(t, 201)
	}
	lose()
	for _, form := range []string{"location", "azure-async"} {
		t.Run(form, func(t *testing.T) {
			id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/"+form)
			lie := []string{"x-contoso-fault", "foreign-location", "x-contoso-async", form, "x-contoso-duration", duration}
			putForm := map[string]string{"location": "accepted", "azure-async": "accepted-async"}[form]
			got := c.put(t, withHeader(t, "x-contoso-fault", "foreign-location", "x-contoso-async", putForm, "x-contoso-duration", duration), id,
				armresources.GenericResource{Location: to.Ptr("westus")})
			if value(got.ID) != id {
				t.Errorf("id %q", value(got.ID))
			}
			c.delete(t, withHeader(t, lie...), id)
			c.WantOnlyIn(t, "", id)

			c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr("westus")})
			remove, err := c.resources.BeginDeleteByID(withHeader(t, append([]string{"x-contoso-outcome", "Failed"}, lie...)...), id, harness.Version, nil)
			harness.OK(t, err)
			_, err = end(t, remove)
			var failure *azcore.ResponseError
			if !errors.As(err, &failure) || failure.ErrorCode != "ResourceOperationFailure" {
				t.Errorf("a delete that failed: %v", err)
			}

			_, act, err := c.restart(t, id, lie...) //nolint:bodyclose // see restart
			harness.OK(t, err)
			_, err = end(t, act)
			wantError(t, err, http.StatusNotImplemented, "InternalServerError")
		})
	}
}
