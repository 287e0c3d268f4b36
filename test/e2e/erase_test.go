package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// operator changes subscriptions at the admin listener.
type operator struct {
	p  *harness.Portico
	id string
}

func (o operator) put(t *testing.T, state string) harness.Answer {
	t.Helper()
	return o.p.Admin(t, harness.Request{
		Method: http.MethodPut, Path: "/admin/subscriptions/" + o.id, Body: fmt.Sprintf(`{"tenantId":%q,"state":%q}`, harness.TenantID, state),
	})
}

func (o operator) erased(t *testing.T) bool {
	t.Helper()
	return strings.Contains(string(o.p.Admin(t, harness.Request{Path: "/admin/subscriptions/" + o.id}).Want(t, 200).Body), `"erased":true`)
}

// deletions counts the Deleted notifications of the subscription at an endpoint.
func (o operator) deletions(t *testing.T, c *harness.Contoso, namespace string) (n int) {
	t.Helper()
	for _, notifications := range c.Notifications(t)[o.id].Journal {
		if notifications.Namespace == namespace && notifications.State == "Deleted" {
			n++
		}
	}
	return n
}

// A write that brought no answer lands after its provider has confirmed that the
// subscription is Deleted: the provider is told once more when nothing can land
// any longer, so that nothing stays.
func TestLateWriteIntoDeletedSubscription(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Extra: strings.Replace(deletionSettings, "lateWriteWindow: 500ms", "lateWriteWindow: 20s", 1),
	}})
	w.PutGroup(t, "rg")
	o := operator{w.Portico, w.SubscriptionID}
	vm := w.ResourcePath("rg", machines+"late")
	misbehave(t, w, "PUT", "/late", "late=8s", 1)
	if a := w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: vm + "?api-version=" + harness.Version, Body: body("eastus")}); a.Status < 500 {
		t.Fatalf("the write was answered: %d %s", a.Status, a.Body)
	}
	o.put(t, "Deleted").Want(t, 200)
	eastus := w.Contoso("eastus")
	soon(t, "the provider has confirmed", func() bool { return eastus.Notifications(t)[o.id].Namespaces["contoso.compute"] == "Deleted" })
	soon(t, "the write lands", func() bool { return eastus.Holds(t, vm) })
	if o.erased(t) {
		t.Error("erased while a write could land")
	}
	soon(t, "the subscription is erased", func() bool { return o.erased(t) })
	for _, region := range allRegionNames() {
		if held := w.Contoso(region).Resources(t); len(held) > 0 {
			t.Errorf("%s still holds %v", region, held)
		}
		if n := o.deletions(t, w.Contoso(region), "contoso.compute"); n < 2 {
			t.Errorf("%s was told %d times", region, n)
		}
	}
	o.put(t, "Enabled").Want(t, 200, 201)
}

// A region that was out of the map while a subscription was deleted and erased is
// told when it comes back, whenever that is, and after a restart as well. Before
// that the subscription is not made anew: what is left there would be in it.
func TestReturningRegionLearnsOfDeletion(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Server: unwatched, Extra: strings.Replace(deletionSettings, "index: {", "index: {endpointAbsence: 1s, ", 1),
	}})
	p := w.Portico
	o := operator{p, w.SubscriptionID}
	fill(t, w, "rg", map[string]string{machines + "north": "northeurope", machines + "west": "westus"})
	vm := w.ResourcePath("rg", machines+"north")
	config := w.Config
	config.Endpoints = maps.Clone(config.Endpoints)
	delete(config.Endpoints, "northeurope")
	p.Kill(t) // a notice that is under way would tell the region in the same go
	p.Write(t, p.Text(t, config))
	p.Restart(t)

	o.put(t, "Deleted").Want(t, 200)
	soon(t, "the subscription is erased without the region", func() bool { return o.erased(t) })
	north := w.Contoso("northeurope")
	if n := o.deletions(t, north, "contoso.compute"); n != 0 || !north.Holds(t, vm) {
		t.Fatalf("the region was told %d times, and holds %v", n, north.Resources(t))
	}
	if a := o.put(t, "Enabled").WantError(t, 409, "Conflict"); !strings.Contains(string(a.Body), "northeurope") {
		t.Errorf("the refusal does not name the region: %s", a.Body)
	}
	p.Kill(t)
	p.Restart(t)
	p.Write(t, p.Text(t, w.Config))
	reload(t, p).Want(t, 200)
	for _, namespace := range []string{"contoso.compute", "contoso.insight"} {
		soon(t, namespace+" is told", func() bool { return north.Notifications(t)[o.id].Namespaces[namespace] == "Deleted" })
	}
	if north.Holds(t, vm) {
		t.Error("the region still holds what it held")
	}
	soon(t, "the subscription is made anew", func() bool { return o.put(t, "Enabled").Status != 409 })
	p.Do(t, harness.Request{Path: vm + "?api-version=" + harness.Version}).WantError(t, 404, "ResourceGroupNotFound")
}
