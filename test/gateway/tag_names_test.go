package gateway_test

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"portico/inventory"
)

func TestTagNames(t *testing.T) {
	s := newSite(t, setup{})
	names := inSubscription + "/tagNames"
	list := func() string {
		t.Helper()
		var all []string
		for _, n := range decode[struct{ Value []tagNameBody }](t, s.ok(200, "GET", names+own, "")).Value {
			text := fmt.Sprintf("%s=%d", n.TagName, n.Count.Value)
			if n.ID != names+"/"+n.TagName || n.Count.Type != "Total" || n.Values == nil {
				t.Errorf("%+v", n)
			}
			for _, v := range n.Values {
				text += fmt.Sprintf(" %s:%d", v.TagValue, v.Count.Value)
				if v.ID != n.ID+"/tagValues/"+v.TagValue || v.Count.Type != "Total" {
					t.Errorf("%+v", v)
				}
			}
			all = append(all, text)
		}
		return strings.Join(all, ", ")
	}
	if got := s.ok(200, "GET", names+own, "").text; got != `{"value":[]}` {
		t.Error(got)
	}
	put := s.ok(201, "PUT", names+"/Env"+own, "")
	if want := `{"id":"` + names + `/Env","tagName":"Env","count":{"type":"Total","value":0},"values":[],"etag":` + strconv.Quote(put.header.Get("ETag")) + `}`; put.text != want {
		t.Errorf("%s, want %s", put.text, want)
	}
	s.ok(200, "PUT", strings.ToUpper(names)+"/env"+own, "")
	put = s.ok(201, "PUT", names+"/env/tagValues/prod"+own, "")
	if want := `{"id":"` + names + `/Env/tagValues/prod","tagValue":"prod","count":{"type":"Total","value":0},"etag":` + strconv.Quote(put.header.Get("ETag")) + `}`; put.text != want {
		t.Errorf("%s, want %s", put.text, want)
	}
	s.ok(200, "PUT", names+"/ENV/tagvalues/prod"+own, "")
	s.ok(201, "PUT", names+"/ENV/tagvalues/Prod"+own, "") // values have a case
	s.want(404, "TagNameNotFound", "PUT", names+"/none/tagValues/v"+own, "")
	s.want(400, "ReservedTagName", "PUT", names+"/azure-x"+own, "")
	s.want(400, "InvalidTagNameCharacters", "PUT", names+"/a%26b"+own, "")
	s.want(400, "InvalidTagNameLength", "PUT", names+"/"+strings.Repeat("n", 513)+own, "")
	s.want(400, "InvalidTagValueLength", "PUT", names+"/env/tagValues/"+strings.Repeat("v", 257)+own, "")
	s.want(405, "MethodNotAllowed", "GET", names+"/env"+own, "")
	s.want(404, "SubscriptionNotFound", "GET", strings.Replace(names, "0001", "0009", 1)+own, "")

	// What is in use counts, wherever it is.
	s.group("g")
	m := s.machine("g", "m", "eastus")
	for i, c := range []struct{ scope, tags string }{
		{inSubscription, `{"env":"prod","cost":"1"}`}, {groupPath("g"), `{"ENV":"test"}`}, {m, `{"Env":"prod","zone":"a/b"}`},
	} {
		if got := s.do("PUT", c.scope+tagsAt+own, `{"properties":{"tags":`+c.tags+`}}`); got.status != 200 {
			t.Errorf("%d: %s", i, got.text)
		}
	}
	if got, want := list(), "cost=1 1:1, Env=3 Prod:0 prod:2 test:1, zone=1 a/b:1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var walked []string
	for target := names + own + "&$top=1"; target != ""; {
		page := decode[struct {
			Value    []tagNameBody
			NextLink string
		}](t, s.ok(200, "GET", target, ""))
		for _, n := range page.Value {
			walked = append(walked, n.TagName)
		}
		target = ""
		if page.NextLink != "" {
			target = s.local(page.NextLink)
		}
	}
	if !slices.Equal(walked, []string{"cost", "Env", "zone"}) {
		t.Errorf("%v", walked)
	}

	s.want(409, "TagNameInUse", "DELETE", names+"/env"+own, "")
	s.want(409, "TagValueInUse", "DELETE", names+"/env/tagValues/prod"+own, "")
	s.ok(200, "DELETE", names+"/env/tagValues/Prod"+own, "")
	s.ok(204, "DELETE", names+"/env/tagValues/Prod"+own, "")
	for _, scope := range []string{inSubscription, groupPath("g"), m} {
		s.ok(200, "DELETE", scope+tagsAt+own, "")
	}
	got := s.want(409, "TagNameInUse", "DELETE", names+"/env"+own, "").text
	if !strings.Contains(got, "The tag name 'env' cannot be deleted: values are defined for it.") {
		t.Error(got)
	}
	s.ok(200, "DELETE", names+"/env/tagValues/prod"+own, "")
	if got := s.ok(200, "DELETE", names+"/env"+own, ""); got.text != "" {
		t.Error(got.text)
	}
	s.ok(204, "DELETE", names+"/env"+own, "")
	if got := list(); got != "" {
		t.Error(got)
	}

	s.subscribe(subscription, tenant, inventory.Warned)
	s.want(409, "ReadOnlyDisabledSubscription", "PUT", names+"/env"+own, "")
	s.ok(204, "DELETE", names+"/env"+own, "")
}

