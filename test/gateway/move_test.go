package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"portico/inventory"
	"portico/inventory/polls"
)

const (
	secondSubscription  = "00000000-0000-0000-0000-000000000002"
	deletedSubscription = "00000000-0000-0000-0000-000000000004"
	foreignSubscription = "00000000-0000-0000-0000-000000000003"
)

func moveTo(target string, ids ...string) string {
	text, _ := json.Marshal(map[string]any{"targetResourceGroup": target, "resources": ids})
	return string(text)
}

func groupIn(sub, name string) string { return "/subscriptions/" + sub + "/resourceGroups/" + name }

// seed makes a subscription.
func (s *site) seed(id, tenant string, state inventory.SubscriptionState) {
	s.t.Helper()
	if _, _, err := s.store.PutSubscription(s.t.Context(), inventory.Subscription{ID: id, TenantID: tenant, State: state}); err != nil {
		s.t.Fatal(err)
	}
}

// Each reason for which a move is refused has its status, code, text and target.
func TestMoveRefusals(t *testing.T) {
	s := newSite(t, setup{hurried: true, limits: "resourcesPerTypeAndGroup: 3"})
	for id, tenantOf := range map[string]string{secondSubscription: tenant, foreignSubscription: otherTenant} {
		must(t, s.store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: id, TenantID: tenantOf, Covered: true}}))
	}
	from, to := s.group("From"), s.group("to")
	far := groupIn(secondSubscription, "far")
	s.ok(201, "PUT", far+own, westus)
	m := s.machine("From", "m", "westus")
	s.ok(201, "PUT", m+"/disks/d"+api, `{}`)
	nic := from + "/providers/Contoso.Compute/networkInterfaces/n"
	s.ok(201, "PUT", nic+api, westus)
	other := s.machine("to", "x", "westus")
	missing := machinePath("From", "Gone")
	workspace := from + "/providers/Contoso.Insight/workspaces/w"
	var many []string
	for i := range 801 {
		many = append(many, machinePath("From", fmt.Sprint("m", i)))
	}
	target := func(code string) func() {
		return func() {
			s.seed(secondSubscription, tenant, map[string]inventory.SubscriptionState{"disabled": inventory.Disabled, "": inventory.Enabled}[code])
		}
	}
	lock := func(scope, level string) func() {
		return func() {
			s.ok(201, "PUT", scope+"/providers/Microsoft.Authorization/locks/L?api-version=2016-09-01", fmt.Sprintf(`{"properties":{"level":%q}}`, level))
		}
	}
	unlock := func(scope string) func() {
		return func() {
			s.ok(200, "DELETE", scope+"/providers/Microsoft.Authorization/locks/L?api-version=2016-09-01", "")
		}
	}
	for _, c := range []struct {
		name, body         string
		status             int
		code, text, target string
		before, after      func()
	}{
		{name: "no body", status: 400, code: "InvalidRequestContent", text: "Required property 'targetResourceGroup' not found", target: "targetResourceGroup"},
		{name: "not JSON", body: `{`, status: 400, code: "InvalidRequestContent"},
		{name: "an unknown member", body: `{"targetResourceGroup":"x","resources":[],"more":1}`, status: 400, code: "InvalidRequestContent", text: `'Could not find member 'more'. Path 'more', line 1, position 49.'`, target: "more"},
		{name: "no resources", body: `{"targetResourceGroup":"` + to + `"}`, status: 400, code: "InvalidRequestContent", text: "Required property 'resources' not found in JSON. Path ''", target: "resources"},
		{name: "null for resources", body: `{"targetResourceGroup":"` + to + `","resources":null}`, status: 400, code: "InvalidRequestContent", text: "Required property 'resources' not found in JSON. Path ''", target: "resources"},
		{name: "an empty list", body: `{"targetResourceGroup":"` + to + `","resources":[]}`, status: 400, code: "InvalidRequestContent", text: "The resources are a list of at least one resource ID. Path 'resources'", target: "resources"},
		{name: "a text for a list", body: `{"resources":"` + m + `","targetResourceGroup":"` + to + `"}`, status: 400, code: "InvalidRequestContent", text: "A value of the kind 'string' cannot stand here. Path 'resources', line 1, position ", target: "resources"},
		{name: "an object for a list", body: `{"targetResourceGroup":"` + to + `","resources":{"id":"` + m + `"}}`, status: 400, code: "InvalidRequestContent", text: "A value of the kind 'object' cannot stand here. Path 'resources', line 1, position ", target: "resources"},
		{name: "no text in the list", body: `{"targetResourceGroup":"` + to + `","resources":[{"id":"` + m + `"}]}`, status: 400, code: "InvalidRequestContent", text: "A value of the kind 'object' cannot stand here. Path 'resources[0]', line 1, position ", target: "resources[0]"},
		{name: "null in the list", body: `{"targetResourceGroup":"` + to + `","resources":["` + m + `",null]}`, status: 400, code: "LinkedInvalidPropertyId", text: "Property id '' at path 'resources[1]' is invalid.", target: "resources[1]"},
		{name: "a target that is no group", body: moveTo(m, m), status: 400, code: "LinkedInvalidPropertyId", text: "Property id '" + m + "' at path 'targetResourceGroup' is invalid.", target: "targetResourceGroup"},
		{name: "a target of no subscription", body: moveTo("/subscriptions/x/resourceGroups/g", m), status: 400, code: "LinkedInvalidPropertyId", target: "targetResourceGroup"},
		{name: "an id of no resource", body: moveTo(to, m, from), status: 400, code: "LinkedInvalidPropertyId", target: "resources[1]"},
		{name: "a name that no resource can have", body: moveTo(to, m+"."), status: 400, code: "LinkedInvalidPropertyId", target: "resources[0]"},
		{name: "a name that servers read in several ways", body: moveTo(to, m, m+"\u200b"), status: 400, code: "LinkedInvalidPropertyId", target: "resources[1]"},
		{name: "another group's resource", body: moveTo(far, m, other), status: 400, code: "CannotMoveResource", text: "is not in the resource group 'From'", target: other},
		{name: "the same group", body: moveTo(strings.ToUpper(from), m), status: 400, code: "CannotMoveResource", text: "is the source resource group", target: strings.ToUpper(from)},
		{name: "no such subscription", body: moveTo(groupIn("00000000-0000-0000-0000-0000000000ff", "g"), m), status: 400, code: "SubscriptionNotFound", text: "The subscription '00000000-0000-0000-0000-0000000000ff' could not be found."},
		{name: "another tenant", body: moveTo(groupIn(foreignSubscription, "g"), m), status: 400, code: "SubscriptionNotFound", text: "The subscription '" + foreignSubscription + "' could not be found.", target: groupIn(foreignSubscription, "g")},
		{name: "disabled", body: moveTo(far, m), status: 400, code: "ReadOnlyDisabledSubscription", target: far, before: target("disabled"), after: target("")},
		{name: "deleted", body: moveTo(groupIn(deletedSubscription, "g"), m), status: 400, code: "SubscriptionNotFound", target: groupIn(deletedSubscription, "g"),
			before: func() { s.seed(deletedSubscription, tenant, inventory.Deleted) }},
		{name: "another placement", body: moveTo(groupIn(secondSubscription, "none"), m), status: 400, code: "CannotMoveResource",
			text: "the subscription '" + secondSubscription + "' has other requirements for the location of its resources", target: groupIn(secondSubscription, "none"),
			before: func() {
				if _, _, err := s.store.PutSubscription(t.Context(), inventory.Subscription{ID: secondSubscription, TenantID: tenant, PlacementID: "Europe"}); err != nil {
					t.Fatal(err)
				}
			}, after: target("")},
		{name: "no such group", body: moveTo(to+"2", m), status: 400, code: "ResourceGroupNotFound", text: "Resource group 'to2' could not be found.", target: to + "2"},
		{name: "not registered", body: moveTo(far, workspace), status: 400, code: "MissingSubscriptionRegistration", target: "Contoso.Insight",
			text: "The target subscription '" + secondSubscription + "' is not registered to use namespace 'Contoso.Insight'. See https://aka.ms/rps-not-found for how to register subscriptions."},
		{name: "not registered there", body: moveTo(far, workspace), status: 400, code: "MissingRegistrationForLocation",
			text: "The target subscription '" + secondSubscription + "' is not registered for the resource type 'workspaces' in the location 'West US'. Re-register", before: func() {
				s.ok(200, "POST", inSubscription+"/providers/Contoso.Insight/register"+own, "")
				s.ok(201, "PUT", workspace+"?api-version=2024-06-01-preview", westus)
				if _, err := s.store.Register(t.Context(), inventory.RegistrationChange{
					Subscription: secondSubscription, Namespace: "contoso.insight",
					Targets: []inventory.NotificationTarget{{Namespace: "contoso.insight", Region: "eastus", Address: "http://127.0.0.1:1", Required: true}},
				}); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "a child", body: moveTo(to, m, m+"/disks/d"), status: 400, code: "ResourceNotTopLevel", text: "Identifier '" + m + "/disks/d' is not a top level resource.", target: m + "/disks/d"},
		{name: "an extension", body: moveTo(to, m+"/providers/Contoso.Insight/diagnosticSettings/s"), status: 400, code: "ResourceNotTopLevel"},
		{name: "a type that does not move", body: moveTo(to, m, nic), status: 400, code: "ResourceMoveValidationFailed", text: "Resource move is not supported for resource types 'Contoso.Compute/networkInterfaces'", target: "Contoso.Compute/networkInterfaces"},
		{name: "a type that no one knows", body: moveTo(to, from+"/providers/Contoso.Other/things/t"), status: 400, code: "ResourceMoveValidationFailed", text: "'Contoso.Other/things'"},
		{name: "too many", body: moveTo(to, many...), status: 400, code: "CannotMoveResource", text: "at most 800", target: "resources"},
		{name: "quota", body: moveTo(to, m), status: 409, code: "ResourceQuotaExceeded", text: "would exceed the quota of 3 resources of type Contoso.Compute/virtualMachines", target: "Contoso.Compute/virtualMachines",
			before: func() { s.machine("to", "y", "westus"); s.machine("to", "z", "westus") },
			after: func() {
				s.ok(200, "DELETE", machinePath("to", "y")+api, "")
				s.ok(200, "DELETE", machinePath("to", "z")+api, "")
			}},
		{name: "its id is taken", body: moveTo(to, m), status: 409, code: "RequestConflict", text: "the target resource group has a resource of this name and type", target: m,
			before: func() { s.machine("to", "M", "eastus") }, after: func() { s.ok(200, "DELETE", machinePath("to", "m")+api, "") }},
		{name: "a lock on the source", body: moveTo(to, m), status: 409, code: "ScopeLocked", text: "The scope '" + m + "' cannot perform write operation because following scope(s) are locked: '" + from + "'.", target: m,
			before: lock(from, "ReadOnly"), after: unlock(from)},
		{name: "a lock below a resource", body: moveTo(to, m), status: 409, code: "ScopeLocked", target: m, before: lock(m+"/disks/d", "ReadOnly"), after: unlock(m + "/disks/d")},
		{name: "a lock on the target", body: moveTo(to, m), status: 409, code: "ScopeLocked", text: "The scope '" + to + "' cannot perform write operation", target: to,
			before: lock(to, "ReadOnly"), after: unlock(to)},
		{name: "a resource that is not there", body: moveTo(to, m, missing), status: 404, code: "ResourceNotFound", text: "The Resource 'Contoso.Compute/virtualMachines/Gone' under resource group 'From' was not found.", target: missing},
	} {
		if c.before != nil {
			c.before()
		}
		for _, action := range []string{"/moveResources", "/validateMoveResources", "/MOVERESOURCES"} {
			got := s.do("POST", from+action+own, c.body)
			var reported struct {
				Error struct{ Code, Message, Target string }
			}
			if err := json.Unmarshal([]byte(got.text), &reported); err != nil {
				t.Fatalf("%s: %s", c.name, got.text)
			}
			if got.status != c.status || reported.Error.Code != c.code || !strings.Contains(reported.Error.Message, c.text) || c.target != "" && reported.Error.Target != c.target ||
				got.header.Get("X-Ms-Failure-Cause") != "gateway" {
				t.Errorf("%s: %d %s %v, want %d %s %q %q", c.name, got.status, got.text, got.header.Get("X-Ms-Failure-Cause"), c.status, c.code, c.text, c.target)
			}
		}
		if c.after != nil {
			c.after()
		}
	}
	s.want(405, "MethodNotAllowed", "GET", from+"/moveResources"+own, "")
	s.want(404, "ResourceGroupNotFound", "POST", groupPath("none")+"/moveResources"+own, moveTo(to, m))
	s.want(400, "MissingApiVersionParameter", "POST", from+"/moveResources", moveTo(to, m))

	// Other work on either group.
	id := s.store
	if _, err := id.Moves.Begin(t.Context(), inventory.MoveRequest{
		Source: inventory.GroupName{Subscription: subscription, Name: "to"}, Target: inventory.GroupName{Subscription: secondSubscription, Name: "far"},
		Keys: []string{other}, Payload: func(_, _ inventory.Group) string { return "{}" }, Operation: polls.Operation{Token: "x", Until: s.clock.now().Add(hour)},
	}); err != nil {
		t.Fatal(err)
	}
	s.want(409, "ResourcesBeingMoved", "POST", from+"/moveResources"+own, moveTo(to, m))
	s.want(409, "ResourcesBeingMoved", "POST", to+"/moveResources"+own, moveTo(from, other))
	for _, write := range [][2]string{{"PUT", other}, {"DELETE", other}, {"PATCH", other}, {"POST", other + "/start"}, {"PUT", machinePath("to", "new")}, {"PUT", to}, {"DELETE", to}, {"PATCH", to}} {
		s.want(409, "ResourcesBeingMoved", write[0], write[1]+api, westus)
	}
	s.ok(200, "GET", other+api, "")
	if text := s.ok(200, "GET", to+own, "").text; !strings.Contains(text, `"MovingResources"`) {
		t.Errorf("%s", text)
	}
	s.want(409, "ResourcesBeingMoved", "PUT", to+"/providers/Microsoft.Authorization/locks/L?api-version=2016-09-01", `{"properties":{"level":"ReadOnly"}}`)
}

