package sdk

import (
	"maps"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"

	"net/http"
)

func TestResourceGroupLife(t *testing.T) {
	c := newClients(t, harness.Config{})
	ctx := t.Context()

	var raw *http.Response
	created, err := c.groups.CreateOrUpdate(policy.WithCaptureResponse(ctx, &raw), "Life",
		armresources.ResourceGroup{Location: to.Ptr("East US"), Tags: map[string]*string{"a": to.Ptr("1")}}, nil)
	harness.OK(t, err)
	if raw.StatusCode != http.StatusCreated {
		t.Errorf("create: status %d", raw.StatusCode)
	}
	if got, want := value(created.ID), c.GroupPath("Life"); got != want {
		t.Errorf("id %q, want %q", got, want)
	}
	if got := value(created.Location); got != "eastus" {
		t.Errorf("location %q", got)
	}
	if created.Properties == nil || value(created.Properties.ProvisioningState) != "Succeeded" {
		t.Errorf("properties %+v", created.Properties)
	}

	if _, err = c.groups.CreateOrUpdate(policy.WithCaptureResponse(ctx, &raw), "Life",
		armresources.ResourceGroup{Location: to.Ptr("eastus"), Tags: map[string]*string{"a": to.Ptr("1"), "b": to.Ptr("2")}}, nil); err != nil {
		t.Fatal(err)
	}
	if raw.StatusCode != http.StatusOK {
		t.Errorf("update: status %d", raw.StatusCode)
	}

	patched, err := c.groups.Update(ctx, "life", armresources.ResourceGroupPatchable{Tags: map[string]*string{"c": to.Ptr("3")}}, nil)
	harness.OK(t, err)
	if got := slices.Collect(maps.Keys(patched.Tags)); len(got) != 1 || value(patched.Tags["c"]) != "3" {
		t.Errorf("tags after PATCH: %v", got)
	}

	read, err := c.groups.Get(ctx, "LIFE", nil)
	harness.OK(t, err)
	// PATCH named it "life", and the latest write's casing is returned.
	if got := value(read.Name); got != "life" {
		t.Errorf("name %q", got)
	}
	if value(read.Tags["c"]) != "3" || value(read.Location) != "eastus" {
		t.Errorf("read %+v", read.ResourceGroup)
	}

	if !groupExists(t, c, "lIFE") || groupExists(t, c, "another") {
		t.Error("HEAD answers wrongly")
	}
	deleteGroup(t, c, "Life")
	if groupExists(t, c, "Life") {
		t.Error("the group exists after its delete")
	}
	_, err = c.groups.Get(ctx, "Life", nil)
	wantError(t, err, 404, "ResourceGroupNotFound")
}

func groupExists(t *testing.T, c clients, name string) bool {
	t.Helper()
	answer, err := c.groups.CheckExistence(t.Context(), name, nil)
	harness.OK(t, err)
	return answer.Success
}

func deleteGroup(t *testing.T, c clients, name string) {
	t.Helper()
	poller, err := c.groups.BeginDelete(t.Context(), name, nil)
	harness.OK(t, err)
	finish(t, poller)
}
