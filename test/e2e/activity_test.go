package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// activityEvent is an event of the activity log.
type activityEvent struct {
	Caller, CorrelationID, OperationID, ResourceID, SubscriptionID string
	OperationName, Status                                          struct{ Value string }
	HTTPRequest                                                    struct{ Method, URI string }
	Claims, Properties                                             map[string]string
}

// story is the activity log of what a filter leaves, in the order in which it happened.
func story(t *testing.T, w *harness.World, token harness.Token, filter string) []activityEvent {
	t.Helper()
	return storyIn(t, w, token, harness.SubscriptionID, filter)
}

// storyIn is story of a subscription.
func storyIn(t *testing.T, w *harness.World, token harness.Token, sub, filter string) (all []activityEvent) {
	t.Helper()
	target := "/subscriptions/" + sub + "/providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01&$top=7"
	if filter != "" {
		target += "&$filter=" + url.QueryEscape(filter)
	}
	for target != "" {
		a := w.Portico.Do(t, harness.Request{Path: target, Header: harness.Header("Authorization", "Bearer "+token.Raw)}).Want(t, 200)
		var page struct {
			Value    []activityEvent
			NextLink string
		}
		harness.OK(t, json.Unmarshal(a.Body, &page))
		all = append(all, page.Value...)
		link, err := url.Parse(page.NextLink)
		harness.OK(t, err)
		target = link.RequestURI()
		if page.NextLink == "" {
			target = ""
		}
	}
	slices.Reverse(all)
	return all
}

// words are events as lines: what was done, how it went, the error's code, by whom.
func words(all []activityEvent) (lines []string) {
	for _, e := range all {
		line := e.OperationName.Value + " " + e.Status.Value
		if message := e.Properties["statusMessage"]; message != "" {
			var body struct{ Error struct{ Code string } }
			_ = json.Unmarshal([]byte(message), &body) // then it has no code
			line += " " + body.Error.Code
		}
		lines = append(lines, line+" by "+e.Caller)
	}
	return lines
}