// To anybody but who began it a move does not exist.
func TestMoveIsItsCallersAlone(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	started := []string{"Authorization", bearer(secret)}
	for _, name := range []string{"from", "to"} {
		s.ok(201, "PUT", groupPath(name)+own, westus, started...)
	}
	s.ok(201, "PUT", machinePath("from", "m")+api, westus, started...)
	got := s.ok(202, "POST", groupPath("from")+"/moveResources"+own, moveTo(groupPath("to"), machinePath("from", "m")), started...)
	location, status := s.resultOf(got), s.statusOf(got)
	if got.text != "" || got.header.Get("Retry-After") != "1" || !strings.HasPrefix(location, inSubscription+"/operationresults/") || len(got.header["Azure-Asyncoperation"]) != 0 {
		t.Errorf("%s %v", got.text, got.header)
	}
	for _, url := range []string{location, status} {
		s.want(404, "HttpResourceNotFound", "GET", url, "", "Authorization", bearer(second))
		s.want(404, "SubscriptionNotFound", "GET", url, "", "Authorization", bearer(stranger))
	}
	if again := s.ok(202, "GET", location, "", started...); s.local(again.header.Get("Location")) != location || again.header.Get("Retry-After") != "1" {
		t.Errorf("%v", again.header)
	}
	now := decode[moveStatus](t, s.ok(200, "GET", status, "", started...))
	if now.Status != "Moving" || now.Total != 1 || now.Waiting != 1 || now.EndTime != nil {
		t.Errorf("%+v", now)
	}
}
