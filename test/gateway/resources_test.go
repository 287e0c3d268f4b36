package gateway_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// what the lists of all types show of a resource, beside its properties.
const everything = `"tags":{"Env":"prod"},"kind":"big","managedBy":"/m","sku":{"name":"S1","capacity":2},"plan":{"name":"p","publisher":"q","product":"r"},"identity":{"type":"SystemAssigned"},"zones":["1","2"]`

// shown returns the only element of the subscription's list of resources.
func (s *site) shown() map[string]any {
	s.t.Helper()
	list := decode[struct{ Value []map[string]any }](s.t, s.ok(200, "GET", inSubscription+"/resources"+own, ""))
	if len(list.Value) != 1 {
		s.t.Fatalf("%v", list)
	}
	return list.Value[0]
}

func parsed(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	must(t, json.Unmarshal([]byte(text), &v))
	return v
}

func TestIndexKeepsWhatPassesThrough(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "M")
	s.ok(201, "PUT", strings.ToUpper(groupPath("g"))+"/providers/contoso.compute/VIRTUALMACHINES/M"+api, `{"location":"West US","properties":{"secret":"x"},`+everything+`}`)
	common := `"id":"` + inSubscription + `/resourceGroups/G/providers/Contoso.Compute/virtualMachines/M","name":"M","type":"Contoso.Compute/virtualMachines","location":"westus"`
	if got, want := s.shown(), parsed(t, `{`+common+`,`+everything+`}`); !reflect.DeepEqual(got, want) {
		t.Errorf("after PUT\ngot  %v\nwant %v", got, want)
	}
	s.ok(200, "PATCH", m+api, `{"tags":{"Env":"test"},"sku":{"name":"P3","capacity":3},"zones":["3"],"kind":"small","managedBy":"/n"}`)
	got := s.shown()
	want := parsed(t, `{"tags":{"Env":"test"},"sku":{"name":"P3","capacity":3},"zones":["3"],"kind":"small","managedBy":"/n","id":"`+m+`"}`)
	for member, value := range want {
		if !reflect.DeepEqual(got[member], value) {
			t.Errorf("after PATCH, %s: got %v, want %v", member, got[member], value)
		}
	}
	// A refused PATCH tells nothing.
	before := s.shown()
	s.want(400, "ContosoFault", "PATCH", m+api, `{"tags":{"a":"b"}}`, "x-contoso-fault", "status=400")
	if after := s.shown(); !reflect.DeepEqual(before, after) {
		t.Errorf("a refused PATCH made %v of %v", after, before)
	}
	s.ok(200, "PUT", machinePath("g", "m")+api, westus)
	if got, want := s.shown(), parsed(t, `{"id":"`+machinePath("g", "m")+`","name":"m","type":"Contoso.Compute/virtualMachines","location":"westus"}`); !reflect.DeepEqual(got, want) {
		t.Errorf("after a PUT that replaces\ngot  %v\nwant %v", got, want)
	}
	s.ok(200, "GET", machinePath("g", "M")+api, "")
	if name := s.shown()["name"]; name != "m" {
		t.Errorf("a read changed the casing: %v", name)
	}
	s.ok(200, "DELETE", m+api, "")
	if got := s.names(inSubscription + "/resources" + own); got != "" {
		t.Errorf("%s", got)
	}
}

func TestResourceExpand(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	started := time.Now().Add(-time.Millisecond)
	m := s.machine("g", "m", "westus")
	list := inSubscription + "/resources" + own
	plain := s.shown()
	for _, member := range []string{"createdTime", "changedTime", "provisioningState"} {
		if plain[member] != nil {
			t.Errorf("%s is there unasked", member)
		}
	}
	read := func(expand string) map[string]any {
		return decode[struct{ Value []map[string]any }](t, s.ok(200, "GET", list+"&$expand="+url.QueryEscape(expand), "")).Value[0]
	}
	for expand, want := range map[string]string{
		"createdTime": "createdTime", "changedTime": "changedTime", "PROVISIONINGSTATE": "provisioningState",
		"createdTime, changedTime ,provisioningState": "createdTime changedTime provisioningState", "": "", ",": "",
	} {
		got := read(expand)
		for _, member := range []string{"createdTime", "changedTime", "provisioningState"} {
			if there := got[member] != nil; there != slices.Contains(strings.Fields(want), member) {
				t.Errorf("$expand=%s: %v", expand, got)
			}
		}
	}
	s.want(400, "InvalidQueryParameter", "GET", list+"&$expand=createdTime,properties", "")

	all := "createdTime,changedTime,provisioningState"
	first := read(all)
	s.ok(200, "PATCH", m+api, `{"tags":{"a":"b"}}`)
	second := read(all)
	created, err := time.Parse(time.RFC3339Nano, first["createdTime"].(string))
	if err != nil || created.Before(started) || created.After(time.Now()) || second["createdTime"] != first["createdTime"] || second["changedTime"] == first["changedTime"] {
		t.Errorf("%v: %v, then %v", err, first, second)
	}
	if first["provisioningState"] != "Succeeded" {
		t.Errorf("%v", first)
	}
	s.ok(200, "PUT", m+api, westus, "x-contoso-async", "state", "x-contoso-duration", "1h")
	if state := read(all)["provisioningState"]; state != "Updating" {
		t.Errorf("while it is updated: %v", state)
	}
	s.at("westus").clock.advance(2 * hour)
	s.ok(200, "GET", m+api, "")
	s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "1h")
	if state := read(all)["provisioningState"]; state != "Deleting" {
		t.Errorf("while it is deleted: %v", state)
	}
}