// Names and values of tags have ETags of what was defined. The table is the contract's
// (addendum, ETags for Resources).
func TestTagNamePreconditions(t *testing.T) {
	s := newSite(t, setup{})
	name := inSubscription + "/tagNames/Env"
	value := name + "/tagValues/prod"
	listed := func() tagNameBody {
		t.Helper()
		for _, n := range decode[struct{ Value []tagNameBody }](t, s.ok(200, "GET", inSubscription+"/tagNames"+own, "")).Value {
			if n.TagName == "Env" {
				return n
			}
		}
		t.Fatal("Env is not listed")
		return tagNameBody{}
	}
	put := func(status int, path string) string {
		t.Helper()
		got := s.ok(status, "PUT", path+own, "")
		etag := got.header.Get("ETag")
		if !strings.HasPrefix(etag, `W/"`) || decode[tagNameBody](t, got).ETag != etag {
			t.Errorf("%s: %q\n%s", path, etag, got.text)
		}
		return etag
	}
	bare := put(201, name)
	if again := put(200, name); again != bare {
		t.Error("an identical PUT changed the ETag of the name")
	}
	ofValue := put(201, value)
	full := put(200, strings.ToUpper(inSubscription)+"/tagnames/eNV")
	if n := listed(); full == bare || n.ETag != full || n.Values[0].ETag != ofValue || put(200, value) != ofValue {
		t.Errorf("%q %q %q %+v", bare, full, ofValue, n)
	}
	// Its use changes nothing of a definition, and defines nothing.
	s.group("g")
	s.ok(200, "PUT", groupPath("g")+tagsAt+own, `{"properties":{"tags":{"env":"test","cost":"1"}}}`)
	if n := listed(); n.ETag != full || n.Values[0].ETag != ofValue || n.Values[1].ETag != "" || n.Values[1].TagValue != "test" {
		t.Errorf("%+v", n)
	}
	s.want(412, "PreconditionFailed", "PUT", inSubscription+"/tagNames/cost"+own, "", "If-Match", "*")
	s.want(412, "PreconditionFailed", "DELETE", name+own, "", "If-Match", bare) // before it is said that it is in use
	s.want(409, "TagNameInUse", "DELETE", inSubscription+"/tagNames/cost"+own, "", "If-Match", "*")
	s.ok(200, "DELETE", groupPath("g")+tagsAt+own, "")

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
		{"DELETE", "If-Match", "", 204, 200},
		{"DELETE", "If-Match", "*", 204, 200},
		{"DELETE", "If-Match", "CURRENT", 204, 200},
		{"DELETE", "If-Match", `W/"other"`, 204, 412},
		{"DELETE", "If-None-Match", "*", 204, 412},
	} {
		for _, present := range []bool{false, true} {
			for path, etag := range map[string]string{name: bare, value: ofValue} {
				s.do("DELETE", value+own, "")
				s.do("DELETE", name+own, "")
				if path == value || present {
					s.ok(201, "PUT", name+own, "")
				}
				want := c.absent
				if present {
					want = c.present
					s.do("PUT", path+own, "")
				}
				code := ""
				if want == 412 {
					code = "PreconditionFailed"
				}
				s.want(want, code, c.method, path+own, "", c.header, strings.ReplaceAll(c.value, "CURRENT", etag))
			}
		}
	}
}

func TestCheckResourceName(t *testing.T) {
	s := newSite(t, setup{})
	for _, scope := range []string{"", inSubscription} {
		at := scope + "/providers/Microsoft.Resources/checkResourceName" + own
		for name, status := range map[string]string{"vm1": "Allowed", "Azure": "Reserved", "my-MICROSOFT": "Reserved", "excellent": "Allowed"} {
			got := decode[map[string]string](t, s.ok(200, "POST", at, `{"name":"`+name+`","type":"Contoso.Compute/virtualMachines"}`))
			if len(got) != 3 || got["name"] != name || got["type"] != "Contoso.Compute/virtualMachines" || got["status"] != status {
				t.Errorf("%s: %v", name, got)
			}
		}
		for _, bad := range []string{``, `{}`, `{"name":"x"}`, `{"type":"x"}`, `{"name":1,"type":"x"}`, `{"name":"x","type":"y","z":1}`} {
			s.want(400, "InvalidRequestContent", "POST", at, bad)
		}
		s.want(400, "InvalidResourceName", "POST", at, `{"name":"a/b","type":"x"}`)
		s.want(405, "MethodNotAllowed", "GET", at, "")
		s.want(400, "MissingApiVersionParameter", "POST", strings.TrimSuffix(at, own), `{"name":"x","type":"y"}`)
	}
}

