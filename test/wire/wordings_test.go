package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The front door's refusals that depend on a state, word for word: programs match
// codes, and people search for texts.
func testWordings(t *testing.T, w *world) {
	t.Run("identity", func(t *testing.T) { w.wordsOfIdentity(t) })
	t.Run("quotas", func(t *testing.T) { w.wordsOfQuotas(t) })
	t.Run("time", func(t *testing.T) { w.wordsOfTime(t) })
	t.Run("locks", func(t *testing.T) { w.wordsOfLocks(t) })
	t.Run("a group's deletion", func(t *testing.T) { w.wordsOfDeletion(t) })
	t.Run("a deletion that is blocked", func(t *testing.T) { w.wordsOfABlockedDeletion(t) })
	t.Run("moves", func(t *testing.T) { w.wordsOfMoves(t) })
	t.Run("a move that its provider refuses", func(t *testing.T) { w.wordsOfARefusedMove(t) })
}

// changed is the world behind another gateway, whose configuration has new in place of
// old.
func (w *world) changed(t *testing.T, old, changed string) *world {
	t.Helper()
	other := *w
	other.gateway = w.start(t, "", func(c string) string {
		if !strings.Contains(c, old) {
			t.Fatalf("the configuration has no %q", old)
		}
		return strings.Replace(c, old, changed, 1)
	})
	return &other
}

func (w *world) wordsOfIdentity(t *testing.T) {
	sum := sha256.Sum256([]byte("known"))
	guarded := w.changed(t, "auth: {mode: none}", "auth: {mode: tokens, tokens: [{sha256: "+hex.EncodeToString(sum[:])+", tenantId: "+tenant+", objectId: 30000000-0000-0000-0000-000000000001, name: known@portico.test}], owners: [{principalId: 30000000-0000-0000-0000-000000000001}]}")
	challenge := func(description string) func(*testing.T, reply, []received) {
		return func(t *testing.T, got reply, _ []received) {
			want := `Bearer authorization_uri="https://login.portico.test/` + tenant + `", error="invalid_token", error_description="` + description + `"`
			if values := got.header.Values("WWW-Authenticate"); len(values) != 1 || values[0] != want {
				t.Errorf("WWW-Authenticate %q, want %q", values, want)
			}
		}
	}
	missing := want{status: 401, code: "AuthenticationFailed", text: "Authentication failed. The 'Authorization' header is missing.",
		check: challenge("The authentication failed because of missing 'Authorization' header.")}
	invalid := want{status: 401, code: "InvalidAuthenticationToken", text: "The access token is invalid.", check: challenge("The authentication failed because of an invalid token.")}
	vm := S + "/resourceGroups/none/providers/Contoso.Compute/virtualMachines/n?" + V
	header := func(value string) []string { return []string{"Authorization: " + value} }
	guarded.table(t, []row{
		{"no token", message{target: S + "?" + V}, missing},
		{"no token, for a provider", message{method: "PUT", target: vm, body: located("westus")}, missing},
		{"no token, and nothing else is told", message{target: "/../x"}, missing},
		{"unknown", message{target: S + "?" + V, header: header("Bearer unknown")}, invalid},
		{"unknown, for a provider", message{target: vm, header: header("Bearer unknown")}, invalid},
		{"another scheme", message{target: vm, header: header("Basic known")}, invalid},
		{"two", message{target: vm, header: append(header("Bearer known"), header("Bearer known")...)}, invalid},
		{"known", message{target: S + "?" + V, header: header("Bearer known")}, want{status: 200}},
		{"none is needed", message{target: "/metadata/endpoints?api-version=2022-09-01"}, want{status: 200}},
	})
}

