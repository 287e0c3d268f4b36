package contoso

import (
	"fmt"
	"strings"
	"testing"
)

func TestPutCreatesAndReplaces(t *testing.T) {
	s := newSite(t, "westus")
	body := `{"id":"/x","name":"other","type":"a/b","location":"West US","tags":{"a":"<1>"},"sku":{"name":"S1","capacity":2},
		"plan":{"name":"n","publisher":"p","product":"q"},"kind":"k","managedBy":"/m","identity":{"type":"SystemAssigned"},"zones":["1"],
		"properties":{"big":12345678901234567890.10,"b":{"y":1,"x":null}}}`
	a := s.do(201, "PUT", vm+version, body)
	a.want(vm, "id")
	a.want("vm1", "name")
	a.want("Contoso.Compute/virtualMachines", "type")
	a.want("West US", "location")
	a.want("S1", "sku", "name")
	a.want("q", "plan", "product")
	a.want("k", "kind")
	a.want("/m", "managedBy")
	a.want("SystemAssigned", "identity", "type")
	a.want([]string{"1"}, "zones")
	a.want("Succeeded", "properties", "provisioningState")
	for _, part := range []string{`"a":"<1>"`, `"big":12345678901234567890.10,"b":{"y":1,"x":null}`} {
		if !strings.Contains(a.body, part) {
			t.Errorf("the body does not hold %s as it was sent: %s", part, a.body)
		}
	}
	if got := s.get(vm + version).body; got != a.body {
		t.Errorf("GET differs from PUT: %s", got)
	}

	a = s.do(200, "PUT", vm+version, `{"location":"WESTUS","properties":{"c":1}}`)
	a.want(nil, "tags")
	a.want(nil, "sku")
	a.want("West US", "location")
	a.want(nil, "properties", "big")
	a.want(1, "properties", "c")
}

func TestNamesMatchWithoutCaseAndKeepTheLatestCasing(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	again := sub + "/resourcegroups/RG/providers/contoso.compute/VirtualMachines/VM1"
	a := s.do(200, "PUT", again+version, westVM)
	a.want(again, "id")
	a.want("VM1", "name")
	a.want("Contoso.Compute/virtualMachines", "type")
	s.get(strings.ToUpper(vm)+version).want(again, "id")
	s.get(vm+version).want(again, "id")
	s.get(compute + "/virtualMachines" + version).wantIDs(again)
}

func TestNamesInTheURLAreDecodedOnce(t *testing.T) {
	s := newSite(t, "westus")
	a := s.do(201, "PUT", compute+"/virtualMachines/a%20b%23%C3%A9+"+version, westVM)
	a.want(compute+"/virtualMachines/a b#é+", "id")
	a.want("a b#é+", "name")
	s.get(compute + "/virtualMachines/A%20B%23%C3%89%2B" + version)
	s.do(201, "PUT", compute+"/virtualMachines/providers"+version, westVM).want("providers", "name")
}

func TestPutRefuses(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	tags := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":"v",`, i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	in := func(members string) string { return `{"location":"westus",` + members + `}` }
	for _, c := range []struct{ code, target, body string }{
		{"LocationRequired", vm, `{}`},
		{"InvalidResourceLocation", vm, `{"location":"eastus"}`},
		{"LocationNotAvailableForResourceType", compute + "/virtualMachines/new", `{"location":"East US"}`},
		{"LocationNotAvailableForResourceType", vm + "/disks/d", `{"location":"eastus"}`},
		{"LocationNotAvailableForResourceType", vm + "/runCommands/r", `{"location":"eastus"}`},
		{"LocationNotAvailableForResourceType", vm + "/providers/Contoso.Insight/diagnosticSettings/d", `{"location":"eastus"}`},
		{"InvalidRequestContent", vm, ``},
		{"InvalidRequestContent", vm, `{"location":`},
		{"InvalidRequestContent", vm, `[]`},
		{"InvalidRequestContent", vm, `{"location":"westus","location":"westus"}`},
		{"InvalidRequestContent", vm, `{"location":7}`},
		{"InvalidRequestContent", vm, in(`"properties":[]`)},
		{"InvalidRequestContent", vm, in(`"tags":["a"]`)},
		{"InvalidRequestContent", vm, in(`"tags":{"a":1}`)},
		{"InvalidRequestContent", vm, in(`"sku":{"tier":"Free"}`)},
		{"InvalidRequestContent", vm, in(`"sku":{"name":"S1","capacity":"2"}`)},
		{"InvalidRequestContent", vm, in(`"plan":{"name":"n"}`)},
		{"InvalidRequestContent", vm, in(`"plan":{"name":"n","publisher":"p"}`)},
		{"InvalidRequestContent", vm, in(`"plan":{"name":"n","publisher":"p","product":""}`)},
		{"InvalidRequestContent", vm, in(`"plan":"n"`)},
		{"InvalidRequestContent", vm, in(`"identity":"x"`)},
		{"InvalidRequestContent", vm, in(`"identity":{}`)},
		{"InvalidRequestContent", vm, in(`"identity":{"type":"Nobody"}`)},
		{"InvalidRequestContent", vm, in(`"identity":{"type":"UserAssigned","userAssignedIdentities":[]}`)},
		{"InvalidRequestContent", vm, in(`"kind":"a b"`)},
		{"InvalidRequestContent", vm, in(`"managedBy":"someone"`)},
		{"InvalidRequestContent", vm, in(`"kind":{}`)},
		{"InvalidRequestContent", vm, in(`"managedBy":1`)},
		{"InvalidRequestContent", vm, in(`"zones":"1"`)},
		{"InvalidRequestContent", vm, in(`"tags":{"k":null}`)},
		{"InvalidTagNameLength", vm, in(`"tags":{"` + strings.Repeat("k", 513) + `":""}`)},
		{"InvalidTagValueLength", vm, in(`"tags":{"k":"` + strings.Repeat("v", 257) + `"}`)},
		{"InvalidTagNameCharacters", vm, in(`"tags":{"a/b":""}`)},
		{"TagCountExceeded", vm, in(`"tags":{` + tags(51) + `}`)},
		{"InvalidProvisioningState", vm, in(`"properties":{"provisioningState":"Creating"}`)},
		{"InvalidProvisioningState", vm, in(`"properties":{"provisioningState":7}`)},
		{"InvalidProvisioningState", compute + "/virtualMachines/new", in(`"properties":{"provisioningState":"Succeeded"}`)},
	} {
		s.refused(400, c.code, "PUT", c.target+version, c.body)
	}
	s.get(vm+version).want(nil, "tags")
	s.do(200, "PUT", vm+version, in(`"tags":{`+tags(50)+`}`))
	s.do(200, "PUT", vm+version, in(`"properties":{"provisioningState":"Succeeded"}`)).want("Succeeded", "properties", "provisioningState")
	s.do(413, "PUT", vm+version, `{"x":"`+strings.Repeat("x", maxBody)+`"}`)
}

