package gateway_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/gateway/frontdoor/tags"
	"portico/inventory"
	"portico/routing"
)

const tagsAt = "/providers/Microsoft.Resources/tags/default"

type tagMap = map[string]string

func TestTags(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("G")
	m := s.machine("G", "M", "eastus")
	for _, scope := range []string{inSubscription, g, m} {
		at := scope + tagsAt + own
		var etag string
		is := func(got seen, want tagMap) {
			t.Helper()
			body := decode[tagsBody](t, got)
			if body.ID != scope+tagsAt || body.Name != "default" || body.Type != "Microsoft.Resources/tags" || body.Properties.Tags == nil || !maps.Equal(body.Properties.Tags, want) {
				t.Errorf("%s", got.text)
			}
			if body.ETag == "" || body.ETag == etag || got.header.Get("ETag") != body.ETag || got.header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("tag %s before, now %s, %v", etag, body.ETag, got.header)
			}
			etag = body.ETag
		}
		is(s.ok(200, "GET", at, ""), tagMap{})
		is(s.ok(200, "PUT", at, `{"properties":{"tags":{"Env":"prod","b":"2"}}}`), tagMap{"Env": "prod", "b": "2"})
		is(s.ok(200, "PATCH", at, `{"operation":"Merge","properties":{"tags":{"ENV":"test","c":""}}}`), tagMap{"ENV": "test", "b": "2", "c": ""})
		is(s.ok(200, "PATCH", at, `{"operation":"delete","properties":{"tags":{"b":"2","c":null,"env":"prod"}}}`), tagMap{"ENV": "test"})
		is(s.ok(200, "PATCH", at, `{"operation":"Replace","properties":{"tags":{"d":"4"}}}`), tagMap{"d": "4"})
		got := s.ok(200, "GET", strings.ToLower(scope)+strings.ToUpper(tagsAt)+own, "")
		if got.header.Get("ETag") != etag {
			t.Errorf("another tag at another casing: %s", got.text)
		}
		s.ok(304, "GET", at, "", "If-None-Match", etag)
		s.want(412, "PreconditionFailed", "PATCH", at, `{}`, "If-Match", `"other"`) // judged before the content
		s.want(412, "PreconditionFailed", "DELETE", at, "", "If-Match", `"other"`)
		s.want(412, "PreconditionFailed", "PUT", at, `{"properties":{"tags":{}}}`, "If-None-Match", "*")
		s.ok(200, "PUT", at, got.text, "If-Match", etag) // what was read can be written
		for _, bad := range []struct{ method, body, code string }{
			{"PUT", `{}`, "InvalidRequestContent"},
			{"PUT", `{"properties":{"tags":{}},"operation":"Merge"}`, "InvalidRequestContent"},
			{"PUT", `{"properties":{"tags":{}},"name":"other"}`, "InvalidRequestContent"},
			{"PUT", `{"properties":{"tags":{}},"id":"/subscriptions/x"}`, "InvalidRequestContent"},
			{"PUT", `{"properties":{"tags":{"a":1}}}`, "InvalidRequestContent"},
			{"PUT", `{"tags":{}}`, "InvalidRequestContent"},
			{"PUT", `{"properties":{"tags":{"a":"1","A":"2"}}}`, "InvalidRequestContent"},
			{"PUT", `{"properties":{"tags":{"a<b":"1"}}}`, "InvalidTagNameCharacters"},
			{"PUT", `{"properties":{"tags":{"` + strings.Repeat("n", 513) + `":"1"}}}`, "InvalidTagNameLength"},
			{"PUT", `{"properties":{"tags":{"a":"` + strings.Repeat("v", 257) + `"}}}`, "InvalidTagValueLength"},
			{"PUT", `{"properties":{"tags":{` + tagsNumbered(51) + `}}}`, "TagCountExceeded"},
			{"PATCH", `{"operation":"Merge","properties":{"tags":{` + tagsNumbered(50) + `}}}`, "TagCountExceeded"},
			{"PUT", `{"properties":{"tags":{"a":null}}}`, "InvalidRequestContent"},
			{"PUT", `{"properties":null}`, "InvalidRequestContent"},
			{"PATCH", `{"operation":"Merge","properties":{"tags":{"a":"1","d":null}}}`, "InvalidRequestContent"},
			{"PATCH", `{"operation":"Replace","properties":{"tags":{"a":null}}}`, "InvalidRequestContent"},
			{"PATCH", `{"operation":"Replace","properties":null}`, "InvalidRequestContent"},
			{"PATCH", `{"properties":{"tags":{}}}`, "InvalidRequestContent"},
			{"PATCH", `{"operation":"Add","properties":{"tags":{}}}`, "InvalidRequestContent"},
		} {
			s.want(400, bad.code, bad.method, at, bad.body)
		}
		s.want(405, "MethodNotAllowed", "POST", at, "{}")
		s.want(404, "InvalidResourceType", "GET", scope+"/providers/Microsoft.Resources/tags/other"+own, "")
		s.want(400, "MissingApiVersionParameter", "GET", scope+tagsAt, "")
		if got := s.ok(200, "GET", at, ""); got.header.Get("ETag") != etag {
			t.Error("something that was refused has changed the tags")
		}
		if got := s.ok(200, "DELETE", at, ""); got.text != "" || got.header.Get("Content-Length") != "0" {
			t.Errorf("%+v", got)
		}
		is(s.ok(200, "GET", at, ""), tagMap{})
	}
	s.want(404, "ResourceGroupNotFound", "GET", groupPath("none")+tagsAt+own, "")
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		s.want(404, "ResourceNotFound", method, machinePath("G", "none")+tagsAt+own, `{"operation":"Merge","properties":{"tags":{}}}`)
		got := s.want(400, "TagsNotSupported", method, m+"/runCommands/r"+tagsAt+own, `{"operation":"Merge","properties":{"tags":{}}}`)
		if !strings.Contains(got.text, "The resource type 'Contoso.Compute/virtualMachines/runCommands' does not support tags.") {
			t.Error(got.text)
		}
	}
}

