package sdk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(patched.Tags)); len(got) != 1 || value(patched.Tags["c"]) != "3" {
		t.Errorf("tags after PATCH: %v", got)
	}

	read, err := c.groups.Get(ctx, "LIFE", nil)
	if err != nil {
		t.Fatal(err)
	}
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

func TestResourceGroupPager(t *testing.T) {
	c := newClients(t, harness.Config{})
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("rg-%d", i)
		c.createGroup(t, name)
		want = append(want, name)
	}
	for _, top := range []int32{0, 1, 3, 7} {
		options := &armresources.ResourceGroupsClientListOptions{}
		if top > 0 {
			options.Top = to.Ptr(top)
		}
		groups, pages := collect(t, c.groups.NewListPager(options),
			func(p armresources.ResourceGroupsClientListResponse) []*armresources.ResourceGroup { return p.Value })
		var got []string
		for _, g := range groups {
			got = append(got, value(g.Name))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("$top=%d: %v", top, got)
		}
		if top > 0 && pages < (len(want)+int(top)-1)/int(top) {
			t.Errorf("$top=%d: %d groups came in %d pages", top, len(want), pages)
		}
	}
}

func TestResourceGroupPreconditions(t *testing.T) {
	c := newClients(t, harness.Config{})
	group := armresources.ResourceGroup{Location: to.Ptr("westus")}

	var raw *http.Response
	if _, err := c.groups.CreateOrUpdate(policy.WithCaptureResponse(withHeader(t, "If-None-Match", "*"), &raw), "rg", group, nil); err != nil {
		t.Fatal(err)
	}
	first := raw.Header.Get("ETag")
	if !strings.HasPrefix(first, `W/"`) {
		t.Fatalf("ETag %q is not weak", first)
	}
	put := func(ctx context.Context) error {
		_, err := c.groups.CreateOrUpdate(ctx, "rg", group, nil)
		return err
	}
	wantError(t, put(withHeader(t, "If-None-Match", "*")), 412, "PreconditionFailed")

	group.Tags = map[string]*string{"changed": to.Ptr("yes")}
	if err := put(withHeader(t, "If-Match", first)); err != nil {
		t.Fatal(err)
	}
	wantError(t, put(withHeader(t, "If-Match", first)), 412, "PreconditionFailed")
}

func groupExists(t *testing.T, c clients, name string) bool {
	t.Helper()
	answer, err := c.groups.CheckExistence(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Success
}

func deleteGroup(t *testing.T, c clients, name string) {
	t.Helper()
	poller, err := c.groups.BeginDelete(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, poller)
}
