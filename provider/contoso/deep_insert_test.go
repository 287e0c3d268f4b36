package contoso

import (
	"strings"
	"testing"
	"time"
)

const command = vm + "/runCommands/"

func machineWith(commands string) string {
	return `{"location":"westus","properties":{"n":1,"runCommands":` + commands + `}}`
}

func TestDeepInsert(t *testing.T) {
	s := newSite(t, "westus")
	const header = `x-ms-arm-resource-system-data: {"createdBy":"ann"}`
	a := s.do(201, "PUT", vm+version, machineWith(`[{"name":"b","properties":{"script":"x"},"location":"eastus","tags":{"a":"b"}},{"name":"A"}]`), header)
	const both = `[{"name":"A","properties":{}},{"name":"b","properties":{"script":"x"}}]`
	if !strings.Contains(a.body, `"runCommands":`+both) {
		t.Errorf("the parent shows %s", a.body)
	}
	if got := s.get(vm + version); got.body != a.body {
		t.Errorf("GET differs from PUT: %s", got.body)
	}
	s.get(vm+"/runCommands"+version).wantIDs(command+"A", command+"b")
	b := s.get(command + "B" + version)
	b.want("x", "properties", "script")
	b.want("Contoso.Compute/virtualMachines/runCommands", "type")
	b.want("ann", "systemData", "createdBy")
	b.want(nil, "location")
	b.want(nil, "tags")

	// What the parent shows can be put back as it is.
	s.do(200, "PUT", vm+version, a.body, "If-Match: "+a.header.Get("ETag")).want(a.at("properties"), "properties")
	// Who is not named stays, and without properties nothing changes.
	s.do(200, "PUT", vm+version, machineWith(`[{"name":"b"},{"name":"c","properties":{"script":"z"}}]`))
	s.get(command+"b"+version).want("x", "properties", "script")
	s.get(vm+"/runCommands"+version).wantIDs(command+"A", command+"b", command+"c")
	a = s.do(200, "PATCH", vm+version, `{"properties":{"runCommands":[{"name":"B","properties":{"script":"y"}}]}}`)
	a.want(1, "properties", "n")
	s.get(command+"b"+version).want(map[string]string{"provisioningState": "Succeeded", "script": "y"}, "properties")
	s.get(command+"b"+version).want("B", "name")

	// The parent, and its tag, follow what happens to its children.
	s.do(200, "DELETE", command+"c"+version, "")
	after := s.get(vm + version)
	if strings.Contains(after.body, `"c"`) || after.header.Get("ETag") == a.header.Get("ETag") {
		t.Errorf("after a child's end: %s", after.body)
	}
	s.do(201, "PUT", command+"d"+version, `{"properties":{"script":"d"}}`)
	s.do(412, "PATCH", vm+version, `{}`, "If-Match: "+after.header.Get("ETag"))
	if got := s.get(compute + "/virtualMachines" + version); !strings.Contains(got.body, `{"name":"d","properties":{"script":"d"}}`) {
		t.Errorf("the list shows %s", got.body)
	}
	s.do(200, "DELETE", vm+version, "")
	if len(s.state.resources) != 0 {
		t.Error("children outlive their parent")
	}
}

func TestDeepInsertRefuses(t *testing.T) {
	s := newSite(t, "westus")
	for _, bad := range []string{
		`{}`, `"x"`, `[null]`, `["x"]`, `[{}]`, `[{"name":""}]`, `[{"name":7}]`, `[{"name":"a/b"}]`,
		`[{"name":"a"},{"name":"A"}]`, `[{"name":"a","properties":7}]`,
	} {
		s.refused(400, "InvalidRequestContent", "PUT", vm+version, machineWith(bad))
	}
	s.refused(400, "InvalidProvisioningState", "PUT", vm+version, machineWith(`[{"name":"a","properties":{"provisioningState":"Failed"}}]`))
	s.get("/contoso/resources").want([]any{}, "value")
	s.do(201, "PUT", vm+version, machineWith(`null`))
	s.do(201, "PUT", command+"a"+version, `{}`)
	s.do(202, "DELETE", command+"a"+version, "", "x-contoso-async: location")
	s.refused(409, "ResourceBeingDeleted", "PUT", vm+version, machineWith(`[{"name":"a"}]`))
	s.do(200, "PUT", vm+version, machineWith(`[{"name":"b"}]`))
}

func TestDeepInsertByAnOperation(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, machineWith(`[{"name":"a"}]`))
	names := func(want string) {
		t.Helper()
		var got []string
		list, _ := s.get(vm+version).at("properties", "runCommands").([]any)
		for _, item := range list {
			got = append(got, item.(map[string]any)["name"].(string))
		}
		if strings.Join(got, " ") != want {
			t.Fatalf("the parent shows %q, want %q", got, want)
		}
	}
	tag := s.get(vm + version).header.Get("ETag")
	s.do(200, "PUT", vm+version, machineWith(`[{"name":"b"}]`), asyncState, failing)
	names("a b")
	s.refused(404, "ResourceNotFound", "GET", command+"b"+version, "")
	s.advance(time.Second)
	names("a")
	if got := s.get(vm + version).header.Get("ETag"); got != tag {
		t.Error("the reverted resource has another tag")
	}
	s.refused(404, "ResourceNotFound", "GET", command+"b"+version, "")

	a := s.do(202, "PATCH", vm+version, `{"properties":{"runCommands":[{"name":"c"}]}}`, "x-contoso-async: location")
	s.do(200, "DELETE", command+"a"+version, "")
	s.do(201, "PUT", command+"d"+version, `{}`)
	s.advance(time.Second)
	names("c d")
	s.get(command + "c" + version)
	if got := s.do(200, "GET", a.local(a.header.Get("Location")), "").body; got != s.get(vm+version).body {
		t.Errorf("the poll's end: %s", got)
	}

	s.do(200, "DELETE", vm+version, "")
	a = s.do(202, "PUT", vm+version, machineWith(`[{"name":"e"}]`), "x-contoso-async: accepted")
	s.refused(404, "ParentResourceNotFound", "GET", command+"e"+version, "")
	s.advance(time.Second)
	names("e")
	if got := s.do(201, "GET", a.local(a.header.Get("Location")), "").body; got != s.get(vm+version).body {
		t.Errorf("the poll's end: %s", got)
	}
	s.get(command + "e" + version)
}
