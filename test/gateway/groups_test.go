package gateway_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"portico/inventory"
	"portico/inventory/index"
)

// readBack is a group as the tests look at it.
type readBack struct {
	ID, Name, Type, Location, ETag string
	ManagedBy                      *string
	Tags                           map[string]string
	Properties                     struct{ ProvisioningState string }
}

func (s *site) readGroup(name string) readBack {
	s.t.Helper()
	return decode[readBack](s.t, s.ok(200, "GET", groupPath(name)+own, ""))
}

func TestGroupIsCreatedAndReplaced(t *testing.T) {
	s := newSite(t, setup{})
	created := s.ok(201, "PUT", inSubscription+"/resourcegroups/My-Group"+own, `{"location":"West US","tags":{"a":"1"},"managedBy":"/x"}`)
	got := decode[readBack](t, created)
	if got.ID != inSubscription+"/resourceGroups/My-Group" || got.Name != "My-Group" || got.Type != "Microsoft.Resources/resourceGroups" ||
		got.Location != "westus" || *got.ManagedBy != "/x" || got.Tags["a"] != "1" || got.Properties.ProvisioningState != "Succeeded" {
		t.Errorf("%s", created.text)
	}
	if read := s.ok(200, "GET", inSubscription+"/RESOURCEGROUPS/MY-GROUP"+own, ""); read.text != created.text {
		t.Errorf("GET says %s, PUT said %s", read.text, created.text)
	}
	again := decode[readBack](t, s.ok(200, "PUT", groupPath("my-group")+own, `{"location":"WESTUS"}`))
	if again.Name != "my-group" || again.ID != groupPath("my-group") || again.Tags != nil || again.ManagedBy != nil {
		t.Errorf("a PUT does not replace: %+v", again)
	}
	if got := s.readGroup("MY-group"); got.Name != "my-group" {
		t.Errorf("a read changed the casing, or the latest PUT did not: %s", got.Name)
	}
	if patched := decode[readBack](t, s.ok(200, "PATCH", groupPath("MY-GROUP")+own, `{}`)); patched.Name != "MY-GROUP" || patched.ID != groupPath("MY-GROUP") {
		t.Errorf("a PATCH does not bring its casing: %+v", patched)
	}
}

