package routing

import (
	"context"
	"fmt"
	"testing"
	"time"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
)

func TestScopes(t *testing.T) {
	other := sub[:len(sub)-1] + "C"
	const group = "/resourceGroups/Rg"
	for _, c := range []struct {
		state inventory.SubscriptionState
		reads string
		wipes string
		write string
	}{
		{inventory.Enabled, westCompute, westCompute, westCompute},
		{inventory.PastDue, westCompute, westCompute, westCompute},
		{inventory.Warned, westCompute, westCompute, "409 ReadOnlyDisabledSubscription"},
		{inventory.Disabled, westCompute, westCompute, "409 ReadOnlyDisabledSubscription"},
		{inventory.Deleted, "404 SubscriptionNotFound", "404 SubscriptionNotFound", "404 SubscriptionNotFound"},
	} {
		t.Run(c.state.String(), func(t *testing.T) {
			known := newMapIndex()
			known.subscriptions[subID] = inventory.Subscription{ID: subID, TenantID: tenant, State: c.state}
			checkRoutes(t, known, []route{
				{"GET", vms + "/west", "", c.reads},
				{"DELETE", vms + "/west", "", c.wipes},
				{"PUT", vms + "/west", `{"location":"westus"}`, c.write},
				{"PATCH", vms + "/west", `{}`, c.write},
				{"POST", vms + "/west/start", "", c.write},
			})
		})
	}
	t.Run("tenants", func(t *testing.T) {
		known := newMapIndex()
		known.subscriptions[arm.Fold(other[len("/subscriptions/"):])] = inventory.Subscription{TenantID: "another"}
		checkRoutes(t, known, []route{
			{"GET", other + compute + "/virtualMachines", "", "404 SubscriptionNotFound"},
			{"GET", sub[:len(sub)-1] + "D" + group, "", "404 SubscriptionNotFound"},
		})
	})
	t.Run("groups", func(t *testing.T) {
		known := newMapIndex()
		known.groups["rg"] = inventory.Group{Subscription: subID, Name: "rG", Key: "rg", State: index.GroupDeleting}
		checkRoutes(t, known, []route{
			{"GET", sub + "/resourceGroups/none" + compute + "/virtualMachines/a", "", "404 ResourceGroupNotFound"},
			{"GET", "/subscriptions/" + moonSub + group + compute + "/virtualMachines/a", "", "404 ResourceGroupNotFound"},
			{"GET", vms + "/west", "", westCompute},
			{"GET", vms + "/west/operationResults/o", "", westCompute},
			{"PUT", vms + "/west", `{"location":"westus"}`, "409 ResourceGroupBeingDeleted"},
			{"DELETE", vms + "/west", "", "409 ResourceGroupBeingDeleted"},
			{"POST", vms + "/west/start", "", "409 ResourceGroupBeingDeleted"},
			{"PUT", rg + guard + "/guards/g", "{}", "409 ResourceGroupBeingDeleted"},
		})
	})
	t.Run("own routes", func(t *testing.T) {
		rt := Router{Map: sample(t), Index: newMapIndex()}
		for path, want := range map[string]string{
			rg:                                    "",
			sub + "/resourceGroups/none":          "404 ResourceGroupNotFound", // of a write its handler decides whether it must exist
			rg + "/resources":                     "",
			sub + "/resourceGroups/none/x":        "404 ResourceGroupNotFound",
			other:                                 "404 SubscriptionNotFound",
			rg + "/providers/Microsoft.X":         "",
			sub + "/resourceGroups/nil" + compute: "404 ResourceGroupNotFound",
		} {
			r, fault := Classify(rt.Map, "GET", path, "")
			if fault != nil {
				t.Fatal(fault)
			}
			d, err := rt.ResolveOwn(context.Background(), r, access.Principal{AnyTenant: true})
			if got := describe(&d, err); err != nil && got != want || err == nil && (want != "" || d.Subscription.ID != subID) {
				t.Errorf("%s: got %s, want %s", path, got, want)
			}
		}
	})
}

func TestRegistrations(t *testing.T) {
	list := route{"GET", vms, "", "merge " + eastCompute + " " + westCompute}
	for _, c := range []struct {
		state  inventory.RegistrationState
		ever   bool
		writes bool
		list   string
	}{
		{inventory.NotRegistered, false, false, list.want}, // the resources found there are shown
		{inventory.Registering, true, true, list.want},
		{inventory.Registered, true, true, list.want},
		{inventory.Unregistering, true, false, list.want},
		{inventory.Unregistered, true, false, list.want},
		{inventory.Unregistered, false, false, list.want}, // the endpoints may not know the subscription
	} {
		t.Run(fmt.Sprint(c.state, c.ever), func(t *testing.T) {
			known := newMapIndex()
			r := inventory.Registration{State: c.state}
			if c.ever {
				r.Registered = time.Unix(1, 0)
			}
			known.registrations["contoso.compute"] = r
			write, remove := westCompute, westCompute
			if !c.writes {
				write, remove = "409 MissingSubscriptionRegistration", "409 MissingSubscriptionRegistration"
			}
			list.want = c.list
			checkRoutes(t, known, []route{
				list,
				{"GET", sub + "/resourceGroups/empty" + compute + "/virtualMachines", "", "empty"},
				{"GET", sub + compute + "/quotas", "", map[bool]string{false: "empty", true: globalCompute}[c.ever]},
				{"GET", vms + "/west", "", westCompute},
				{"HEAD", vms + "/west", "", "present"},
				{"PUT", vms + "/west", `{"location":"westus"}`, write},
				{"POST", vms + "/west/start", "", write},
				{"DELETE", vms + "/west", "", remove},
				{"GET", vms + "/west/operationResults/o", "", westCompute},
				{"PUT", vms + "/west" + guard + "/guards/g", "{}", westGuard}, // registers by itself
				{"PUT", compute + "/quotas/q", "{}", globalCompute},           // a tenant registers nothing
			})
		})
	}
}

// recalled is a memory that knows what is there. It asks the store for what is not.
type recalled struct {
	Scopes
	known *mapIndex
}

func (r recalled) Subscription(ctx context.Context, id string, _ time.Time) (inventory.Subscription, bool, error) {
	found, err := r.known.Subscription(ctx, arm.Fold(id))
	return found, err == nil, err
}

func (r recalled) Group(ctx context.Context, subscription, name string, _ time.Time) (inventory.Group, bool, error) {
	found, err := r.known.Group(ctx, subscription, name)
	return found, err == nil, err
}

// What memory denies is asked of the store, but not what the store has denied.
func TestAbsenceIsAskedForOnce(t *testing.T) {
	known, store := newMapIndex(), newMapIndex()
	store.failing = "Subscription"
	rt := Router{Map: sample(t), Index: store, Scopes: recalled{known: known}}
	for _, c := range []struct{ tenant, want string }{
		{tenant, "404 ResourceGroupNotFound"},
		{"another", errDown.Error()},
	} {
		known.subscriptions[subID] = inventory.Subscription{ID: subID, TenantID: c.tenant}
		r, fault := Classify(rt.Map, "GET", sub+"/resourceGroups/none"+compute+"/virtualMachines/a", "")
		if fault != nil {
			t.Fatal(fault)
		}
		if got := describe(rt.Resolve(context.Background(), r, access.Principal{TenantID: tenant}, Body{})); got != c.want {
			t.Errorf("%s: got %s, want %s", c.tenant, got, c.want)
		}
	}
}
