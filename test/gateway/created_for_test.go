package gateway_test

import (
	"strings"
	"testing"

	"portico/inventory"
)

// In a provider's internal subscription a resource has to say for which resource
// of a customer it was made, in whichever way it is written.
func TestResourceCreatedFor(t *testing.T) {
	s := newSite(t, setup{})
	const internal = "00000000-0000-0000-0000-0000000000ee"
	s.subscribe(internal, tenant, inventory.Enabled)
	inside := func(path string) string { return strings.Replace(path, subscription, internal, 1) }
	g, m := inside(groupPath("g")), inside(machinePath("g", "m"))
	s.ok(201, "PUT", g+own, eastus)
	const customers = `"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Contoso.Insight/clusters/c"`
	const missing = "The tag resourceCreatedFor is required in this subscription."
	const malformed = "The value of the tag resourceCreatedFor is not the fully qualified ID of a resource."

	refused := func(method, target, body, reason string) {
		t.Helper()
		s.at("eastus").requests()
		got := s.want(403, "RequestDisallowedByPolicy", method, target, body)
		if want := `"message":"Resource 'm' was disallowed by policy. Reasons: '` + reason + `'.","target":"tags.resourceCreatedFor"`; !strings.Contains(got.text, want) {
			t.Errorf("%s", got.text)
		}
		if got.header.Get("X-Ms-Failure-Cause") != "gateway" {
			t.Errorf("%v", got.header)
		}
		for _, call := range s.at("eastus").requests() {
			if call.Method != "GET" {
				t.Errorf("%s reached the provider", call.Method)
			}
		}
	}
	for _, c := range []struct{ tags, reason string }{
		{``, missing}, {`,"tags":null`, missing}, {`,"tags":{}`, missing}, {`,"tags":{"a":` + customers + `}`, missing},
		{`,"tags":{"resourceCreatedFor":""}`, malformed}, {`,"tags":{"resourceCreatedFor":"c"}`, malformed},
		{`,"tags":{"resourceCreatedFor":"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g"}`, malformed},
	} {
		refused("PUT", m+api, `{"location":"eastus"`+c.tags+`}`, c.reason)
	}
	s.ok(201, "PUT", m+api, `{"location":"eastus","tags":{"RESOURCECreatedFor":`+customers+`,"a":"1"}}`)
	s.ok(200, "PUT", m+api, `{"location":"eastus","tags":{"resourceCreatedFor":`+customers+`}}`)

	for _, tags := range []string{`{}`, `null`, `{"a":"1"}`} {
		refused("PATCH", m+api, `{"tags":`+tags+`}`, missing)
	}
	refused("PATCH", m+api, `{"tags":{"resourceCreatedFor":"x"}}`, malformed)
	s.ok(200, "PATCH", m+api, `{"kind":"worker"}`) // leaves it as it is
	s.ok(200, "PATCH", m+api, `{"tags":{"resourceCreatedFor":`+customers+`,"b":"2"}}`)

	// Nor can it be dropped by the tags of the scope.
	at := m + tagsAt + own
	refused("DELETE", at, "", missing)
	refused("PUT", at, `{"properties":{"tags":{"a":"1"}}}`, missing)
	refused("PATCH", at, `{"operation":"Delete","properties":{"tags":{"RESOURCEcreatedfor":""}}}`, missing)
	s.ok(200, "PATCH", at, `{"operation":"Merge","properties":{"tags":{"c":"3"}}}`)
	if got := s.ok(200, "GET", m+api, "").text; !strings.Contains(got, `"resourceCreatedFor":`+customers) || !strings.Contains(got, `"c":"3"`) {
		t.Error(got)
	}

	// What has no tags of its own, or is no resource, needs none; nor do others'
	// subscriptions.
	s.ok(201, "PUT", m+"/disks/d"+api, `{}`)
	s.ok(201, "PUT", m+"/runCommands/r"+api, `{}`)
	s.ok(200, "PUT", g+tagsAt+own, `{"properties":{"tags":{}}}`)
	s.ok(200, "POST", m+"/start"+api, "")
	s.ok(200, "DELETE", m+api, "")
	s.group("g")
	s.machine("g", "m", "eastus")
	// Who cannot see the subscription does not learn of it either.
	s.subscribe(internal, tenant, inventory.Deleted)
	s.want(404, "SubscriptionNotFound", "PUT", m+api, eastus)
}