func (w *world) wordsOfQuotas(t *testing.T) {
	const q = "?" + V
	narrow := w.changed(t, "lists: {", "limits: {groupsPerSubscription: 1, resourcesPerTypeAndGroup: 2, requestBody: 1MiB, tagsPerResource: 3}\nlists: {")
	g := narrow.group(t, "quotas")
	at := g + "/providers/Contoso.Raw/things/"
	put := func(target, body string) message { return message{method: "PUT", target: target + q, body: body} }
	narrow.table(t, []row{
		{"first", put(at+"a", located("westus")), want{status: 201, reaches: "raw westus"}},
		{"second", put(at+"b", located("eastus")), want{status: 201, reaches: "raw eastus"}},
		{"a resource too many", put(at+"c", located("westus")), want{status: 409, code: "ResourceQuotaExceeded", about: "Contoso.Raw/things",
			text: "Creating the resource of type Contoso.Raw/things would exceed the quota of 2 resources of type Contoso.Raw/things per resource group. The current resource count is 2, please delete some resources of this type before creating a new one."}},
		{"one of those again", put(at+"A", located("westus")), want{status: 201, reaches: "raw westus"}},
		{"another type", put(g+"/providers/Contoso.Raw/pages/c", located("westus")), want{status: 201, reaches: "raw westus"}},
		{"a group too many", put(S+"/resourceGroups/quotas-2", located("westus")), want{status: 409, code: "ResourceGroupQuotaExceeded",
			text: "Creating the resource group 'quotas-2' would exceed the quota of '1'. The current resource group count is '1', please delete some resource groups before creating a new one."}},
		{"the group again", put(g, located("westus")), want{status: 200}},
		{"content", put(at+"a", sized(1<<20+1)), want{status: 413, code: "RequestContentTooLarge", text: "The request content size exceeds the maximum size of 1 MB."}},
		{"tags", put(g, `{"location":"westus","tags":{"a":"","b":"","c":"","d":""}}`), want{status: 400, code: "TagCountExceeded", about: "tags", text: "The number of tags '4' exceeds the maximum of '3'."}},
	})
}

// A provider that does not answer in time: 504, also for a whole list if all failures
// were time-outs. A client that accepts partial lists gets the rest.
func (w *world) wordsOfTime(t *testing.T) {
	const q = "?" + V
	const gone = "The gateway did not receive a response from 'Contoso.Raw' within the specified time period."
	hurried := w.changed(t, "lists: {", "upstream: {callTimeout: 2s}\nlists: {")
	g := hurried.group(t, "times")
	thing := hurried.thing(t, g, "times-late", "westus")
	hurried.holdPages(t, "times-pages")
	ended := make(chan struct{})
	late := func(received) string { <-ended; return hangUp }
	hurried.scripted["westus"].on(thing, late)
	hurried.scripted["westus"].on(pagesOfRegions, late)
	hurried.pages("eastus", map[string]string{"": pageText("", `"e1"`)})
	t.Cleanup(func() { close(ended); w.scripted["westus"].on(pagesOfRegions, always(pageText(""))) })
	expired := want{status: 504, code: "GatewayTimeout", text: gone, reaches: "raw westus"}
	list := message{target: pagesOfRegions + q}
	hurried.table(t, []row{
		{"get", message{target: thing + q}, expired},
		{"put", message{method: "PUT", target: thing + q, body: located("westus")}, expired},
		{"patch", message{method: "PATCH", target: thing + q, body: `{"tags":{}}`}, expired},
		{"action", message{method: "POST", target: thing + "/act" + q}, expired},
		{"delete", message{method: "DELETE", target: thing + q}, expired},
		{"F8 a region of a list", list, want{status: 504, code: "GatewayTimeout", either: true,
			text: "The list could not be completed: 1 of 2 regions of 'Contoso.Raw' did not answer as they should. Please see details.",
			check: func(t *testing.T, got reply, _ []received) {
				if f := got.failure(t).Error; len(f.Details) != 1 || f.Details[0].Code != "GatewayTimeout" || f.Details[0].Target != "westus" || f.Details[0].Message != gone {
					t.Errorf("details: %s", got)
				}
			}}},
		{"F8 a region of a list, of which the client wants the rest", message{target: list.target, header: []string{"x-ms-portico-on-region-failure: partial"}}, want{status: 200, either: true,
			check: func(t *testing.T, got reply, _ []received) {
				if string(got.body) != `{"value":["e1"],"unreachable":["westus"]}` || got.header.Get("x-ms-portico-completed") != "false" {
					t.Errorf("got %s", got)
				}
			}}},
	})
}