// The activity log tells the story of what was asked, allowed, refused, accepted, failed,
// moved and deleted, by whom, although the gateway is killed on the way.
func TestActivityLogTellsTheStory(t *testing.T) {
	t.Parallel()
	w := movers(t, harness.WorldOptions{Config: harness.Config{Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID}}})
	do := func(token harness.Token, method, path, body string, header ...string) harness.Answer {
		t.Helper()
		version := ownVersion
		if strings.Contains(path, "Contoso.") && !strings.Contains(path, "/providers/Microsoft.") {
			version = "?api-version=" + harness.Version
		}
		return w.Portico.Do(t, harness.Request{Method: method, Path: path + version, Body: body, Header: harness.Header(append(header, "Authorization", "Bearer "+token.Raw)...)})
	}
	crash := func() { w.Portico.Kill(t); w.Portico.Restart(t) }
	await := func(filter, last string) []activityEvent {
		t.Helper()
		var all []activityEvent
		harness.Await(t, 2*time.Minute, last, func() bool {
			all = story(t, w, alice, filter)
			return slices.ContainsFunc(words(all), func(line string) bool { return strings.HasPrefix(line, last) })
		})
		return all
	}
	const correlation = "00000000-0000-0000-0000-0000000000e2"
	g, vm := w.GroupPath("g"), w.ResourcePath("g", machines+"vm")
	lock := g + "/providers/Microsoft.Authorization/locks/l"
	do(alice, http.MethodPut, g, `{"location":"westus"}`).Want(t, 201)
	do(alice, http.MethodPut, w.GroupPath("target"), `{"location":"westus"}`).Want(t, 201)
	do(alice, http.MethodPut, vm, body("eastus")).Want(t, 201)
	do(alice, http.MethodPut, lock, `{"properties":{"level":"CanNotDelete"}}`).Want(t, 201)
	do(alice, http.MethodDelete, vm, "").WantError(t, 409, "ScopeLocked")
	crash()
	do(alice, http.MethodDelete, lock, "").Want(t, 200)
	do(alice, http.MethodPut, g+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000d1", fmt.Sprintf(
		`{"properties":{"principalId":%q,"principalType":"User","roleDefinitionId":"%s/providers/Microsoft.Authorization/roleDefinitions/%s"}}`, dora.ObjectID, w.SubscriptionPath(), readerRole)).Want(t, 201)
	harness.Await(t, roleBound, "dora reads", func() bool { return do(dora, http.MethodGet, vm, "").Status == 200 })
	do(dora, http.MethodDelete, vm, "").WantError(t, 403, "AuthorizationFailed")
	do(alice, http.MethodPut, g, `{"location":"westus"}`, "If-None-Match", "*").WantError(t, 412, "PreconditionFailed")
	do(alice, http.MethodPost, vm+"/start", "").Want(t, 200)
	// An update that is accepted and fails, while the gateway is killed, and another caller
	// looks at the resource.
	do(alice, http.MethodPut, vm, body("eastus"), "X-Contoso-Async", "accepted-async", "X-Contoso-Duration", "1s", "X-Contoso-Outcome", "Failed", "x-ms-correlation-request-id", correlation).Want(t, 202)
	crash()
	do(dora, http.MethodGet, vm, "")
	failed := await("correlationId eq '"+correlation+"'", machines[:len(machines)-1]+"/write Failed")
	if len(failed) != 2 || failed[0].Status.Value != "Accepted" || failed[1].OperationID != failed[0].OperationID || failed[1].HTTPRequest != failed[0].HTTPRequest || failed[1].Caller != alice.Name {
		t.Errorf("the update that failed is told as %+v", failed)
	}
	if !strings.Contains(failed[len(failed)-1].Properties["statusMessage"], "OperationFailed") {
		t.Errorf("the provider's error is not told of: %+v", failed)
	}
	want := []string{
		"Contoso.Compute/virtualMachines/write Succeeded by " + alice.Name,
		"Contoso.Compute/virtualMachines/delete Failed ScopeLocked by " + alice.Name,
		"Contoso.Compute/virtualMachines/delete Failed AuthorizationFailed by " + dora.Name,
		"Contoso.Compute/virtualMachines/start/action Succeeded by " + alice.Name,
		"Contoso.Compute/virtualMachines/write Accepted by " + alice.Name,
		"Contoso.Compute/virtualMachines/write Failed OperationFailed by " + alice.Name,
	}
	ofVM := "resourceUri eq '" + vm + "'"
	if got := words(story(t, w, alice, ofVM)); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Fatalf("of the machine the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// It moves, with its group killed under way, and goes with its new group.
	harness.Await(t, time.Minute, "the move is accepted", func() bool {
		return do(alice, http.MethodPost, g+"/moveResources", fmt.Sprintf(`{"resources":[%q],"targetResourceGroup":%q}`, vm, w.GroupPath("target"))).Status == 202
	})
	crash()
	const groups = "Microsoft.Resources/subscriptions/resourceGroups"
	moved := words(await("resourceUri eq '"+g+"'", groups+"/moveResources/action Succeeded"))
	if !slices.Contains(moved, groups+"/moveResources/action Accepted by "+alice.Name) || !slices.Contains(moved, groups+"/moveResources/action Succeeded by "+alice.Name) ||
		!slices.Contains(moved, groups+"/write Failed PreconditionFailed by "+alice.Name) {
		t.Errorf("of the group the log says\n%s", strings.Join(moved, "\n"))
	}
	there := w.ResourcePath("target", machines+"vm")
	do(alice, http.MethodDelete, w.GroupPath("target"), "", "X-Contoso-Duration", "1s").Want(t, 202)
	crash()
	gone := await("resourceUri eq '"+w.GroupPath("target")+"'", groups+"/delete Succeeded")
	accepted, ended := gone[len(gone)-2], gone[len(gone)-1]
	if accepted.Status.Value != "Accepted" || ended.Caller != alice.Name || ended.CorrelationID != accepted.CorrelationID || ended.OperationID != accepted.OperationID || ended.Properties["job"] == "" {
		t.Errorf("the deletion of the group is told as %+v", gone)
	}
	last := story(t, w, alice, "resourceUri eq '"+there+"'")
	if e := last[len(last)-1]; e.OperationName.Value != "Contoso.Compute/virtualMachines/delete" || e.Status.Value != "Succeeded" || e.Caller != alice.Name || e.CorrelationID != accepted.CorrelationID {
		t.Errorf("the last event of the machine is %+v", e)
	}
}