func tagsNumbered(n int) string {
	var tags []string
	for i := range n {
		tags = append(tags, fmt.Sprintf(`"t%d":""`, i))
	}
	return strings.Join(tags, ",")
}

// What stands on a group, a resource or a subscription shows on that itself.
func TestTagsShow(t *testing.T) {
	s := newSite(t, setup{})
	g, name := s.group("G"), "a name#with (all) ünd +"
	m := groupPath("G") + "/providers/Contoso.Compute/virtualMachines/" + strings.NewReplacer(" ", "%20", "#", "%23", "ü", "%C3%BC").Replace(name)
	s.ok(201, "PUT", m+api, eastus)
	before := s.ok(200, "GET", g+own, "").header.Get("ETag")
	for _, scope := range []string{inSubscription, g, m} {
		s.ok(200, "PUT", scope+tagsAt+own, `{"properties":{"tags":{"Env":"prod"}}}`)
	}
	for _, target := range []string{inSubscription + own, g + own, m + api} {
		if body := decode[struct{ Tags tagMap }](t, s.ok(200, "GET", target, "")); body.Tags["Env"] != "prod" {
			t.Errorf("%s: %v", target, body)
		}
	}
	if got := s.ok(200, "GET", g+own, "").header.Get("ETag"); got == before {
		t.Error("the group has the same entity tag with other tags")
	}
	if got := s.ok(200, "GET", "/subscriptions"+own, "").text; !strings.Contains(got, `"tags":{"Env":"prod"}`) {
		t.Error(got)
	}
	row, _ := s.row(groupPath("G") + "/providers/Contoso.Compute/virtualMachines/" + name)
	if row.Details.Tags["Env"] != "prod" || !firm(row) {
		t.Errorf("the index has %+v", row)
	}
	if got := s.names(inSubscription + "/resources" + own + "&$filter=tagName%20eq%20'env'"); got != name {
		t.Errorf("%q", got)
	}
}

// Changes of a resource's tags go the way of the client's own PATCH: its
// provider decides, and what it refuses is refused in its words.
func TestTagsOfResources(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	m := s.machine("g", "m", "eastus")
	at := m + tagsAt + own
	merge := func(tags string) string { return `{"operation":"Merge","properties":{"tags":` + tags + `}}` }
	s.at("eastus").requests()
	s.ok(200, "PATCH", at, merge(`{"a":"1"}`), "x-ms-correlation-request-id", "11111111-2222-3333-4444-555555555555", "If-None-Match", `"x"`)
	calls := s.at("eastus").requests()
	if len(calls) != 2 || calls[0].Method != "GET" || calls[1].Method != "PATCH" {
		t.Fatalf("%+v", calls)
	}
	for _, call := range calls {
		if call.Path != m || !strings.HasPrefix(call.Headers.Get("Referer"), "http://portico.example"+m+"?api-version=") ||
			call.Headers.Get("X-Ms-Correlation-Request-Id") != "11111111-2222-3333-4444-555555555555" || call.Headers.Get("If-None-Match") != "" {
			t.Errorf("%+v", call)
		}
	}
	if calls[1].Headers.Get("If-Match") == "" || !strings.Contains(calls[1].Headers.Get("X-Ms-Arm-Resource-System-Data"), "lastModifiedAt") {
		t.Errorf("%+v", calls[1])
	}
	// The provider refuses.
	s.at("eastus").fault("PATCH", "/m", "status=403")
	if got := s.do("PATCH", at, merge(`{"b":"2"}`)); got.status != 403 || got.header.Get("X-Ms-Failure-Cause") != "service" || got.code == "" {
		t.Errorf("%+v", got)
	}
	// Or takes its time: its own operation is the client's to follow.
	s.at("eastus").fault("PATCH", "/m", "async=location")
	if got := s.do("PATCH", at, merge(`{"c":"3"}`)); got.status != 202 || !strings.HasPrefix(got.header.Get("Location"), "http://portico.example/") {
		t.Errorf("%+v", got)
	}
	s.at("eastus").clock.advance(hour)
	for fault, code := range map[string]string{"reset-after": "BadGatewayConnection", "bad-json": "InvalidProviderResponse"} {
		s.at("eastus").fault("PATCH", "/m", fault)
		s.want(502, code, "PATCH", at, merge(`{"d":"4"}`))
	}

	// Locks on the resource or above forbid it; one against deletion leaves the
	// tags to be changed, but not to be deleted.
	g := groupPath("g")
	s.ok(201, "PUT", g+lockPlace+"/l"+own, canNotDelete)
	s.ok(200, "PUT", at, `{"properties":{"tags":{}}}`)
	for _, scope := range []string{g, m} {
		s.want(409, "ScopeLocked", "DELETE", scope+tagsAt+own, "")
	}
	// The PATCH that was cut off may still be applied; no one waits for that.
	s.ok(200, "PUT", g+lockPlace+"/l"+own, readOnly)
	for _, scope := range []string{g, m} {
		for _, method := range []string{"PUT", "PATCH", "DELETE"} {
			s.want(409, "ScopeLocked", method, scope+tagsAt+own, merge(`{}`))
		}
		s.ok(200, "GET", scope+tagsAt+own, "")
	}
	s.ok(200, "DELETE", g+lockPlace+"/l"+own, "")

	s.subscribe(subscription, tenant, inventory.Disabled)
	for _, scope := range []string{inSubscription, g, m} {
		s.want(409, "ReadOnlyDisabledSubscription", "PATCH", scope+tagsAt+own, merge(`{}`))
	}
}