func (w *world) wordsOfLocks(t *testing.T) {
	const q = "?" + V
	g := w.group(t, "words-of-locks")
	vm := w.machine(t, g, "n", "westus")
	lock := func(scope string) string { return scope + "/providers/Microsoft.Authorization/locks/l" + q }
	named := func(name string) string { return vm + "/providers/Microsoft.Authorization/locks/" + name + q }
	locked := func(scope, what string) want {
		return want{status: 409, code: "ScopeLocked", about: scope,
			text: "The scope '" + scope + "' cannot perform " + what + " operation because following scope(s) are locked: '" + g + "'. Please remove the lock and try again."}
	}
	w.table(t, []row{
		{"lock", message{method: "PUT", target: lock(g), body: `{"properties":{"level":"CanNotDelete","notes":"n"}}`}, want{status: 201}},
		{"the same again", message{method: "PUT", target: lock(g), body: `{"properties":{"level":"CanNotDelete","notes":"n"}}`}, want{status: 200}},
		{"delete a resource", message{method: "DELETE", target: vm + q}, locked(vm, "delete")},
		{"delete the group", message{method: "DELETE", target: g + q}, locked(g, "delete")},
		{"write", message{method: "PUT", target: vm + q, body: located("westus")}, want{status: 200, reaches: "westus"}},
		{"read only", message{method: "PUT", target: lock(g), body: `{"properties":{"level":"ReadOnly"}}`}, want{status: 200}},
		{"put", message{method: "PUT", target: vm + q, body: located("westus")}, locked(vm, "write")},
		{"patch", message{method: "PATCH", target: vm + q, body: `{"tags":{}}`}, locked(vm, "write")},
		{"action", message{method: "POST", target: vm + "/listKeys" + q}, locked(vm+"/listKeys", "write")},
		{"put the group", message{method: "PUT", target: g + q, body: located("westus")}, locked(g, "write")},
		{"read", message{target: vm + q}, want{status: 200, reaches: "westus"}},
		{"notes of 512 characters", message{method: "PUT", target: lock(vm), body: `{"properties":{"level":"canNotDelete","notes":"` + strings.Repeat("é", 512) + `"}}`}, want{status: 201}},
		{"that lock goes", message{method: "DELETE", target: lock(vm)}, want{status: 200}},
		{"a name of 90 characters", message{method: "PUT", target: named(strings.Repeat("x", 90)), body: `{"properties":{"level":"CanNotDelete"}}`}, want{status: 201}},
		{"that one goes as well", message{method: "DELETE", target: named(strings.Repeat("x", 90))}, want{status: 200}},
		{"a name of 91", message{method: "PUT", target: named(strings.Repeat("x", 91)), body: `{"properties":{"level":"CanNotDelete"}}`}, want{status: 400, code: "InvalidResourceName", about: "resourceName",
			text: "The provided lock name '" + strings.Repeat("x", 91) + "' is longer than 90 characters."}},
		{"notes of 513", message{method: "PUT", target: lock(vm), body: `{"properties":{"level":"CanNotDelete","notes":"` + strings.Repeat("é", 513) + `"}}`}, want{status: 400, code: "InvalidRequestContent", about: "properties.notes",
			text: "The request content was invalid and could not be deserialized: 'The notes have at most 512 characters. Path 'properties.notes''."}},
		{"an absent lock", message{target: g + "/providers/Microsoft.Authorization/locks/absent" + q}, want{status: 404, code: "LockNotFound", text: "The lock 'absent' could not be found."}},
		{"unlock", message{method: "DELETE", target: lock(g)}, want{status: 200}},
		{"unlock again", message{method: "DELETE", target: lock(g)}, want{status: 204}},
		{"delete at last", message{method: "DELETE", target: vm + q}, want{status: 200, reaches: "westus"}},
	})
}

// accepted checks the 202 of a front door's own operation, and every poll before its
// end, and returns the path to poll.
func accepted(t *testing.T, got reply) string {
	t.Helper()
	location := got.header.Values("Location")
	if got.status != 202 || len(got.body) != 0 || got.header.Get("Content-Length") != "0" || got.header.Get("Retry-After") != "1" || len(location) != 1 ||
		!regexp.MustCompile("^"+quoteMeta(publicURL+S+"/operationresults/")+`[A-Za-z0-9_-]+\?api-version=2021-04-01$`).MatchString(location[0]) {
		t.Fatalf("want a bodiless 202 with Retry-After: 1 and a Location: %s", got)
	}
	return strings.TrimPrefix(location[0], publicURL)
}

// ends polls a front door's own operation until its end.
func (g gateway) ends(t *testing.T, poll string) reply {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got := g.send(t, message{target: poll})
		if got.status != 202 {
			if location := got.header.Values("Location"); len(location) != 0 {
				t.Errorf("it has ended, and has Location: %q", location)
			}
			return got
		}
		if again := accepted(t, got); again != poll {
			t.Fatalf("the Location became %s, it was %s", again, poll)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the operation does not end: %s", got)
		}
	}
}

