package contoso

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	toGroup   = otherSub + "/resourceGroups/To"
	moving    = sub + "/resourceGroups/rg/moveResources" + version
	validates = sub + "/resourceGroups/RG/validateMoveResources" + version
	moved     = toGroup + "/providers/Contoso.Compute/virtualMachines/vm1"
)

func moveBody(ids ...string) string {
	text, _ := json.Marshal(map[string]any{"targetResourceGroup": toGroup, "resources": ids})
	return string(text)
}

func TestMoveTakesAllAlong(t *testing.T) {
	s := newSite(t, "westus")
	const nic = compute + "/networkInterfaces/nic"
	s.do(201, "PUT", nic+version, westVM)
	s.do(201, "PUT", vm+version, fmt.Sprintf(`{"location":"westus","properties":{"linkedTo":%q,"runCommands":[{"name":"r","properties":{"script":"x"}}]}}`, nic))
	s.do(201, "PUT", vm+"/disks/d"+version, `{}`)
	s.do(201, "PUT", vm+"/providers/Contoso.Insight/diagnosticSettings/s"+version, `{}`)
	before := s.get(vm + version).header.Get("ETag")
	// Linked, in both directions.
	for _, c := range [][2]string{{vm, nic}, {nic, vm}} {
		for _, path := range []string{moving, validates} {
			got := s.do(400, "POST", path, moveBody(c[0]))
			got.want("MissingMoveDependentResources", "error", "code")
			if !strings.Contains(got.body, fmt.Sprintf(`"target":%q`, c[1])) {
				t.Errorf("%s", got.body)
			}
		}
	}
	s.do(204, "POST", validates, moveBody(vm, nic))
	s.do(200, "POST", moving, moveBody(vm, nic), `x-ms-arm-resource-system-data: {"lastModifiedBy":"ann"}`)
	got := s.get(moved + version)
	got.want(moved, "id")
	got.want("ann", "systemData", "lastModifiedBy")
	got.want(toGroup+"/providers/Contoso.Compute/networkInterfaces/nic", "properties", "linkedTo")
	if !strings.Contains(got.body, `"runCommands":[{"name":"r"`) {
		t.Errorf("%s", got.body)
	}
	if got.header.Get("ETag") == before {
		t.Error("the ETag is as it was")
	}
	for _, path := range []string{"/disks/d", "/runCommands/r", "/providers/Contoso.Insight/diagnosticSettings/s"} {
		s.get(moved + path + version)
		s.do(404, "GET", vm+path+version, "")
	}
	s.get(compute + "/virtualMachines" + version).wantIDs()
	s.do(404, "GET", vm+version, "")
}

func TestMoveThatIsRefused(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	s.do(201, "PUT", vm+"/disks/d"+version, `{}`)
	s.refused(404, "ResourceNotFound", "POST", moving, moveBody(vm, vm+"2"))
	s.refused(400, "ResourceNotMovable", "POST", moving, moveBody(vm+"/disks/d"))
	s.refused(400, "ResourceNotMovable", "POST", moving, moveBody(strings.Replace(vm, "/rg/", "/other/", 1)))
	s.refused(400, "InvalidRequestContent", "POST", moving, `{"targetResourceGroup":"/subscriptions/x"}`)
	s.refused(400, "InvalidTargetResourceGroup", "POST", moving, `{"targetResourceGroup":"/subscriptions/x","resources":["/a"]}`)
	s.refused(400, "InvalidTargetResourceGroup", "POST", moving, strings.Replace(moveBody(vm), toGroup, sub+"/resourceGroups/RG", 1))
	s.refused(400, "MissingApiVersionParameter", "POST", sub+"/resourceGroups/rg/moveResources", moveBody(vm))
	s.refused(405, "MethodNotAllowed", "PUT", moving, moveBody(vm))
	s.do(201, "PUT", moved+version, westVM)
	s.refused(409, "ResourceAlreadyExists", "POST", moving, moveBody(vm))
	s.get(vm + version)
}

func TestMoveByAnOperation(t *testing.T) {
	for _, fails := range []bool{false, true} {
		s := newSite(t, "westus")
		s.do(201, "PUT", vm+version, westVM)
		s.do(201, "PUT", vm+"2"+version, westVM)
		fault := "x-contoso-fault: async=location"
		if fails {
			fault = "x-contoso-fault: async-fails=location"
		}
		poll := strings.TrimPrefix(s.do(202, "POST", moving, moveBody(vm, vm+"2"), fault).header.Get("Location"), public)
		s.get(vm+version).want("Moving", "properties", "provisioningState")
		s.refused(409, "AnotherOperationInProgress", "POST", moving, moveBody(vm))
		s.do(202, "GET", poll, "")
		s.advance(time.Second)
		if fails {
			s.refused(409, "OperationFailed", "GET", poll, "")
			s.get(vm+version).want("Succeeded", "properties", "provisioningState")
			continue
		}
		s.do(200, "GET", poll, "")
		s.get(moved+version).want("Succeeded", "properties", "provisioningState")
		s.get(moved + "2" + version)
	}
}

func TestMoveThatBreaksOff(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	s.do(201, "PUT", vm+"2"+version, westVM)
	s.refused(500, "MoveBrokeOff", "POST", moving, moveBody(vm, vm+"2"), "x-contoso-fault: halfway")
	s.get(moved + version)
	s.get(vm + "2" + version)
}

// A provider can say that it has moved what it has not.
func TestMoveThatIsOnlyClaimed(t *testing.T) {
	child := "/disks/d" + version
	for _, c := range []struct {
		does         string
		there, moved []string // by the ends of their ids
	}{
		{"none", []string{version, child, "2" + version}, nil},
		{"half", []string{"2" + version}, []string{version, child}},
		{"away", nil, nil},
	} {
		s := newSite(t, "westus")
		s.do(201, "PUT", vm+version, westVM)
		s.do(201, "PUT", vm+child, `{}`)
		s.do(201, "PUT", vm+"2"+version, westVM)
		s.do(200, "POST", moving, moveBody(vm, vm+"2"), "x-contoso-fault: moved="+c.does)
		for _, end := range []string{version, child, "2" + version} {
			for id, holds := range map[string][]string{vm: c.there, moved: c.moved} {
				want := 404
				if slices.Contains(holds, end) {
					want = 200
				}
				s.do(want, "GET", id+end, "")
			}
		}
	}
}