func TestGroupContent(t *testing.T) {
	s := newSite(t, setup{limits: "tagsPerResource: 2"})
	g := s.group("g")
	const bad = "InvalidRequestContent"
	for _, c := range []struct {
		name, body, code string
		status           int
	}{
		{"no location", `{}`, "LocationRequired", 400},
		{"no content", ``, "LocationRequired", 400},
		{"no such location", `{"location":"mars"}`, "LocationNotAvailableForResourceGroup", 400},
		{"global is no region", `{"location":"global"}`, "LocationNotAvailableForResourceGroup", 400},
		{"another location", eastus, "InvalidResourceGroupLocation", 409},
		{"location no string", `{"location":1}`, bad, 400},
		{"location twice", `{"location":"westus","location":"westus"}`, bad, 400},
		{"an unknown member", `{"location":"westus","sku":{}}`, bad, 400},
		{"an unknown property", `{"location":"westus","properties":{"x":1}}`, bad, 400},
		{"no object", `[]`, bad, 400},
		{"no JSON", `{"location":"westus"`, bad, 400},
		{"too many tags", `{"location":"westus","tags":{"a":"1","b":"2","c":"3"}}`, "TagCountExceeded", 400},
		{"a tag name with a reserved character", `{"location":"westus","tags":{"a/b":"1"}}`, "InvalidTagNameCharacters", 400},
		{"a tag value that is too long", `{"location":"westus","tags":{"a":"` + strings.Repeat("x", 257) + `"}}`, "InvalidTagValueLength", 400},
		{"a tag that is no string", `{"location":"westus","tags":{"a":1}}`, bad, 400},
		{"the id of another", `{"location":"westus","id":"` + groupPath("h") + `"}`, bad, 400},
		{"the name of another", `{"location":"westus","name":"h"}`, bad, 400},
		{"another type", `{"location":"westus","type":"Microsoft.Resources/deployments"}`, bad, 400},
		{"another state", `{"location":"westus","properties":{"provisioningState":"Deleting"}}`, bad, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := s.readGroup("g")
			s.want(c.status, c.code, "PUT", g+own, c.body)
			if !strings.HasPrefix(c.code, "LocationRequired") { // a PATCH needs none
				s.want(c.status, c.code, "PATCH", g+own, c.body)
			}
			if after := s.readGroup("g"); after.ETag != before.ETag {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	}
	for _, body := range []string{
		`{"location":"westus","id":"` + strings.ToUpper(g) + `","name":"G","type":"microsoft.resources/RESOURCEGROUPS"}`,
		`{"location":"westus","etag":"W/\"stale\""}`,
		`{"location":"westus","properties":{"provisioningState":"succeeded"}}`,
		`{"location":"westus","tags":null}`,
	} {
		s.ok(200, "PUT", g+own, body)
		s.ok(200, "PATCH", g+own, body)
	}
	if got := s.want(400, "LocationNotAvailableForResourceGroup", "PUT", groupPath("h")+own, `{"location":"Mars"}`); !strings.Contains(got.text, "'Mars'") || !strings.Contains(got.text, "westus") {
		t.Errorf("the fault does not name what was sent and what is allowed: %s", got.text)
	}
	s.want(404, "ResourceGroupNotFound", "GET", groupPath("h")+own, "")
}

func TestGroupPatch(t *testing.T) {
	s := newSite(t, setup{})
	s.ok(201, "PUT", groupPath("g")+own, `{"location":"westus","tags":{"a":"1","b":"2"},"managedBy":"/x"}`)
	for _, c := range []struct{ body, tags, managedBy string }{
		{`{}`, "map[a:1 b:2]", "/x"},
		{``, "map[a:1 b:2]", "/x"},
		{`{"location":"westus"}`, "map[a:1 b:2]", "/x"},
		{`{"tags":{"c":"3"}}`, "map[c:3]", "/x"},
		{`{"managedBy":"/y"}`, "map[c:3]", "/y"},
		{`{"MANAGEDBY":"/z"}`, "map[c:3]", "/z"},
		{`{"managedBy":null}`, "map[c:3]", ""},
		{`{"tags":null}`, "map[]", ""},
		{`{"tags":{"d":""}}`, "map[d:]", ""},
		{`{"tags":{}}`, "map[]", ""},
	} {
		shown := decode[readBack](t, s.ok(200, "PATCH", groupPath("g")+own, c.body))
		got := s.readGroup("g")
		managedBy := ""
		if got.ManagedBy != nil {
			managedBy = *got.ManagedBy
		}
		if fmt.Sprint(got.Tags) != c.tags || managedBy != c.managedBy || shown.ETag != got.ETag {
			t.Errorf("after %s: %v %q", c.body, got.Tags, managedBy)
		}
	}
	s.want(404, "ResourceGroupNotFound", "PATCH", groupPath("h")+own, `{"tags":{}}`)
	s.want(409, "InvalidResourceGroupLocation", "PATCH", groupPath("g")+own, eastus)
	before := s.ok(200, "GET", groupPath("g")+own, "").text
	for body, code := range map[string]string{
		`{"location":null}`: "LocationRequired", `{"location":""}`: "LocationRequired", // it cannot be removed
		`{"tags":{"a":"1","b":null}}`: "InvalidRequestContent", `{"tags":{"a":"1"},"tags":null}`: "InvalidRequestContent",
		`null`: "InvalidRequestContent", `{"properties":[null]}`: "InvalidRequestContent",
	} {
		s.want(400, code, "PATCH", groupPath("g")+own, body)
	}
	// Nothing in the envelope can be removed, and nothing that only the service sets.
	s.ok(200, "PATCH", groupPath("g")+own, `{"properties":null,"id":null,"name":null,"type":null,"etag":null}`)
	s.ok(200, "PATCH", groupPath("g")+own, `{"properties":{"provisioningState":null}}`)
	if after := s.ok(200, "GET", groupPath("g")+own, "").text; after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestGroupETag(t *testing.T) {
	s := newSite(t, setup{})
	created := s.ok(201, "PUT", groupPath("g")+own, `{"location":"westus","tags":{"a":"1"}}`)
	etag := created.header.Get("ETag")
	if !strings.HasPrefix(etag, `W/"`) || decode[readBack](t, created).ETag != etag {
		t.Errorf("%s %s", etag, created.text)
	}
	for _, version := range []string{"2015-11-01", "2021-04-01", "2099-01-01"} {
		got := s.ok(200, "GET", groupPath("g")+"?api-version="+version, "")
		listed := decode[named](t, s.ok(200, "GET", inSubscription+"/resourcegroups?api-version="+version, ""))
		if got.header.Get("ETag") != etag || decode[readBack](t, got).ETag != etag || listed.Value[0].ETag != etag {
			t.Errorf("at %s: %v %v", version, got, listed)
		}
	}
	if again := s.ok(200, "PUT", groupPath("g")+own, `{"tags":{"a":"1"},"location":"West US"}`); again.header.Get("ETag") != etag {
		t.Error("an identical PUT changed the ETag")
	}
	seen := map[string]bool{etag: true}
	for _, body := range []string{`{"location":"westus","tags":{"a":"2"}}`, `{"location":"westus","tags":{"a":"2"},"managedBy":"/x"}`, westus} {
		changed := s.ok(200, "PUT", groupPath("g")+own, body).header.Get("ETag")
		if seen[changed] {
			t.Errorf("%s left the ETag, or brought an old one back", body)
		}
		seen[changed] = true
	}
}

// The contract's table (addendum, ETags for Resources), for what is there and
// for what is not.
func TestGroupPreconditions(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	for _, c := range []struct {
		method, header, value string
		absent, present       int // expected statuses
	}{
		{"PUT", "If-Match", "", 201, 200},
		{"PUT", "If-Match", `""`, 201, 200},
		{"PUT", "If-Match", "*", 412, 200},
		{"PUT", "If-Match", "CURRENT", 412, 200},
		{"PUT", "If-Match", `"other", CURRENT`, 412, 200},
		{"PUT", "If-Match", `W/"other"`, 412, 412},
		{"PUT", "If-None-Match", "*", 201, 412},
		{"PUT", "If-None-Match", `W/"other"`, 201, 200},
		{"PUT", "If-None-Match", "CURRENT", 201, 412},
		{"PATCH", "If-Match", "", 404, 200},
		{"PATCH", "If-Match", "*", 404, 200},
		{"PATCH", "If-Match", "CURRENT", 404, 200},
		{"PATCH", "If-Match", `W/"other"`, 404, 412},
		{"PATCH", "If-None-Match", "*", 404, 412},
		{"GET", "If-None-Match", "CURRENT", 404, 304},
		{"GET", "If-None-Match", "*", 404, 304},
		{"GET", "If-None-Match", `"other"`, 404, 200},
		{"GET", "If-Match", `"other"`, 404, 200},
		{"HEAD", "If-None-Match", "*", 404, 204},
		{"DELETE", "If-Match", "*", 404, 200},
		{"DELETE", "If-Match", "CURRENT", 404, 200},
		{"DELETE", "If-Match", `W/"other"`, 404, 412},
		{"DELETE", "If-Match", "", 404, 200},
		{"DELETE", "If-None-Match", "*", 404, 412},
	} {
		t.Run(fmt.Sprint(c.method, " ", c.header, ": ", c.value), func(t *testing.T) {
			if status := s.do("PUT", g+own, westus).status; status != 200 && status != 201 {
				t.Fatal(status)
			}
			current := s.readGroup("g").ETag
			value := strings.ReplaceAll(c.value, "CURRENT", current)
			body := ""
			if c.method == "PUT" || c.method == "PATCH" {
				body = westus
			}
			got := s.do(c.method, g+own, body, c.header, value)
			if got.status != c.present {
				t.Errorf("present: %d %s, want %d", got.status, got.text, c.present)
			}
			if got.status == 412 && got.code != "PreconditionFailed" {
				t.Errorf("code %s", got.code)
			}
			if got.status == http.StatusNotModified && (got.text != "" || got.header.Get("ETag") != current) {
				t.Errorf("304 with %q and %q", got.text, got.header.Get("ETag"))
			}
			s.do("DELETE", groupPath("absent")+own, "")
			if got := s.do(c.method, groupPath("absent")+own, body, c.header, value); got.status != c.absent {
				t.Errorf("absent: %d %s, want %d", got.status, got.text, c.absent)
			}
		})
	}
}

func TestGroupPreconditionsComeBeforeContent(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	for _, method := range []string{"PUT", "PATCH"} {
		for _, body := range []string{`{"location":"mars"}`, `{"x":1}`, eastus, `{"tags":{"/":""}}`} {
			s.want(412, "PreconditionFailed", method, g+own, body, "If-Match", `"stale"`)
		}
	}
	s.want(404, "ResourceGroupNotFound", "PATCH", groupPath("h")+own, `{"x":1}`)
}

func TestOneOfManyPatchesWins(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	etag := s.readGroup("g").ETag
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		got  = map[int]int{}
		won  string
	)
	for i := range 100 {
		wait.Go(func() {
			body := fmt.Sprintf(`{"tags":{"n":"%d"}}`, i)
			answer, err := s.server.Client().Do(request(t, s.server, "PATCH", groupPath("g")+own, body, "Host", "portico.example", "If-Match", etag))
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			got[answer.StatusCode]++
			if answer.StatusCode == http.StatusOK {
				won = fmt.Sprint(i)
			}
		})
	}
	wait.Wait()
	if got[200] != 1 || got[412] != 99 {
		t.Errorf("%v", got)
	}
	if n := s.readGroup("g").Tags["n"]; n != won {
		t.Errorf("%s was told that it won, %s stands", won, n)
	}
}

func TestGroupList(t *testing.T) {
	s := newSite(t, setup{})
	list := inSubscription + "/resourceGroups" + own
	if got := s.ok(200, "GET", list, ""); got.text != `{"value":[]}` {
		t.Errorf("an empty list is %s", got.text)
	}
	for _, name := range []string{"b", "C", "a-1", "a", "D"} {
		s.group(name)
	}
	for target, want := range map[string][]string{
		list:                  {"a a-1 b C D"},
		list + "&$top=2":      {"a a-1", "b C", "D"},
		list + "&%24top=5":    {"a a-1 b C D"},
		list + "&$TOP=4":      {"a a-1 b C", "D"},
		list + "&$top=5000":   {"a a-1 b C D"},
		list + "&$filter=":    {"a a-1 b C D"},
		list + "&$skipToken=": {"a a-1 b C D"},
		// What else a client asked with stays in its links.
		list + "&x=%2F&$top=3": {"a a-1 b", "C D"},
	} {
		if got := s.walk(target); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	next := decode[named](t, s.ok(200, "GET", list+"&$top=1&x=%2F", "")).NextLink
	if !strings.HasPrefix(next, "http://portico.example"+inSubscription+"/resourceGroups?api-version=2022-12-01&$top=1&x=%2F&%24skipToken=") {
		t.Errorf("nextLink %s", next)
	}
	if again := decode[named](t, s.ok(200, "GET", s.local(next), "")).NextLink; strings.Count(again, "skipToken") != 1 {
		t.Errorf("the second link is %s", again)
	}
	// A token is of its own list, filter and api-version alone, and of no one's making.
	token := next[strings.LastIndex(next, "%24skipToken="):]
	plain := "%24skipToken=" + base64.RawURLEncoding.EncodeToString([]byte("b"))
	s.ok(200, "GET", list+"&x=/&$top=3&"+token, "")
	for _, target := range []string{
		list + "&x=%2F&" + plain, list + "&" + token, list + "&x=/&$filter=name%20eq%20%27D%27&" + token, inSubscription + "/resourceGroups?api-version=2021-04-01&x=%2F&" + token,
		inSubscription + "/resources" + own + "&x=%2F&" + token, inSubscription + "/tagNames" + own + "&x=%2F&" + token, "/subscriptions" + own + "&x=%2F&" + token,
		list + "&x=%2F&" + token[:len(token)-2],
	} {
		s.want(400, "InvalidSkipToken", "GET", target, "")
	}
	for _, c := range [][2]string{
		{"&$top=0", "InvalidQueryParameter"}, {"&$top=-1", "InvalidQueryParameter"}, {"&$top=abc", "InvalidQueryParameter"}, {"&$top=", "InvalidQueryParameter"},
		{"&$skipToken=%21%21", "InvalidSkipToken"}, {"&$skiptoken=a", "InvalidSkipToken"},
		{"&$filter=kind%20eq%20%27a%27", "InvalidQueryParameter"}, {"&$filter=resourceType%20eq%20%27a%27", "InvalidQueryParameter"}, {"&$filter=name", "InvalidQueryParameter"},
	} {
		s.want(400, c[1], "GET", list+c[0], "")
	}
}

func TestGroupFilter(t *testing.T) {
	s := newSite(t, setup{})
	s.ok(201, "PUT", groupPath("a")+own, `{"location":"westus","tags":{"Env":"prod"}}`)
	s.ok(201, "PUT", groupPath("b")+own, `{"location":"eastus","tags":{"env":"test"}}`)
	s.ok(201, "PUT", groupPath("c")+own, `{"location":"eastus","tags":{"x":"prod"}}`)
	for filter, want := range map[string]string{
		"tagName eq 'env'":                          "a b",
		"tagName eq 'env' and tagValue eq 'prod'":   "a",
		"name eq 'C'":                               "c",
		"location eq 'East US'":                     "b c",
		"location eq 'eastus' and tagName eq 'env'": "b",
		"name eq 'd'":                               "",
	} {
		list := inSubscription + "/resourceGroups" + own + "&$filter=" + url.QueryEscape(filter)
		if got := s.names(list); got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
		if got := s.walk(list + "&$top=1"); strings.Join(got, " ") != want {
			t.Errorf("%s, one by one: %q, want %q", filter, got, want)
		}
	}
}

func TestGroupsInOtherStates(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	for state, shown := range map[index.GroupState]string{index.GroupDeleting: "Deleting", index.GroupMoving: "MovingResources"} {
		if _, _, err := s.store.EditGroup(context.Background(), subscription, "g", func(g *inventory.Group) (*inventory.Group, error) {
			g.State = state
			return g, nil
		}); err != nil {
			t.Fatal(err)
		}
		if got := s.readGroup("g").Properties.ProvisioningState; got != shown {
			t.Errorf("%v is shown as %s", state, got)
		}
		code := "ResourceGroupBeingDeleted"
		if state == index.GroupMoving {
			code = "ResourcesBeingMoved"
			s.want(409, code, "DELETE", groupPath("g")+own, "")
		}
		s.want(412, "PreconditionFailed", "DELETE", groupPath("g")+own, "", "If-Match", `"stale"`)
		s.want(409, code, "PUT", groupPath("g")+own, westus)
		s.want(409, code, "PATCH", groupPath("g")+own, `{"tags":{}}`)
		s.want(409, code, "PUT", machinePath("g", "m")+api, westus)
	}
}
