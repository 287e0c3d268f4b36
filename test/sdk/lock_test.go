package sdk

import (
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armlocks"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

func TestManagementLocks(t *testing.T) {
	c := newClients(t, harness.Config{})
	locks, err := armlocks.NewManagementLocksClient(c.SubscriptionID, staticToken(owner.Raw), optionsFor(c.World))
	harness.OK(t, err)
	ctx := t.Context()
	c.createGroup(t, "rg")
	vm := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	c.put(t, ctx, vm, armresources.GenericResource{Location: to.Ptr("westus")})
	disk := vm + "/disks/d"
	c.put(t, ctx, disk, armresources.GenericResource{})
	lock := func(level armlocks.LockLevel) armlocks.ManagementLockObject {
		return armlocks.ManagementLockObject{Properties: &armlocks.ManagementLockProperties{
			Level: to.Ptr(level), Notes: to.Ptr("mine"), Owners: []*armlocks.ManagementLockOwner{{ApplicationID: to.Ptr("app")}},
		}}
	}
	none := lock(armlocks.LockLevelCanNotDelete)

	atSubscription, err := locks.CreateOrUpdateAtSubscriptionLevel(ctx, "s", none, nil)
	harness.OK(t, err)
	if value(atSubscription.ID) != c.SubscriptionPath()+"/providers/Microsoft.Authorization/locks/s" || value(atSubscription.Name) != "s" ||
		value(atSubscription.Type) != "Microsoft.Authorization/locks" || value(atSubscription.Properties.Notes) != "mine" ||
		value(atSubscription.Properties.Owners[0].ApplicationID) != "app" {
		t.Errorf("%+v", atSubscription)
	}
	_, err = c.resources.BeginDeleteByID(ctx, vm, harness.Version, nil)
	wantError(t, err, 409, "ScopeLocked")
	_, err = c.groups.BeginDelete(ctx, "rg", nil)
	wantError(t, err, 409, "ScopeLocked")
	if _, err := locks.DeleteAtSubscriptionLevel(ctx, "s", nil); err != nil {
		t.Fatal(err)
	}

	if _, err := locks.CreateOrUpdateAtResourceGroupLevel(ctx, "rg", "g", lock(armlocks.LockLevelReadOnly), nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.groups.Update(ctx, "rg", armresources.ResourceGroupPatchable{Tags: map[string]*string{"a": to.Ptr("b")}}, nil)
	wantError(t, err, 409, "ScopeLocked")
	_, err = c.resources.BeginCreateOrUpdateByID(ctx, vm, harness.Version, armresources.GenericResource{Location: to.Ptr("westus")}, nil)
	wantError(t, err, 409, "ScopeLocked")
	got, err := locks.GetAtResourceGroupLevel(ctx, "RG", "G", nil)
	if err != nil || value(got.Properties.Level) != armlocks.LockLevelReadOnly {
		t.Errorf("%+v %v", got, err)
	}

	// The empty parent of a resource at the top leaves two slashes in the path.
	if _, err := locks.CreateOrUpdateAtResourceLevel(ctx, "rg", "Contoso.Compute", "", "virtualMachines", "vm", "v", none, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := locks.CreateOrUpdateAtResourceLevel(ctx, "rg", "Contoso.Compute", "virtualMachines/vm", "disks", "d", "d", none, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := locks.CreateOrUpdateByScope(ctx, disk, "scoped", none, nil); err != nil {
		t.Fatal(err)
	}
	names := func(all []*armlocks.ManagementLockObject) (names []string) {
		for _, l := range all {
			names = append(names, value(l.Name))
		}
		slices.Sort(names)
		return names
	}
	all, _ := collect(t, locks.NewListAtSubscriptionLevelPager(nil), func(p armlocks.ManagementLocksClientListAtSubscriptionLevelResponse) []*armlocks.ManagementLockObject {
		return p.Value
	})
	if got := names(all); !slices.Equal(got, []string{"d", "g", "scoped", "v"}) {
		t.Errorf("%v", got)
	}
	all, _ = collect(t, locks.NewListAtResourceGroupLevelPager("rg", &armlocks.ManagementLocksClientListAtResourceGroupLevelOptions{Filter: to.Ptr("atScope()")}),
		func(p armlocks.ManagementLocksClientListAtResourceGroupLevelResponse) []*armlocks.ManagementLockObject {
			return p.Value
		})
	if got := names(all); !slices.Equal(got, []string{"g"}) {
		t.Errorf("%v", got)
	}
	all, _ = collect(t, locks.NewListByScopePager(vm, nil), func(p armlocks.ManagementLocksClientListByScopeResponse) []*armlocks.ManagementLockObject {
		return p.Value
	})
	if got := names(all); !slices.Equal(got, []string{"d", "scoped", "v"}) {
		t.Errorf("%v", got)
	}
	if _, err := locks.DeleteAtResourceGroupLevel(ctx, "rg", "g", nil); err != nil {
		t.Fatal(err)
	}
	_, err = locks.GetByScope(ctx, c.GroupPath("rg"), "g", nil)
	wantError(t, err, 404, "LockNotFound")
	for range 2 { // the second time there is none
		if _, err := locks.DeleteByScope(ctx, disk, "scoped", nil); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.resources.BeginDeleteByID(ctx, disk, harness.Version, nil)
	wantError(t, err, 409, "ScopeLocked")
	for _, remove := range []func() error{
		func() error {
			_, err := locks.DeleteAtResourceLevel(ctx, "rg", "Contoso.Compute", "virtualMachines/vm", "disks", "d", "d", nil)
			return err
		},
		func() error {
			_, err := locks.DeleteAtResourceLevel(ctx, "rg", "Contoso.Compute", "", "virtualMachines", "vm", "v", nil)
			return err
		},
	} {
		harness.OK(t, remove())
	}
	c.delete(t, ctx, disk)
	c.delete(t, ctx, vm)
}
