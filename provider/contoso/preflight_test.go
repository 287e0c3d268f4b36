package contoso

import "testing"

const preflights = sub + "/resourceGroups/rg/providers/Contoso.Compute/deployments/00000000-0000-0000-0000-0000000000d1/preflight?api-version=2020-10-01"

// What a PUT is refused for, its preflight is, and nothing is kept.
func TestPreflight(t *testing.T) {
	s := newSite(t, "westus")
	const machine = `"type":"Contoso.Compute/virtualMachines","apiVersion":"2024-01-01"`
	s.do(201, "PUT", vm+version, westVM)
	for body, code := range map[string]string{
		`{"name":"new",` + machine + `,"location":"westus","properties":{"a":1}}`:                              "",
		`{"name":"vm1",` + machine + `,"location":"westus"}`:                                                   "",
		`{"name":"new",` + machine + `,"location":"westus","kind":"a b"}`:                                      "InvalidRequestContent",
		`{"name":"new",` + machine + `,"location":"eastus"}`:                                                   "LocationNotAvailableForResourceType",
		`{"name":"none/d","type":"Contoso.Compute/virtualMachines/disks","apiVersion":"2024-01-01"}`:           "",
		`{"name":"vm1/d","type":"Contoso.Compute/virtualMachines/disks","apiVersion":"2024-01-01","kind":7}`:   "InvalidRequestContent",
		`{"name":"new","type":"Contoso.Compute/planets","apiVersion":"2024-01-01"}`:                            "InvalidResourceType",
		`{"name":"new","type":"Contoso.Elsewhere/virtualMachines","apiVersion":"2024-01-01"}`:                  "InvalidResourceType",
		`{"name":"new","type":"Contoso.Compute/virtualMachines","apiVersion":"yesterday","location":"westus"}`: "InvalidApiVersionParameter",
		`7`: "InvalidRequestContent",
		`{"name":"a",` + machine + `,"location":"eastus"},{"name":"b",` + machine + `,"location":"westus"},{"name":"c",` + machine + `,"kind":"a b"}`: "MultipleErrorsOccurred",
	} {
		got := s.do(200, "POST", preflights, `{"resources":[`+body+`]}`)
		if code == "" {
			got.want("Succeeded", "status")
			continue
		}
		got.want("Failed", "status")
		got.want(code, "error", "code")
	}
	s.get(compute + "/virtualMachines" + version).wantIDs(vm)
	s.refused(400, "InvalidRequestContent", "POST", preflights, `{"resources":[]}`)
	s.refused(400, "InvalidApiVersionParameter", "POST", preflights+"-preview", `{"resources":[]}`)
}
