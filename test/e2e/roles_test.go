package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
// a group of the same id, is no one there, and is not shown the owner.
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

// Hundreds of connections that list through a gateway do not keep it from learning that a
// role was taken away through another: what it is sent later than what it may be behind is
// refused, however long the answer takes.
func TestRoleEndsAtABusyReplica(t *testing.T) {
	const machines, connections, rounds, reads = 300, 400, 2, 20
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config:   harness.Config{Postgres: harness.StartPostgres(t).CreateDatabase(t, "roles"), Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID}},
	})
	w.PutGroup(t, "rg")
	for i := range machines {
		w.PutResource(t, "rg", fmt.Sprintf("Contoso.Compute/virtualMachines/vm%d", i), `{"location":"westus"}`)
	}
	busy, other := w.Replicas[0], w.Replicas[1]
	ctx, stop := context.WithCancel(t.Context())
	var lists sync.WaitGroup
	var listed atomic.Int64
	defer lists.Wait()
	defer stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	list := func() error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, busy.URL+w.GroupPath("rg")+"/resources?api-version=2021-04-01", http.NoBody)
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+alice.Raw)
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return errors.Join(err, answer.Body.Close())
	}
	for range connections {
		lists.Go(func() {
			for ctx.Err() == nil {
				if list() == nil {
					listed.Add(1)
				}
			}
		})
	}
	vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm0") + "?api-version=" + harness.Version
	read := func() int {
		got, err := busy.Try(t.Context(), harness.Request{Path: vm, Header: harness.Header("Authorization", "Bearer "+dora.Raw)})
		if err != nil {
			return 0 // it was too busy
		}
		return got.Status
	}
	for round := range rounds {
		assigned := role(t, other, w.GroupPath("rg"), fmt.Sprintf("00000000-0000-0000-0000-0000000000%02d", round), readerRole)
		harness.Await(t, 5*time.Minute, "the role to count", func() bool { return read() == 200 })
		before := listed.Load()
		harness.Await(t, 5*time.Minute, "all connections to have listed", func() bool { return listed.Load() > before+connections && read() == 200 })
		other.Do(t, harness.Request{Method: "DELETE", Path: assigned}).Want(t, 200)
		time.Sleep(behind)
		var refused atomic.Bool
		harness.Await(t, 5*time.Minute, "reads to be refused", func() bool {
			var all sync.WaitGroup
			for range reads {
				all.Go(func() {
					switch read() {
					case 200:
						t.Error("a role that was taken away longer ago than a gateway may be behind lets a read in")
					case 404:
						refused.Store(true)
					}
				})
			}
			all.Wait()
			return refused.Load() || t.Failed()
		})
	}
}