// Changes that come together lose nothing, through whichever gateway they come
// and whether or not the provider knows entity tags.
func TestTagsMergedAtOnce(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	disk := m + "/disks/d"
	s.ok(201, "PUT", disk+api, `{}`)
	other := newSite(t, setup{path: s.path, beside: s})
	for _, scope := range []string{inSubscription, g, m, disk} {
		const n = 16
		var wait sync.WaitGroup
		for i := range n {
			wait.Go(func() {
				through := []*site{s, other}[i%2]
				got := through.do("PATCH", scope+tagsAt+own, fmt.Sprintf(`{"operation":"Merge","properties":{"tags":{"t%d":"%d"}}}`, i, i))
				if got.status != 200 {
					t.Errorf("%s %d: %d %s", scope, i, got.status, got.text)
				}
			})
		}
		wait.Wait()
		if tags := decode[tagsBody](t, s.ok(200, "GET", scope+tagsAt+own, "")).Properties.Tags; len(tags) != n {
			t.Errorf("%s: %v", scope, tags)
		}
	}
}

// Where the type has entity tags, a write that comes in between is not
// overwritten: the change begins anew.
func TestTagsOvertaken(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "eastus")
	s.at("eastus").fault("PATCH", "/m", "status=412")
	s.at("eastus").requests()
	s.ok(200, "PATCH", m+tagsAt+own, `{"operation":"Merge","properties":{"tags":{"a":"1"}}}`)
	if calls := s.at("eastus").requests(); len(calls) != 4 {
		t.Errorf("%d calls", len(calls))
	}
	for range 5 { // as often as a change starts over
		s.at("eastus").fault("PATCH", "/m", "status=412")
	}
	if got := s.want(409, "Conflict", "DELETE", m+tagsAt+own, ""); got.header.Get("Retry-After") != "10" {
		t.Errorf("%v", got.header)
	}
	s.ok(200, "DELETE", m+tagsAt+own, "")
}

// A move that begins while a change of its group's tags is on the way has the
// group to itself, as a deletion has.
func TestTagsOfAGroupThatClosesMeanwhile(t *testing.T) {
	s := newSite(t, setup{})
	s.group("to")
	group, err := s.store.Group(t.Context(), subscription, filepath.Base(s.group("from")))
	must(t, err)
	s.ok(202, "POST", groupPath("from")+"/moveResources"+own, moveTo(groupPath("to"), s.machine("from", "m", "westus")))
	q, fault := routing.Classify(s.config.Map, "PATCH", groupPath("from")+tagsAt, "")
	if fault != nil {
		t.Fatal(fault)
	}
	patch := slices.IndexFunc(tags.Tags{}.Routes(), func(r route.Route) bool { return r.Method == http.MethodPatch })
	door := tags.Tags{Store: s.store, Scopes: route.Scopes{Map: s.config.Map}, Limit: 50}.Routes()[patch]
	err = door.Handle(httptest.NewRecorder(), httptest.NewRequest("PATCH", "/", nil), &exchange.Exchange{Request: q}, route.Request{
		Decision: routing.Decision{Subscription: inventory.Subscription{ID: subscription}, Group: group},
		Content:  []byte(`{"operation":"Merge","properties":{"tags":{"a":"b"}}}`),
	})
	var refused *arm.Error
	if !errors.As(err, &refused) || refused.Code != arm.ResourcesBeingMoved {
		t.Errorf("%v", err)
	}
	if got := s.ok(200, "GET", groupPath("from")+own, ""); strings.Contains(got.text, `"a"`) {
		t.Errorf("%s", got.text)
	}
}
