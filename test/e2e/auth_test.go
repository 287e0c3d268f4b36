package e2e

import (
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

const (
	subscriptionB = "00000000-0000-0000-0000-000000000002"
	tenantB       = "00000000-0000-0000-0000-0000000000bb"
	version       = "?api-version=2022-12-01"
)

var (
	alice = harness.Token{Raw: "alice-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a1", Name: "alice@contoso.example"}
	bob   = harness.Token{Raw: "bob-s-token", TenantID: tenantB, ObjectID: "00000000-0000-0000-0000-0000000000a2", Name: "bob@fabrikam.example"}
)

func tokensWorld(t *testing.T) *harness.World {
	t.Helper()
	return harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Tokens: []harness.Token{alice, bob},
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "A", State: "Enabled"},
			{ID: subscriptionB, TenantID: tenantB, DisplayName: "B", State: "Enabled"},
		},
	}})
}

func as(token harness.Token) http.Header {
	return harness.Header("Authorization", "Bearer "+token.Raw)
}

func TestCallsWithoutAToken(t *testing.T) {
	t.Parallel()
	w := tokensWorld(t)
	vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	for _, row := range []struct {
		name   string
		header http.Header
		code   string
	}{
		{"none", nil, "AuthenticationFailed"},
		{"unknown", harness.Header("Authorization", "Bearer unknown"), "InvalidAuthenticationToken"},
		{"the hash of a known one", harness.Header("Authorization", "Bearer "+alice.SHA256()), "InvalidAuthenticationToken"},
		{"empty", harness.Header("Authorization", "Bearer "), ""},
		{"another scheme", harness.Header("Authorization", "Basic "+alice.Raw), ""},
	} {
		for _, path := range []string{"/subscriptions" + version, w.SubscriptionPath() + version, vm + "?api-version=" + harness.Version, "/no/such/route" + version} {
			t.Run(row.name+" "+path, func(t *testing.T) {
				a := w.Portico.Do(t, harness.Request{Path: path, Header: row.header, Anonymous: true}).Want(t, 401)
				if row.code != "" {
					a.WantError(t, 401, row.code)
				}
				if got := a.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer ") {
					t.Errorf("WWW-Authenticate: %q", got)
				}
				if got := a.Header.Get("X-Ms-Failure-Cause"); got != "gateway" {
					t.Errorf("x-ms-failure-cause: %q", got)
				}
			})
		}
	}
	for _, region := range harness.RegionNames() {
		if got := w.Contoso(region).Requests(t); len(got) != 0 {
			t.Errorf("%s received %d requests", region, len(got))
		}
	}
}

func TestTokenNeverReachesAProvider(t *testing.T) {
	t.Parallel()
	w := tokensWorld(t)
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/vm", `{"location":"eastus"}`)
	received := w.Contoso("eastus").Requests(t)
	if len(received) == 0 {
		t.Fatal("nothing received")
	}
	for _, r := range received {
		for name, values := range r.Headers {
			if strings.EqualFold(name, "Authorization") || strings.Contains(strings.Join(values, " "), alice.Raw) {
				t.Errorf("%s %s carries %s", r.Method, r.Path, name)
			}
		}
		if got := r.Headers.Get("X-Ms-Client-Object-Id"); got != alice.ObjectID {
			t.Errorf("%s %s: x-ms-client-object-id %q", r.Method, r.Path, got)
		}
	}
	if strings.Contains(w.Portico.Log(), alice.Raw) {
		t.Error("the token is in the log")
	}
}

func TestSubscriptionOfAnotherTenant(t *testing.T) {
	t.Parallel()
	w := tokensWorld(t)
	for _, row := range []struct {
		token      harness.Token
		own, other string
	}{{alice, harness.SubscriptionID, subscriptionB}, {bob, subscriptionB, harness.SubscriptionID}} {
		list := w.Portico.Do(t, harness.Request{Path: "/subscriptions" + version, Header: as(row.token)}).Want(t, 200).Values(t)
		if len(list) != 1 || list[0]["subscriptionId"] != row.own {
			t.Errorf("%s sees %v", row.token.Name, list)
		}
		w.Portico.Do(t, harness.Request{Path: "/subscriptions/" + row.own + version, Header: as(row.token)}).Want(t, 200)
		for _, path := range []string{"", "/locations", "/resourceGroups", "/resourceGroups/rg", "/resources", "/providers",
			"/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/vm"} {
			w.Portico.Do(t, harness.Request{Path: "/subscriptions/" + row.other + path + "?api-version=" + harness.Version, Header: as(row.token)}).
				WantError(t, 404, "SubscriptionNotFound")
		}
		w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: "/subscriptions/" + row.other + "/resourceGroups/mine" + version,
			Header: as(row.token), Body: `{"location":"westus"}`}).WantError(t, 404, "SubscriptionNotFound")
	}
}