// A role whose actions are of no known type is taken, since the type may come later; the
// client is told, and the log has the first of them.
func TestARoleOfNoKnownTypeIsTakenWithAWarning(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Tokens: []harness.Token{alice}, Owners: []string{alice.ObjectID}}})
	for i, c := range []struct{ permission, warning string }{
		{`{"actions":["Contoso.Compute/virtualMachines/*","*/read","Microsoft.Resources/subscriptions/resourceGroups/read"]}`, ""},
		{`{"actions":["Contoso.Compute/virtualMachine/read","*/read"],"notActions":["Contoso.Computer/*/write"]}`, `299 - "2 of the actions are of no resource type that is known here"`},
	} {
		answer := w.Portico.Do(t, harness.Request{
			Method: "PUT", Path: fmt.Sprintf("%s/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-0000000000%02d?api-version=2022-04-01", w.SubscriptionPath(), i),
			Body: fmt.Sprintf(`{"properties":{"roleName":"r%d","permissions":[%s],"assignableScopes":[%q]}}`, i, c.permission, w.SubscriptionPath()),
		}).Want(t, 201)
		if got := answer.Header.Get("Warning"); got != c.warning {
			t.Errorf("%s: a warning %q, want %q", c.permission, got, c.warning)
		}
	}
	if log := w.Portico.Logs(); !strings.Contains(log, "2 of them, such as 'Contoso.Compute/virtualMachine/read'") || strings.Count(log, "a role has actions of unknown resource types") != 1 {
		t.Errorf("the log: %s", log)
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

// A change of a custom role is told in each subscription in which the role is assignable, and
// once to whoever follows several; another tenant's subscriptions are not told.
func TestCustomRolesAreReportedWhereTheyAreAssignable(t *testing.T) {
	t.Parallel()
	const (
		second, third = "00000000-0000-0000-0000-0000000000b2", "00000000-0000-0000-0000-0000000000b3"
		foreign       = "00000000-0000-0000-0000-0000000000bf"
		theirTenant   = "00000000-0000-0000-0000-0000000000bb"
	)
	first := harness.SubscriptionID
	owner := harness.Token{Raw: "their-owner-s-token", TenantID: theirTenant, ObjectID: "00000000-0000-0000-0000-0000000000bc", Name: "owner@other.example"}
	two, alone, theirs := newHook(t), newHook(t), newHook(t)
	of := func(subscriptions ...string) string {
		return "subscriptions: [" + strings.Join(subscriptions, ", ") + "]"
	}
	c := harness.Config{
		Tokens: []harness.Token{alice, dora, owner}, Owners: []string{alice.ObjectID, owner.ObjectID},
		Extra: withSinks(two.sink("two", of(first, second)), alone.sink("alone", of(third)), theirs.sink("theirs", of(foreign))),
	}
	for _, id := range []string{first, second, third} {
		c.Subscriptions = append(c.Subscriptions, harness.Subscription{ID: id, TenantID: harness.TenantID, DisplayName: "Ours"})
	}
	c.Subscriptions = append(c.Subscriptions, harness.Subscription{ID: foreign, TenantID: theirTenant, DisplayName: "Theirs"})
	w := harness.NewWorld(t, harness.WorldOptions{Config: c})
	for _, name := range []string{"two", "alone", "theirs"} {
		awaitSink(t, w.Portico, name)
	}
	do := func(by harness.Token, method, path, body string) harness.Answer {
		t.Helper()
		return w.Portico.Do(t, harness.Request{Method: method, Path: path, Body: body, Header: bearer(by.Raw)})
	}
	const version, definitions = "?api-version=2022-04-01", "/providers/Microsoft.Authorization/roleDefinitions/"
	define := func(by harness.Token, in, id string, scopes ...string) {
		t.Helper()
		do(by, "PUT", "/subscriptions/"+in+definitions+id+version, fmt.Sprintf(
			`{"properties":{"roleName":"role %s","permissions":[{"actions":["*/read"]}],"assignableScopes":["%s"]}}`, id, strings.Join(scopes, `","`))).Want(t, 201)
	}
	remove := func(by harness.Token, in, id string) {
		t.Helper()
		do(by, "DELETE", "/subscriptions/"+in+definitions+id+version, "").Want(t, 200)
	}
	at := func(id string) string { return "/subscriptions/" + id }
	const id = "00000000-0000-4000-8000-0000000000d"
	const moving, general, ofGroup, other = id + "1", id + "2", id + "3", id + "4"
	group := w.GroupPath("g")
	do(alice, "PUT", group+"?api-version=2021-04-01", `{"location":"westus"}`).Want(t, 201)
	role(t, w.Portico, group, "00000000-0000-0000-0000-0000000000d1", readerRole) // of dora

	define(alice, first, moving, at(first), at(second))
	define(alice, first, moving, at(second))
	define(alice, second, moving, at(second), at(third))
	remove(alice, third, moving)
	define(alice, first, general, "/")
	define(alice, first, ofGroup, group, at(third))
	define(owner, foreign, other, "/")
	remove(owner, foreign, other)
	remove(alice, first, ofGroup)
	remove(alice, second, general)

	write, gone := func(id string) string { return id + " write" }, func(id string) string { return id + " delete" }
	want := map[string][]string{ // the oldest first
		"":      {write(moving), write(moving), write(moving), gone(moving), write(general), write(ofGroup), write(other), gone(other), gone(ofGroup), gone(general)},
		first:   {write(moving), write(moving), write(general), write(ofGroup), gone(ofGroup), gone(general)},
		second:  {write(moving), write(moving), write(moving), gone(moving), write(general), gone(general)},
		third:   {write(moving), gone(moving), write(general), write(ofGroup), gone(ofGroup), gone(general)},
		foreign: {write(other), gone(other)},
	}
	inBoth := []string{write(moving), write(moving), write(moving), gone(moving), write(general), write(ofGroup), gone(ofGroup), gone(general)}
	changes := func(events []hookEvent) (lines []string) {
		for _, e := range events {
			if verb, is := strings.CutPrefix(e.Data.OperationName, "Microsoft.Authorization/roleDefinitions/"); is && e.Data.Status == "Succeeded" {
				lines = append(lines, e.Subject[strings.LastIndexByte(e.Subject, '/')+1:]+" "+verb)
			}
		}
		return lines
	}
	logged := func(by harness.Token, sub, filter string) (lines []string) {
		t.Helper()
		for _, e := range storyIn(t, w, by, sub, filter) {
			if verb, is := strings.CutPrefix(e.OperationName.Value, "Microsoft.Authorization/roleDefinitions/"); is && e.Status.Value == "Succeeded" {
				name, is := strings.CutPrefix(e.ResourceID, at(sub)+definitions)
				if !is || e.SubscriptionID != sub {
					t.Errorf("%s is told %+v", sub, e)
				}
				lines = append(lines, name+" "+verb)
			}
		}
		return lines
	}
	same := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for sub, want := range want {
		same("the feed of "+sub, changes(feedOf(t, w.Portico, sub)), want)
		by := alice
		if sub == foreign {
			by = owner
		}
		if sub != "" {
			same("the log of "+sub, logged(by, sub, ""), want)
		}
	}
	same("the log of one role", logged(alice, second, "resourceUri eq '"+at(second)+definitions+general+"'"), []string{write(general), gone(general)})
	same("the log of one role elsewhere", logged(alice, first, "resourceUri eq '"+at(first)+definitions+other+"'"), nil)
	same("what dora sees, who reads the group alone", logged(dora, first, ""), []string{write(ofGroup), gone(ofGroup)})
	for what, h := range map[string]struct {
		hook *hook
		want []string
	}{"of two": {two, inBoth}, "of the third": {alone, want[third]}, "of theirs": {theirs, want[foreign]}} {
		harness.Await(t, hookBound, "the sink "+what, func() bool { return len(changes(h.hook.got())) >= len(h.want) })
		got, seen := h.hook.got(), map[string]bool{}
		for _, e := range got {
			if seen[e.ID] {
				t.Errorf("the sink %s got %s twice", what, e.ID)
			}
			seen[e.ID] = true
		}
		slices.SortFunc(got, func(a, b hookEvent) int { return a.number() - b.number() })
		same("the sink "+what, changes(got), h.want)
	}
	// The history of a role, where it is assignable.
	var history struct {
		Value []struct{ Properties struct{ ChangeType string } }
	}
	path := at(second) + definitions + moving + "/providers/Microsoft.Resources/changes?api-version=2022-05-01"
	if err := json.Unmarshal(do(alice, "GET", path, "").Want(t, 200).Body, &history); err != nil || len(history.Value) != 4 || history.Value[0].Properties.ChangeType != "Delete" {
		t.Errorf("%v %+v", err, history)
	}
}
