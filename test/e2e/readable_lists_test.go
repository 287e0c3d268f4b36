package e2e

import (
	"slices"
	"strings"
	"testing"

	"portico/arm"
	"portico/test/harness"
)

// idsOf walks a list as the owner of a token sees it.
func idsOf(t *testing.T, w *harness.World, path string, by harness.Token, header ...string) (ids []string) {
	t.Helper()
	for path != "" {
		answer := w.Portico.Do(t, harness.Request{Path: path, Header: harness.Header(append(header, "Authorization", "Bearer "+by.Raw)...)}).Want(t, 200)
		for _, element := range answer.Values(t) {
			id, _ := element["id"].(string)
			ids = append(ids, id)
		}
		link, _ := answer.JSON(t)["nextLink"].(string)
		path = strings.TrimPrefix(link, w.Portico.URL)
	}
	slices.Sort(ids)
	return ids
}

// Callers with a right on a group, on a resource or on nothing are shown of every list, in
// pages of any size, what they may read of what its owner sees.
func TestListsShowWhatTheirCallersMayRead(t *testing.T) {
	t.Parallel()
	carol := harness.Token{Raw: "carol-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a3", Name: "carol"}
	dave := harness.Token{Raw: "dave-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a4", Name: "dave"}
	erin := harness.Token{Raw: "erin-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a5", Name: "erin"}
	const group = "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/"
	scopes := map[string][]string{
		carol.ObjectID: {group + "mine"},
		dave.ObjectID:  {group + "theirs/providers/Contoso.Compute/virtualMachines/in-eastus"},
	}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Tokens: []harness.Token{alice, carol, dave, erin}, Owners: []string{alice.ObjectID}, OwnersAt: scopes,
	}})
	for _, name := range []string{"mine", "theirs"} {
		w.PutGroup(t, name)
		for _, region := range harness.RegionNames() {
			w.PutResource(t, name, "Contoso.Compute/virtualMachines/in-"+region, body(region))
			w.PutResource(t, name, "Contoso.Compute/virtualMachines/in-"+region+"/disks/d", body(region))
		}
	}
	elsewhere := strings.Replace(group, harness.SubscriptionID, "00000000-0000-0000-0000-0000000000e1", 1) + "theirs/providers/Contoso.Compute/virtualMachines/in-eastus"
	w.Contoso("eastus").Do(t, harness.Request{Method: "PUT", Path: elsewhere + "?api-version=" + harness.Version, Body: body("eastus")}).Want(t, 201)
	api := "api-version=" + harness.Version
	lists := []string{
		w.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines?" + api,
		w.SubscriptionPath() + "/resources" + version,
		w.SubscriptionPath() + "/resourceGroups" + version,
		group + "theirs/providers/Contoso.Compute/virtualMachines?" + api,
		group + "theirs/providers/Contoso.Compute/virtualMachines/in-eastus/disks?" + api,
	}
	for i, list := range lists {
		all := idsOf(t, w, list, alice)
		if len(all) == 0 {
			t.Fatalf("%s: nothing is listed", list)
		}
		// Also where providers list what lies in other subscriptions, groups and parents.
		if got := idsOf(t, w, list, alice, "x-contoso-fault", "foreign-elements"); !slices.Equal(got, all) {
			t.Errorf("%s: got %q, want %q", list, got, all)
		}
		for _, by := range []harness.Token{carol, dave} {
			if by == carol && i > 2 { // she has nothing there
				w.Portico.Do(t, harness.Request{Path: list, Header: as(by)}).WantError(t, 403, "AuthorizationFailed")
				continue
			}
			var want []string
			for _, id := range all {
				for _, scope := range scopes[by.ObjectID] {
					if folded, below := arm.Fold(id), arm.Fold(scope); folded == below || strings.HasPrefix(folded, below+"/") {
						want = append(want, id)
					}
				}
			}
			for _, top := range []string{"", "&$top=1", "&$top=2"} {
				if got := idsOf(t, w, list+top, by); !slices.Equal(got, want) {
					t.Errorf("%s%s by %s: got %q, want %q", list, top, by.Name, got, want)
				}
			}
		}
		w.Portico.Do(t, harness.Request{Path: list, Header: as(erin)}).WantError(t, 404, "SubscriptionNotFound")
	}
	for by, want := range map[harness.Token]int{alice: 1, carol: 1, dave: 1, erin: 0} {
		if got := idsOf(t, w, "/subscriptions"+version, by); len(got) != want {
			t.Errorf("%s sees the subscriptions %q", by.Name, got)
		}
	}
}
