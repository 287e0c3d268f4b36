package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// The ids of built-in roles.
const (
	contributorRole = "b24988ac-6180-42a0-ab88-20f7382dd24c"
	readerRole      = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
)

// behind is by how much what a gateway remembers of roles may be older than what another
// one was told, and roleBound adds what a busy machine takes to find that out.
const (
	behind    = 2 * time.Second
	roleBound = 20 * behind
)

// dora has no rights but those that she is assigned.
var dora = harness.Token{Raw: "dora-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a4", Name: "dora@contoso.example"}

// role assigns a role to dora, through one gateway.
func role(t *testing.T, p *harness.Portico, scope, name, definition string) string {
	t.Helper()
	path := scope + "/providers/Microsoft.Authorization/roleAssignments/" + name + "?api-version=2022-04-01"
	p.Do(t, harness.Request{Method: "PUT", Path: path, Body: fmt.Sprintf(
		`{"properties":{"principalId":%q,"principalType":"User","roleDefinitionId":"/subscriptions/%s/providers/Microsoft.Authorization/roleDefinitions/%s"}}`,
		dora.ObjectID, harness.SubscriptionID, definition)}).Want(t, 201)
	return path
}

// An owner is one in its own tenant. Another tenant's caller who has the same object id, or
// a group of the same id, is nobody there, and is not shown the owner.
func TestOwnersAreOfTheirTenant(t *testing.T) {
	t.Parallel()
	const theirs, theirTenant = "00000000-0000-0000-0000-0000000000b2", "00000000-0000-0000-0000-0000000000bb"
	same := harness.Token{Raw: "same-id-s-token", TenantID: theirTenant, ObjectID: alice.ObjectID, Name: "alice@other.example"}
	owner := harness.Token{Raw: "their-owner-s-token", TenantID: theirTenant, ObjectID: "00000000-0000-0000-0000-0000000000bc", Name: "owner@other.example"}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Tokens: []harness.Token{alice, same, owner}, Owners: []string{alice.ObjectID, owner.ObjectID},
		Subscriptions: []harness.Subscription{{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Ours"}, {ID: theirs, TenantID: theirTenant, DisplayName: "Theirs"}},
	}})
	do := func(by harness.Token, method, path, body string) harness.Answer {
		t.Helper()
		return w.Portico.Do(t, harness.Request{Method: method, Path: path, Body: body, Header: harness.Header("Authorization", "Bearer "+by.Raw)})
	}
	const version = "?api-version=2021-04-01"
	group := func(sub string) string { return "/subscriptions/" + sub + "/resourceGroups/g" + version }
	do(alice, "PUT", group(harness.SubscriptionID), `{"location":"westus"}`).Want(t, 201)
	do(owner, "PUT", group(theirs), `{"location":"westus"}`).Want(t, 201)
	do(same, "PUT", group(theirs), `{"location":"westus"}`).WantError(t, 404, "SubscriptionNotFound")
	do(same, "GET", group(theirs), "").WantError(t, 404, "SubscriptionNotFound")
	list := do(owner, "GET", "/subscriptions/"+theirs+"/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01", "").Want(t, 200)
	if text := string(list.Body); strings.Contains(text, alice.ObjectID) || !strings.Contains(text, owner.ObjectID) {
		t.Errorf("they are shown %s", text)
	}
}

// Roles are assigned and taken away through one gateway, and soon decide at the other, at
// the first one at once. Nothing of what was refused arrives at a provider.
func TestRolesOverReplicas(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config:   harness.Config{Postgres: harness.StartPostgres(t).CreateDatabase(t, "roles"), Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID}},
	})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/vm", `{"location":"westus"}`)
	first, second := w.Replicas[0], w.Replicas[1]
	vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm") + "?api-version=" + harness.Version
	asDora := harness.Header("Authorization", "Bearer "+dora.Raw)
	write := func(p *harness.Portico) harness.Answer {
		t.Helper()
		return p.Do(t, harness.Request{Method: "PUT", Path: vm, Body: `{"location":"westus"}`, Header: asDora})
	}
	read := func(p *harness.Portico) int {
		t.Helper()
		return p.Do(t, harness.Request{Method: "GET", Path: vm, Header: asDora}).Status
	}
	for i := range 3 {
		name := fmt.Sprintf("00000000-0000-0000-0000-0000000000%02d", i)
		for _, p := range w.Replicas {
			if got := write(p); got.Status != 404 {
				t.Fatalf("without a role: %d %s", got.Status, got.Body)
			}
		}
		assigned := role(t, first, w.GroupPath("rg"), name, contributorRole)
		write(first).Want(t, 200)
		write(second).Want(t, 200) // what memory denies is asked of the store
		if read(first) != 200 || read(second) != 200 {
			t.Fatal("a contributor may not read")
		}
		first.Do(t, harness.Request{Method: "DELETE", Path: assigned}).Want(t, 200)
		if got := write(first); got.Status != 404 || read(first) != 404 {
			t.Fatalf("at the gateway that took the role away: %d %s", got.Status, got.Body)
		}
		harness.Await(t, roleBound, "the other gateway to know", func() bool { return read(second) == 404 })
		w.Contoso("westus").ForgetRequests(t)
		if got := write(second); got.Status != 404 {
			t.Fatalf("at the other gateway: %d %s", got.Status, got.Body)
		}
		if got := w.Contoso("westus").Requests(t); len(got) != 0 {
			t.Fatalf("%v", got)
		}
	}
}

// The command says by its exit status whether a caller may do something.
func TestRolesCheckCommand(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID}}})
	w.PutGroup(t, "rg")
	assigned, _, _ := strings.Cut(role(t, w.Portico, w.GroupPath("rg"), "00000000-0000-0000-0000-000000000001", readerRole), "?")
	const write, read = "Contoso.Compute/virtualMachines/write", "Contoso.Compute/virtualMachines/read"
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"--principal", dora.ObjectID, "--action", read, "--scope", w.GroupPath("RG")}, 0, assigned},
		{[]string{"--principal", alice.ObjectID, "--action", write, "--scope", "/", "--tenant", harness.TenantID}, 0, "auth.owners"},
		{[]string{"--principal", dora.ObjectID, "--action", write, "--scope", w.GroupPath("rg")}, 1, "Owner, Contributor"},
		{[]string{"--principal", bob.ObjectID, "--group", dora.ObjectID, "--action", read, "--scope", w.GroupPath("rg")}, 0, "Reader"},
		{[]string{"--principal", "dora", "--action", read, "--scope", w.GroupPath("rg")}, 2, ""},
		{[]string{"--action", read, "--scope", w.GroupPath("rg")}, 2, ""},
		{[]string{"--wibble"}, 2, ""},
	} {
		p := harness.Start(t, "portico roles check", t.TempDir(), harness.Build(t).Portico, append([]string{"roles", "check", "--config", w.Portico.ConfigFile}, c.args...)...)
		if got := p.ExitCode(t); got != c.status || !strings.Contains(p.Stdout(), c.says) {
			t.Errorf("%v: %d %s%s", c.args, got, p.Stdout(), p.Stderr())
		}
	}
}