func (w *world) wordsOfDeletion(t *testing.T) {
	const q = "?api-version=2021-04-01"
	g := w.group(t, "words-of-deletion")
	thing := w.thing(t, g, "words-of-deletion", "westus")
	w.scripted["westus"].on(thing, func(x received) string {
		if x.method == "DELETE" {
			return ok(202, "", "Location: "+w.scripted["westus"].url+S+"/providers/Contoso.Raw/locations/westus/operationResults/words?"+V, "Retry-After: 600")
		}
		return ok(200, `{"id":"`+thing+`","name":"words-of-deletion","location":"westus","properties":{"provisioningState":"Deleting"}}`)
	})
	w.scripted["westus"].on("/operationResults/words", always(ok(202, "", "Retry-After: 600")))
	polled := accepted(t, w.send(t, message{method: "DELETE", target: g + q}))
	w.awaits(t, "DELETE", thing) // then the deletion is told to wait, and makes no calls of its own
	refused := want{status: 409, code: "ResourceGroupBeingDeleted",
		text: "The resource group 'words-of-deletion' is in deprovisioning state and cannot perform this operation.", about: "resourceGroupName"}
	const v = "?" + V
	w.table(t, []row{
		{"put the group", message{method: "PUT", target: g + q, body: located("westus")}, refused},
		{"patch the group", message{method: "PATCH", target: g + q, body: `{"tags":{}}`}, refused},
		{"a new resource", message{method: "PUT", target: g + "/providers/Contoso.Raw/things/new" + v, body: located("westus")}, refused},
		{"put", message{method: "PUT", target: thing + v, body: located("westus")}, refused},
		{"patch", message{method: "PATCH", target: thing + v, body: `{"tags":{}}`}, refused},
		{"action", message{method: "POST", target: thing + "/act" + v}, refused},
		{"delete", message{method: "DELETE", target: thing + v}, refused},
		{"read the group", message{target: g + q}, want{status: 200, check: func(t *testing.T, got reply, _ []received) {
			if !strings.Contains(string(got.body), `"properties":{"provisioningState":"Deleting"}`) {
				t.Errorf("%s", got)
			}
		}}},
		{"poll", message{target: polled}, want{status: 202, check: func(t *testing.T, got reply, _ []received) {
			if again := accepted(t, got); again != polled {
				t.Errorf("the Location became %s, it was %s", again, polled)
			}
		}}},
		{"delete the group again", message{method: "DELETE", target: g + q}, want{status: 202, either: true, check: func(t *testing.T, got reply, _ []received) {
			if again := accepted(t, got); again == polled {
				t.Errorf("two callers share %s", again)
			}
		}}},
	})

	t.Run("to its end", func(t *testing.T) {
		g := w.group(t, "words-of-its-end")
		w.machine(t, g, "n", "westus")
		w.machine(t, g, "m", "eastus")
		got := w.ends(t, accepted(t, w.send(t, message{method: "DELETE", target: g + q})))
		if got.status != 200 || len(got.body) != 0 || got.header.Get("Content-Length") != "0" {
			t.Errorf("want a bodiless 200: %s", got)
		}
		ownAnswer(t, got)
		w.run(t, row{message: message{target: g + q}, want: want{status: 404, code: "ResourceGroupNotFound", text: "Resource group 'words-of-its-end' could not be found."}})
	})
}

func (w *world) wordsOfABlockedDeletion(t *testing.T) {
	const q = "?api-version=2021-04-01"
	g := w.group(t, "words-of-a-blocked-one")
	a, b := w.thing(t, g, "words-of-a", "westus"), w.thing(t, g, "words-of-b", "eastus")
	const more = `[{"code":"InUse","message":"By \"b\".","target":"b"}]`
	const word = `{"error":{"code":"InUseCannotBeDeleted","message":"It is \"in use\".","details":` + more + `}}`
	for region, thing := range map[string]string{"westus": a, "eastus": b} {
		w.scripted[region].on(thing, func(x received) string {
			if x.method == "DELETE" {
				return ok(409, word)
			}
			return ok(200, `{"id":"`+thing+`","name":"x","location":"`+region+`","properties":{}}`)
		})
	}
	got := w.ends(t, accepted(t, w.send(t, message{method: "DELETE", target: g + q})))
	ownAnswer(t, got)
	if got.status != 409 || got.header.Get("x-ms-failure-cause") != "gateway" {
		t.Errorf("want 409: %s", got)
	}
	detail := func(id string) string {
		return `{"code":"InUseCannotBeDeleted","target":"` + id + `","message":"It is \"in use\".","details":` + more + `,"additionalInfo":null}`
	}
	want := "^" + quoteMeta(`{"error":{"code":"ResourceGroupDeletionBlocked","message":"Deletion of resource group 'words-of-a-blocked-one' failed as resources with identifiers `+
		`'Contoso.Raw/things/words-of-a,Contoso.Raw/things/words-of-b' could not be deleted. The provisioning state of the resource group will be rolled back. The tracking Id is '`) +
		"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}" + quoteMeta(`'. Please check audit logs for more details.","details":[`+detail(a)+","+detail(b)+`]}}`) + "$"
	if !regexp.MustCompile(want).Match(got.body) {
		t.Errorf("got  %s\nwant %s", got.body, want)
	}
	w.run(t, row{message: message{target: g + q}, want: wantState("Succeeded")})
}