func TestPatchMergesAndReplacesTagsWhole(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, `{"location":"westus","kind":"k","tags":{"a":"1","b":"2"},"sku":{"name":"S1","capacity":2},"properties":{"a":{"x":1,"y":2},"b":[1,2],"c":3}}`)
	a := s.do(200, "PATCH", vm+version, `{"tags":{"c":"3"}}`)
	a.want(map[string]string{"c": "3"}, "tags")
	a.want(3, "properties", "c")
	a = s.do(200, "PATCH", vm+version, `{"properties":{"a":{"x":null,"z":{"n":null,"m":1}},"b":[3],"c":null}}`)
	a.want(map[string]any{"provisioningState": "Succeeded", "a": map[string]any{"y": 2, "z": map[string]int{"m": 1}}, "b": []int{3}}, "properties")
	a.want(map[string]string{"c": "3"}, "tags")
	a = s.do(200, "PATCH", vm+version, `{"sku":{"name":"F0","capacity":1}}`)
	a.want(map[string]any{"name": "F0", "capacity": 1}, "sku")
	a.want("k", "kind")
	a.want([]int{3}, "properties", "b")
	s.do(200, "PATCH", vm+version, `{"tags":null,"kind":null}`).want(nil, "tags")
	s.get(vm+version).want(nil, "kind")
	s.do(200, "PATCH", vm+version, `{"id":"`+strings.ToUpper(vm)+`","name":"VM1","location":"West US","properties":{"provisioningState":"Succeeded"}}`)
	s.do(200, "PATCH", vm+version, `{"properties":null}`).want(map[string]string{"provisioningState": "Succeeded"}, "properties")
	// A patch of what is not there begins from nothing, and leaves no null behind.
	s.do(200, "PATCH", vm+version, `{"properties":{"a":{"x":null,"y":{"z":null}},"b":[null],"provisioningState":null}}`).
		want(map[string]any{"provisioningState": "Succeeded", "a": map[string]any{"y": map[string]any{}}, "b": []any{nil}}, "properties")
	s.do(200, "PUT", vm+version, `{"location":"westus","properties":null}`).want(map[string]string{"provisioningState": "Succeeded"}, "properties")
}

func TestPatchRefuses(t *testing.T) {
	s := newSite(t, "westus")
	s.refused(404, "ResourceNotFound", "PATCH", vm+version, `{"tags":{}}`)
	s.do(201, "PUT", vm+version, westVM)
	s.refused(400, "InvalidRequestContent", "PATCH", vm+version, `{"tags":{"k":null}}`)
	for _, body := range []string{`{"name":"x"}`, `{"id":"/x"}`, `{"type":"a/b"}`, `{"location":"eastus"}`, `{"location":null}`} {
		s.refused(400, "PropertyChangeNotAllowed", "PATCH", vm+version, body)
	}
	s.refused(400, "InvalidProvisioningState", "PATCH", vm+version, `{"properties":{"provisioningState":"Failed"}}`)
	s.refused(400, "InvalidRequestContent", "PATCH", vm+version, `{"sku":{"tier":"Free"}}`)
	s.refused(400, "InvalidRequestContent", "PATCH", vm+version, `{"properties":7}`)
}

