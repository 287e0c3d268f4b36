package contoso

import (
	"fmt"
	"strings"
	"testing"
)

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
	const tags, properties = `"tags":{"a":"<1>"}`, `"big":12345678901234567890.10,"b":{"y":1,"x":null}`
	if got := s.do(201, "PUT", vm+"2"+version, `{"location":"westus",`+tags+`,"properties":{`+properties+`}}`).body; !strings.Contains(got, tags) || !strings.Contains(got, properties) {
		t.Errorf("the body is not as it was sent: %s", got)
	}
	s.do(200, "PATCH", vm+version, `{"tags":{"a":"b"},"plan":{"version":"2"}}`)
	members["plan"].(map[string]any)["version"] = "2"
	for k, v := range members {
		s.get(vm+version).want(v, k)
	}
	s.refused(400, "InvalidRequestContent", "PATCH", vm+version, `{"plan":{"product":null}}`)
	s.do(200, "PATCH", vm+version, `{"plan":null,"identity":{"type":"None","userAssignedIdentities":null}}`).want(nil, "plan")
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
