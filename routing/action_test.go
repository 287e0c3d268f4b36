package routing

import (
	"net/http"
	"strings"
	"testing"

	"portico/arm"
)

// An action has the map's names and lies at the resource, or at what a collection or an
// action lies in, however the request spells it.
func TestActionAndScope(t *testing.T) {
	m := sample(t)
	const (
		shout = "/SUBSCRIPTIONS/00000000-0000-0000-0000-00000000000A/RESOURCEGROUPS/Rg"
		lock  = "/providers/Microsoft.Authorization/locks/l"
	)
	for _, c := range []struct{ method, path, action, scope string }{
		// Resources.
		{"GET", vms + "/a", "Contoso.Compute/virtualMachines/read", vms + "/a"},
		{"HEAD", vms + "/a", "Contoso.Compute/virtualMachines/read", vms + "/a"},
		{"PUT", vms + "/a", "Contoso.Compute/virtualMachines/write", vms + "/a"},
		{"PATCH", vms + "/a", "Contoso.Compute/virtualMachines/write", vms + "/a"},
		{"DELETE", vms + "/a", "Contoso.Compute/virtualMachines/delete", vms + "/a"},
		{"POST", vms + "/a", "Contoso.Compute/virtualMachines/action", vms + "/a"}, // which is refused
		{"DELETE", vms + "/a/disks/d", "Contoso.Compute/virtualMachines/disks/delete", vms + "/a/disks/d"},
		{"PUT", compute + "/quotas/q", "Contoso.Compute/quotas/write", compute + "/quotas/q"},
		// Spellings.
		{"PUT", shout + "/PROVIDERS/contoso.COMPUTE/VIRTUALmachines/A", "Contoso.Compute/virtualMachines/write", shout + "/PROVIDERS/contoso.COMPUTE/VIRTUALmachines/A"},
		{"GET", "/" + sub + "/resourceGroups/Rg" + compute + "//virtualMachines/a/", "Contoso.Compute/virtualMachines/read", vms + "/a"},
		{"GET", "/subscriptions%2F00000000-0000-0000-0000-00000000000A%2FresourceGroups%2FRg/" + compute[1:] + "/virtual%4Dachines/%61", "Contoso.Compute/virtualMachines/read", vms + "/a"},
		{"DELETE", vms + "/providers", "Contoso.Compute/virtualMachines/delete", vms + "/providers"},
		{"DELETE", vms + "/providers/disks/providers", "Contoso.Compute/virtualMachines/disks/delete", vms + "/providers/disks/providers"},
		{"PUT", sub + "/resourceGroups/providers" + compute + "/virtualMachines/a", "Contoso.Compute/virtualMachines/write", sub + "/resourceGroups/providers" + compute + "/virtualMachines/a"},
		// Extensions are judged by their own type, at the whole ID.
		{"PUT", vms + "/a" + guard + "/guards/g", "Contoso.Guard/guards/write", vms + "/a" + guard + "/guards/g"},
		{"GET", vms + "/a" + guard + "/guards", "Contoso.Guard/guards/read", vms + "/a"},
		{"PUT", rg + guard + "/guards/g", "Contoso.Guard/guards/write", rg + guard + "/guards/g"},
		{"DELETE", vms + "/a" + guard + "/guards/g" + guard + "/marks/m", "Contoso.Guard/marks/delete", vms + "/a" + guard + "/guards/g" + guard + "/marks/m"},
		{"PUT", rg + lock + guard + "/marks/m", "Contoso.Guard/marks/write", rg + lock + guard + "/marks/m"},
		{"POST", vms + "/a" + guard + "/guards/g/raise", "Contoso.Guard/guards/raise/action", vms + "/a" + guard + "/guards/g"},
		// Collections.
		{"GET", vms, "Contoso.Compute/virtualMachines/read", rg},
		{"GET", sub + compute + "/virtualmachines", "Contoso.Compute/virtualMachines/read", sub},
		{"GET", vms + "/a/DISKS", "Contoso.Compute/virtualMachines/disks/read", vms + "/a"},
		{"GET", compute + "/quotas", "Contoso.Compute/quotas/read", "/"},
		{"POST", sub + compute + "/CHECKNAMES", "Contoso.Compute/checkNames/action", sub},
		{"POST", vms + "/a/disks", "Contoso.Compute/virtualMachines/disks/action", vms + "/a"},
		// Actions and reads below a resource.
		{"POST", vms + "/a/start", "Contoso.Compute/virtualMachines/start/action", vms + "/a"},
		{"POST", vms + "/a/disks/d/LIST", "Contoso.Compute/virtualMachines/disks/LIST/action", vms + "/a/disks/d"},
		{"GET", vms + "/a/SKUs", "Contoso.Compute/virtualMachines/SKUs/read", vms + "/a"},
		// A provider as a whole, and a location of it.
		{"POST", sub + compute + "/checkQuota", "Contoso.Compute/checkQuota/action", sub},
		{"POST", compute + "/checkQuota", "Contoso.Compute/checkQuota/action", "/"},
		{"POST", rg + compute + "/register", "Contoso.Compute/register/action", rg},
		{"GET", compute + "/operations", "", "/"},
		{"POST", compute + "/operations", "Contoso.Compute/operations/action", "/"},
		{"GET", sub + compute + "/locations/westus/usages", "Contoso.Compute/locations/usages/read", sub},
		{"PUT", sub + compute + "/locations/westus/things/x", "Contoso.Compute/locations/things/write", sub},
		{"POST", sub + compute + "/locations/westus/checkQuota", "Contoso.Compute/locations/checkQuota/action", sub},
		{"DELETE", compute + "/locations/westus/things/x", "Contoso.Compute/locations/things/delete", "/"},
		// Polls.
		{"GET", sub + compute + "/locations/westus/operationStatuses/o", "Contoso.Compute/locations/operationStatuses/read", sub},
		{"GET", vms + "/a/operationResults/o", "Contoso.Compute/virtualMachines/operationResults/read", vms + "/a"},
		{"GET", sub + compute + "/operationResults/o", "Contoso.Compute/operationResults/read", sub},
		// What the map lacks.
		{"PUT", vms + "/a/nothings/n", "Contoso.Compute/virtualMachines/nothings/write", vms + "/a/nothings/n"},
		{"DELETE", rg + "/providers/Nobody.Knows/things/n", "Nobody.Knows/things/delete", rg + "/providers/Nobody.Knows/things/n"},
		{"GET", rg + compute + "/nothings", "Contoso.Compute/nothings/read", rg},
		{"GET", rg + compute, readGroup, rg},
		{"GET", vms + "/a/providers", readGroup, vms + "/a"},
		// Portico's own.
		{"PUT", rg, readGroup, rg},
		{"GET", sub, readSubscription, sub},
		{"GET", sub + "/resourceGroups", readSubscription, sub},
		{"GET", rg + "/resources", readGroup, rg},
		{"POST", rg + "/moveResources", readGroup, rg},
		{"PUT", sub + "/tagNames/n/tagValues/v", readSubscription, sub},
		{"PUT", vms + "/a" + lock, readGroup, vms + "/a" + lock},
		{"GET", vms + "/a/providers/Microsoft.Authorization/locks", readGroup, vms + "/a"},
		{"GET", sub + "/providers/microsoft.authorization/locks", readSubscription, sub},
		{"POST", sub + compute + "/register", readSubscription, sub},
		{"GET", "/subscriptions", "", "/"},
		{"GET", "/", "", "/"},
		{"GET", "/providers", "", "/"},
		{"GET", compute, "", "/"},
	} {
		r, fault := Classify(m, c.method, c.path, "api-version=2024-01-01")
		if fault != nil {
			t.Errorf("%s %s: %v", c.method, c.path, fault)
			continue
		}
		if r.Action() != c.action || r.Scope() != c.scope {
			t.Errorf("%s %s: %q at %q, want %q at %q", c.method, c.path, r.Action(), r.Scope(), c.action, c.scope)
		}
	}
}