func TestOperationsOfOwnNamespaces(t *testing.T) {
	s := newSite(t, setup{})
	for namespace, want := range map[string]string{
		"Microsoft.Resources": "Microsoft.Resources/tags/write", "MICROSOFT.authorization": "Microsoft.Authorization/locks/delete",
		"Microsoft.Features": "Microsoft.Features/providers/features/register/action",
	} {
		var all []string
		for _, o := range decode[struct{ Value []operationBody }](t, s.ok(200, "GET", "/providers/"+url.PathEscape(namespace)+"/operations"+own, "")).Value {
			all = append(all, o.Name)
			if !strings.EqualFold(o.Display.Provider, namespace) || o.Display.Resource == "" || o.Display.Operation == "" || o.Display.Description == "" || o.IsDataAction {
				t.Errorf("%+v", o)
			}
		}
		if !slices.Contains(all, want) || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
			t.Errorf("%s: %v", namespace, all)
		}
	}
	s.want(400, "MissingApiVersionParameter", "GET", "/providers/Microsoft.Resources/operations", "")
}

// Custom roles are written by what the namespaces' operations are called.
func TestProviderOperations(t *testing.T) {
	type operation struct {
		Name, DisplayName, Description, Origin string
		IsDataAction                           *bool
	}
	type namespace struct {
		ID, Name, Type, DisplayName string
		Operations                  []operation
		ResourceTypes               []struct {
			Name, DisplayName string
			Operations        []operation
		}
	}
	s := newSite(t, setup{})
	const all = "/providers/Microsoft.Authorization/providerOperations"
	seen, names := map[string]bool{}, []string{}
	for _, n := range decode[struct{ Value []namespace }](t, s.ok(200, "GET", all+own+"&$expand=resourceTypes", "")).Value {
		names = append(names, n.Name)
		if n.ID != all+"/"+n.Name || n.Type != "Microsoft.Authorization/providerOperations" || n.DisplayName == "" {
			t.Errorf("%+v", n)
		}
		operations := n.Operations
		for _, of := range n.ResourceTypes {
			for _, o := range of.Operations {
				if !strings.HasPrefix(o.Name, n.Name+"/"+of.Name+"/") {
					t.Errorf("%s of %s %s", o.Name, n.Name, of.Name)
				}
			}
			operations = append(operations, of.Operations...)
		}
		for _, o := range operations {
			if seen[o.Name] || o.DisplayName == "" || o.Description == "" || o.Origin == "" || o.IsDataAction == nil {
				t.Errorf("%+v, again: %t", o, seen[o.Name])
			}
			seen[o.Name] = true
		}
		one := decode[namespace](t, s.ok(200, "GET", all+"/"+strings.ToLower(n.Name)+own, ""))
		if !reflect.DeepEqual(one, n) {
			t.Errorf("alone %+v\nlisted %+v", one, n)
		}
	}
	if want := "Contoso.Compute Contoso.Insight Microsoft.Resources Microsoft.Authorization Microsoft.Features Microsoft.Insights"; strings.Join(names, " ") != want {
		t.Errorf("%v", names)
	}
	for _, name := range []string{
		"Contoso.Compute/virtualMachines/disks/write", "Contoso.Insight/diagnosticSettings/delete", "Contoso.Compute/register/action",
		"Microsoft.Authorization/roleAssignments/write", "Microsoft.Resources/subscriptions/resourceGroups/moveResources/action",
	} {
		if !seen[name] {
			t.Errorf("no %s in %v", name, seen)
		}
	}
	s.want(404, "InvalidResourceNamespace", "GET", all+"/Contoso.None"+own, "")

	types := decode[struct{ Value []map[string]any }](t, s.ok(200, "GET", inSubscription+"/providers/contoso.compute/resourceTypes"+own, "")).Value
	whole := decode[struct{ ResourceTypes []map[string]any }](t, s.ok(200, "GET", inSubscription+"/providers/Contoso.Compute"+own, "")).ResourceTypes
	if len(types) == 0 || !reflect.DeepEqual(types, whole) {
		t.Errorf("%v, want %v", types, whole)
	}
	s.want(404, "InvalidResourceNamespace", "GET", inSubscription+"/providers/Contoso.None/resourceTypes"+own, "")
	s.want(404, "SubscriptionNotFound", "GET", "/subscriptions/"+foreign+"/providers/Contoso.Compute/resourceTypes"+own, "")
}

// No one is denied anything by an assignment, and no one rules as of old: clients that
// list who may do what ask.
func TestWhatGrantsNothingHere(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	const deny = "/providers/Microsoft.Authorization/denyAssignments"
	for _, target := range []string{
		deny + own, inSubscription + deny + own + "&$filter=atScope()", groupPath("g") + deny + own, m + deny + own,
		inSubscription + "/providers/Microsoft.Authorization/classicAdministrators?api-version=2015-06-01",
	} {
		if got := s.ok(200, "GET", target, "").text; got != `{"value":[]}` {
			t.Errorf("%s: %s", target, got)
		}
	}
	s.want(404, "ResourceGroupNotFound", "GET", groupPath("none")+deny+own, "")
	s.want(404, "ResourceNotFound", "GET", machinePath("g", "none")+deny+own, "")
	s.want(405, "MethodNotAllowed", "PUT", m+deny+own, "{}")
}