func TestMembersBesidePropertiesAreKept(t *testing.T) {
	s := newSite(t, "westus")
	members := map[string]any{
		"plan":      map[string]any{"name": "n", "publisher": "p", "product": "q", "promotionCode": "c", "version": "1"},
		"kind":      "api,linux",
		"managedBy": compute + "/networkInterfaces/n",
		"identity":  map[string]any{"type": "SystemAssigned, UserAssigned", "userAssignedIdentities": map[string]any{"/x": map[string]any{}}},
		"zones":     []string{"1", "2"},
		"sku":       map[string]any{"name": "S1", "tier": "Standard", "size": "1", "family": "general", "capacity": 2},
	}
	body := object{{"location", encode("westus")}}
	for k, v := range members {
		body = append(body, member{k, encode(v)})
	}
	s.do(201, "PUT", vm+version, string(body.bytes()))
	s.do(200, "PATCH", vm+version, `{"tags":{"a":"b"},"plan":{"version":"2"}}`)
	members["plan"].(map[string]any)["version"] = "2"
	for k, v := range members {
		s.get(vm+version).want(v, k)
	}
	s.refused(400, "InvalidRequestContent", "PATCH", vm+version, `{"plan":{"product":null}}`)
	s.do(200, "PATCH", vm+version, `{"plan":null,"identity":{"type":"None","userAssignedIdentities":null}}`).want(nil, "plan")
}

func TestDelete(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	if a := s.do(200, "DELETE", vm+version, ""); a.body != "" || a.header.Get("Content-Length") != "0" {
		t.Errorf("body %q, Content-Length %q", a.body, a.header.Get("Content-Length"))
	}
	s.refused(404, "ResourceNotFound", "GET", vm+version, "")
	s.do(204, "DELETE", vm+version, "")
	s.do(204, "DELETE", vm+"/disks/d"+version, "")
}

func TestNestedResourcesFollowTheirParent(t *testing.T) {
	s := newSite(t, "westus")
	disk, command, setting := vm+"/disks/d1", vm+"/runCommands/r1", vm+"/providers/Contoso.Insight/diagnosticSettings/s1"
	for _, m := range []string{"PUT", "GET", "PATCH"} {
		s.refused(404, "ParentResourceNotFound", m, disk+version, `{}`)
	}
	s.refused(404, "ParentResourceNotFound", "GET", vm+"/disks"+version, "")
	s.do(201, "PUT", vm+version, westVM)
	s.do(201, "PUT", vm+"2"+version, westVM)
	a := s.do(201, "PUT", disk+version, `{"tags":{"a":"b"}}`)
	a.want("West US", "location")
	a.want("Contoso.Compute/virtualMachines/disks", "type")
	s.do(201, "PUT", vm+"2/disks/d1"+version, `{"location":"westus"}`).want("westus", "location")
	a = s.do(201, "PUT", command+version, `{"location":"westus","tags":{"a":"b"},"properties":{"script":"x"}}`)
	a.want(nil, "location")
	a.want(nil, "tags")
	a.want("x", "properties", "script")
	s.do(201, "PUT", setting+version, `{}`)
	s.get(vm + "/disks" + version).wantIDs(disk)
	s.get(vm + "/runCommands" + version).wantIDs(command)
	s.do(200, "DELETE", vm+version, "")
	s.do(201, "PUT", vm+version, westVM)
	for _, child := range []string{disk, command, setting} {
		s.refused(404, "ResourceNotFound", "GET", child+version, "")
	}
	s.get(vm + "2/disks/d1" + version)
}

func TestSystemDataIsKeptFromTheHeader(t *testing.T) {
	s := newSite(t, "westus")
	const header = "x-ms-arm-resource-system-data: "
	s.do(201, "PUT", vm+version, westVM, header+`{"createdBy":"ann","lastModifiedBy":"ann"}`).want("ann", "systemData", "createdBy")
	a := s.do(200, "PATCH", vm+version, `{"tags":{}}`, header+`{"lastModifiedBy":"bob"}`)
	a.want(map[string]string{"createdBy": "ann", "lastModifiedBy": "bob"}, "systemData")
	s.do(200, "PUT", vm+version, westVM).want("bob", "systemData", "lastModifiedBy")
	s.refused(400, "InvalidSystemData", "PUT", vm+version, westVM, header+"x")
}

func TestOutcomeOfASynchronousWrite(t *testing.T) {
	s := newSite(t, "westus")
	s.refused(409, "OperationFailed", "PUT", vm+version, westVM, "x-contoso-outcome: Failed")
	s.do(201, "PUT", vm+version, westVM)
	s.refused(409, "OperationCanceled", "DELETE", vm+version, "", "x-contoso-outcome: Canceled")
	s.refused(409, "OperationFailed", "POST", vm+"/start"+version, "", "x-contoso-outcome: Failed")
	s.get(vm + version)
}