// The action of a request for a resource costs no memory.
func TestActionsDoNotAllocate(t *testing.T) {
	m := sample(t)
	for _, path := range []string{vms + "/a", vms, vms + "/a/disks/d", vms + "/a" + guard + "/guards/g"} {
		r, fault := Classify(m, "GET", path, "")
		if fault != nil {
			t.Fatal(fault)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = r.Action(), SubscriptionOf(r.Scope()) }); n != 0 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}

func TestSubscriptionOf(t *testing.T) {
	for scope, want := range map[string]string{
		"/": "", "": "", "/subscriptions": "", "/subscriptions/": "", "/subscriptions/A": "A", "/SubScriptions/A/resourceGroups/g": "A",
		"/providers/Contoso.Compute/quotas/subscriptions": "", "/subscriptionsx/A": "",
	} {
		if got := SubscriptionOf(scope); got != want {
			t.Errorf("%q: %q", scope, got)
		}
	}
}

// Whatever a path looks like: its action is asked for at a scope that the path lies in,
// in its own subscription, and what reaches a provider always has one. Spelled in another
// casing, it is the same action at the same scope.
func FuzzAction(f *testing.F) {
	m := sample(f)
	for _, path := range []string{
		vms + "/a", vms, vms + "/a/start", vms + "/a" + guard + "/guards/g", sub + compute + "/locations/westus/operationStatuses/o", "/providers//x",
		rg + "/providers/Microsoft.Authorization/locks/l" + guard + "/marks/m", sub + compute + "/virtualMachines/skus", vms + "/providers/disks/providers", "//subscriptions%2Fx",
		vms + "/a/operations/o", sub + "/resourceGroups", compute + "/operations", "/subscriptions/x/providers/Contoso.Compute/locations/l",
	} {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
			f.Add(method, path)
		}
	}
	f.Fuzz(func(t *testing.T, method, path string) {
		r, fault := Classify(m, method, path, "api-version=2024-01-01")
		if fault != nil {
			return
		}
		action, scope := r.Action(), r.Scope()
		if scope != TenantScope && !strings.HasPrefix(r.Path.String()+"/", scope+"/") {
			t.Errorf("%s %s lies not in its scope %s", method, path, scope)
		}
		if SubscriptionOf(scope) != r.Path.Subscription() {
			t.Errorf("%s %s is asked about in the subscription of %s", method, path, scope)
		}
		operations := r.Class == AtProvider && r.Reads()
		if action == "" && (r.Path.Subscription() != "" || r.Class != Own && r.Class != NoRoute && !operations) {
			t.Errorf("%s %s needs no role", method, path)
		}
		if action != "" && method == http.MethodPut && r.Class != Own && r.Class != NoRoute && !strings.HasSuffix(action, "/write") {
			t.Errorf("%s %s is %s", method, path, action)
		}
		folded, fault := Classify(m, method, (&r.Path).Escaped(), "api-version=2024-01-01")
		if fault != nil || folded.Action() != action || !arm.EqualFold(folded.Scope(), scope) {
			t.Errorf("%s %s is %s at %s, and sent on as %s it is another", method, path, action, scope, r.Path.Escaped())
		}
		lower, fault := Classify(m, method, escapedFold(r), "api-version=2024-01-01")
		if fault != nil || !arm.EqualFold(lower.Action(), action) || !arm.EqualFold(lower.Scope(), scope) {
			t.Errorf("%s %s is %s at %s, but not in lower case", method, path, action, scope)
		}
	})
}

// escapedFold is the path of r folded, as in a request target.
func escapedFold(r *Request) string {
	p := Request{}
	if err := p.Path.Parse(arm.PathOf(arm.Fold(r.Path.String()))); err != nil {
		return ""
	}
	return p.Path.Escaped()
}