// wantState is a group in that state.
func wantState(state string) want {
	return want{status: 200, check: func(t *testing.T, got reply, _ []received) {
		if !strings.Contains(string(got.body), `"properties":{"provisioningState":"`+state+`"}`) {
			t.Errorf("want %s: %s", state, got)
		}
	}}
}

func (w *world) wordsOfMoves(t *testing.T) {
	const q = "?api-version=2021-04-01"
	from, to := w.group(t, "words-of-moves"), w.group(t, "words-of-their-target")
	vm := w.machine(t, from, "n", "westus")
	w.must(t, message{method: "PUT", target: vm + "/disks/d?" + V, body: `{"properties":{}}`}, 201)
	ask := func(target string, ids ...string) string {
		return `{"targetResourceGroup":"` + target + `","resources":["` + strings.Join(ids, `","`) + `"]}`
	}
	linked := func(id, path string) want {
		return want{status: 400, code: "LinkedInvalidPropertyId", about: path,
			text: "Property id '" + id + "' at path '" + path + "' is invalid. Expect fully qualified resource Id that start with '/subscriptions/{subscriptionId}' or '/providers/{resourceProviderNamespace}/'."}
	}
	for _, action := range []string{"/moveResources", "/validateMoveResources"} {
		post := func(body string) message { return message{method: "POST", target: from + action + q, body: body} }
		w.table(t, []row{
			{action + " to no group", post(ask("elsewhere", vm)), linked("elsewhere", "targetResourceGroup")},
			{action + " of no resource", post(ask(to, vm, "elsewhere")), linked("elsewhere", "resources[1]")},
		})
		got := w.ends(t, accepted(t, w.send(t, post(ask(to, vm)))))
		if got.status != 204 || len(got.body) != 0 {
			t.Fatalf("%s: want 204: %s", action, got)
		}
		ownAnswer(t, got)
		if action == "/validateMoveResources" {
			continue
		}
		w.run(t, row{message: message{target: vm + "?" + V}, want: want{status: 404, code: "ResourceNotFound"}})
		from, to = to, from
		vm = from + strings.TrimPrefix(vm, to)
		w.run(t, row{message: message{target: vm + "?" + V}, want: want{status: 200, reaches: "westus", check: body("id", vm, "name", "n")}})
	}
}

// A provider's refusal of a move appears verbatim in a detail.
func (w *world) wordsOfARefusedMove(t *testing.T) {
	const q = "?api-version=2021-04-01"
	from, to := w.group(t, "words-of-a-refused-move"), w.group(t, "words-of-its-target")
	vm, nic := w.machine(t, from, "n", "westus"), from+"/providers/Contoso.Compute/networkInterfaces/n"
	w.must(t, message{method: "PUT", target: nic + "?" + V, body: located("westus")}, 201)
	w.must(t, message{method: "PUT", target: vm + "?" + V, body: `{"location":"westus","properties":{"linkedTo":"` + nic + `"}}`}, 200)
	got := w.ends(t, accepted(t, w.send(t, message{method: "POST", target: from + "/validateMoveResources" + q, body: `{"targetResourceGroup":"` + to + `","resources":["` + vm + `"]}`})))
	ownAnswer(t, got)
	const anID = `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`
	want := "^" + quoteMeta(`{"error":{"code":"ResourceMoveProviderValidationFailed","message":"Resource move validation failed. Please see details. Diagnostic information: timestamp '`) + `\d{8}T\d{6}Z` +
		quoteMeta("', subscription id '"+subscription+"', tracking id '") + anID + "', request correlation id '" + anID +
		quoteMeta(`'.","details":[{"code":null,"target":"Contoso.Compute/virtualMachines","message":"{\"error\":{\"code\":\"MissingMoveDependentResources\",\"message\":`+
			`\"The move resources request does not contain all the dependent resources. Please check error details for missing resource ids.\",`)
	if got.status != 409 || !regexp.MustCompile(want).Match(got.body) {
		t.Errorf("got  %s\nwant 409 %s", got, want)
	}
	if f := got.failure(t).Error; len(f.Details) != 1 || !strings.Contains(f.Details[0].Message, `"target":"`+nic+`"`) {
		t.Errorf("the detail does not name %s: %s", nic, got.body)
	}
}