func TestResourceLists(t *testing.T) {
	s := newSite(t, setup{})
	s.group("a")
	s.group("b")
	s.machine("a", "one", "westus")
	s.machine("a", "two", "eastus")
	s.machine("b", "three", "westus")
	s.ok(201, "PUT", groupPath("b")+"/providers/Contoso.Compute/virtualMachines/three/disks/d"+api, `{}`)
	s.ok(201, "PUT", groupPath("b")+"/providers/Contoso.Compute/virtualMachines/three/runCommands/r"+api, `{}`)
	all := inSubscription + "/resources" + own
	for target, want := range map[string][]string{
		all:                                 {"one two three three/d"},
		all + "&$top=3":                     {"one two three", "three/d"},
		all + "&$top=2":                     {"one two", "three three/d"},
		groupPath("A") + "/resources" + own: {"one two"},
		groupPath("b") + "/RESOURCES" + own: {"three three/d"},
		groupPath("a") + "/resources" + own + "&$top=1": {"one", "two"},
	} {
		if got := s.walk(target); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	s.want(404, "ResourceGroupNotFound", "GET", groupPath("c")+"/resources"+own, "")
	s.want(400, "InvalidQueryParameter", "GET", all+"&$top=0", "")
	s.want(400, "InvalidSkipToken", "GET", all+"&$skipToken=%21", "")
	s.want(400, "InvalidQueryParameter", "GET", all+"&$filter=colour%20eq%20%27red%27", "")
	s.want(405, "MethodNotAllowed", "POST", all, "")
}

func TestResourceFilter(t *testing.T) {
	s := newSite(t, setup{})
	s.group("a")
	s.group("b")
	s.ok(201, "PUT", machinePath("a", "one")+api, `{"location":"westus",`+everything+`}`)
	s.ok(201, "PUT", machinePath("b", "two")+api, `{"location":"eastus","tags":{"env":"test"},"plan":{"name":"n","publisher":"o","product":"r","version":"1","promotionCode":"c"}}`)
	s.ok(201, "PUT", groupPath("b")+"/providers/Contoso.Compute/networkInterfaces/one"+api, eastus)
	s.ok(201, "PUT", machinePath("b", "two")+"/disks/d"+api, `{}`)
	all := inSubscription + "/resources" + own + "&$filter="
	for filter, want := range map[string]string{
		"resourceType eq 'contoso.compute/VIRTUALMACHINES'": "one two",
		"resourceGroup eq 'B'":                              "one two two/d",
		"name eq 'ONE'":                                     "one one",
		"name eq 'two/D'":                                   "two/d",
		"location eq 'East US'":                             "one two two/d",
		"location ne 'eastus'":                              "one",
		"substringof('w', name)":                            "two two/d",
		"identity eq 'SystemAssigned'":                      "one",
		"identity/principalId eq 'x'":                       "",
		"plan/publisher eq 'q'":                             "one",
		"plan/name eq 'n'":                                  "two",
		"plan/product eq 'r'":                               "one two",
		"plan/version eq '1'":                               "two",
		"plan/promotionCode eq 'c'":                         "two",
		"tagName eq 'ENV'":                                  "one two",
		"tagName eq 'env' and tagValue eq 'prod'":           "one",
		"resourceGroup eq 'a' and resourceGroup eq 'b'":     "",
		"resourceType eq 'Contoso.Compute/nothing'":         "",
		"name eq ''":                                        "",
		"name eq 'one' and resourceGroup eq 'b'":            "one",
		"resourceGroup eq 'a' or resourceType eq 'Contoso.Compute/networkInterfaces'": "one one",
		"name eq 'two/d' or startswith(name, 'TW') or tagName eq 'env'":               "one two two/d",
		"location eq 'eastus' and (name eq 'one' or tagName eq 'env')":                "one two",
		"resourceGroup eq 'a' or name eq ''":                                          "one",
		"resourceGroup eq 'a' or substringof('d', name)":                              "one two/d",
		"startswith(name, 'one') and resourceGroup eq 'b'":                            "one",
		"startswith(name, '')":                                                        "one one two two/d",
	} {
		if got := s.names(all + url.QueryEscape(filter)); got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
		if got := strings.TrimSpace(strings.Join(s.walk(all+url.QueryEscape(filter)+"&$top=1"), " ")); got != want {
			t.Errorf("%s, one by one: %q, want %q", filter, got, want)
		}
	}
	in := groupPath("a") + "/resources" + own + "&$filter="
	if got := s.names(in + url.QueryEscape("resourceGroup eq 'b'")); got != "" {
		t.Errorf("a filter leaves the scope: %s", got)
	}
	if got := s.names(in + url.QueryEscape("resourceGroup eq 'A' and name eq 'one'")); got != "one" {
		t.Errorf("%s", got)
	}
	// As in ARM, who filters by tags is not shown them.
	if got := s.ok(200, "GET", all+url.QueryEscape("tagName eq 'env'"), ""); strings.Contains(got.text, `"tags"`) {
		t.Errorf("%s", got.text)
	}
	if got := s.ok(200, "GET", all+url.QueryEscape("name eq 'two'"), ""); !strings.Contains(got.text, `"tags":{"env":"test"}`) {
		t.Errorf("%s", got.text)
	}
}

// A create that was only accepted is not there yet; what is being deleted is
// there still.
func TestWhatListsShow(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	pending, deleting := machinePath("g", "pending"), s.machine("g", "deleting", "eastus")
	s.ok(202, "PUT", pending+api, westus, "x-contoso-async", "accepted", "x-contoso-duration", "1h")
	s.ok(202, "DELETE", deleting+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "1h")
	if got := s.names(inSubscription + "/resources" + own); got != "deleting" {
		t.Errorf("%s", got)
	}
	if got := s.names(groupPath("g") + "/resources" + own); got != "deleting" {
		t.Errorf("%s", got)
	}
}