// Who did it is told of callers with the same name, and of one who calls himself by
// another's id.
func TestCallersOfTheSameName(t *testing.T) {
	t.Parallel()
	issuer := harness.NewIssuer(t)
	const id = "00000000-0000-0000-0000-0000000000f"
	// The first is the operator of this test. The others show the ways in which issuers name callers.
	callers := []struct {
		shown  string
		claims []any
	}{
		{alice.Name, nil},
		{"alice@contoso.example", []any{"preferred_username", "alice@contoso.example", "upn", "else@contoso.example"}},
		{"smith@contoso.example", []any{"upn", "smith@contoso.example"}},
		{harness.IssuedToApp, []any{"idtyp", "app"}},
		{"Alice Smith", nil},
		{"Alice Smith", nil},
		{id + "6", []any{"preferred_username", id + "1"}},
	}
	owners := []string{alice.ObjectID}
	for i := range callers[1:] {
		owners = append(owners, id+fmt.Sprint(i+1))
	}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{TLS: true, Tokens: []harness.Token{alice}, Owners: owners, Auth: issuer.Auth("", "")}})
	for i, c := range callers[1:] {
		token := issuer.Token(t, append([]any{"name", "Alice Smith", "oid", owners[i+1]}, c.claims...)...)
		w.Portico.Do(t, harness.Request{
			Method: http.MethodPut, Path: w.GroupPath(fmt.Sprint("g", i+1)) + ownVersion, Header: bearer(token), Body: `{"location":"westus"}`,
		}).Want(t, 201)
	}
	by := func(who string) (groups []string) {
		for _, e := range story(t, w, alice, "caller eq '"+who+"'") {
			groups = append(groups, e.ResourceID[strings.LastIndex(e.ResourceID, "/")+1:])
		}
		return groups
	}
	for who, want := range map[string][]string{
		"alice@contoso.example": {"g1"}, "Smith@contoso.example": {"g2"}, harness.IssuedToApp: {"g3"}, "Alice Smith": {"g4", "g5"}, "else@contoso.example": nil,
		id + "1": {"g1"}, id + "2": {"g2"}, id + "3": {"g3"}, id + "4": {"g4"}, strings.ToUpper(id + "5"): {"g5"}, id + "6": {"g6"},
	} {
		if got := by(who); !slices.Equal(got, want) {
			t.Errorf("by %s: %v, want %v", who, got, want)
		}
	}
	for i, c := range callers[1:] {
		group := w.GroupPath(fmt.Sprint("g", i+1))
		logged := story(t, w, alice, "resourceUri eq '"+group+"'")
		if len(logged) != 1 || logged[0].Caller != c.shown || logged[0].Claims["http://schemas.microsoft.com/identity/claims/objectidentifier"] != owners[i+1] {
			t.Errorf("%d: the log says %+v", i+1, logged)
		}
		a := w.Portico.Do(t, harness.Request{Path: group + "/providers/Microsoft.Resources/changes?api-version=2022-05-01", Header: bearer(alice.Raw)}).Want(t, 200)
		var history struct {
			Value []struct {
				Properties struct {
					ChangeAttributes struct{ ChangedBy, ChangedByObjectID string }
				}
			}
		}
		if err := json.Unmarshal(a.Body, &history); err != nil || len(history.Value) != 1 {
			t.Fatalf("%v %s", err, a.Body)
		}
		if by := history.Value[0].Properties.ChangeAttributes; by.ChangedBy != c.shown || by.ChangedByObjectID != owners[i+1] {
			t.Errorf("%d: the history says %+v", i+1, by)
		}
	}
}
