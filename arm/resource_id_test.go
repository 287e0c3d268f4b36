package arm

import "testing"

func TestValidResourceID(t *testing.T) {
	const group = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g"
	for id, want := range map[string]bool{
		group + "/providers/Contoso.Compute/virtualMachines/m":                                           true,
		group + "/providers/contoso.compute/virtualmachines/m/disks/d":                                   true,
		group + "/providers/Contoso.Compute/virtualMachines/m/providers/Contoso.Insight/annotations/a b": true,
		group + "/providers/Contoso.Compute/virtualMachines/m#1":                                         true,
		group + "/providers/Contoso.Compute/virtualMachines/m;1":                                         true,
		group + "/providers/Contoso.Compute/virtualMachines/m%3B1":                                       false,
		group + "/providers/Contoso.Compute/virtualMachines/m.":                                          false,
		group + "/providers/Contoso.Compute/virtualMachines/m\u200b":                                     false,
		group + "/providers/Contoso.Compute/virtualMachines/m/providers/Contoso.Insight/annotations/ a":  false,
		group + "/providers/Contoso.Compute/virtualMachines/m/":                                          false,
		group + "/providers/Contoso.Compute/virtualMachines":                                             false,
		group + "/providers/Contoso.Compute":                                                             false,
		group + "/providers/Contoso.Compute/virtual-machines/m":                                          false,
		group + "/providers/Contoso.Compute/virtualMachines/m?x":                                         false,
		group + "/providers/Contoso.Compute/virtualMachines/m%20":                                        false,
		group: false,
		"/subscriptions/1/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m":                   false,
		"/subscriptions/00000000-0000-0000-0000-000000000001/providers/Contoso.Compute/virtualMachines/m": false,
		"https://portico.example" + group + "/providers/Contoso.Compute/virtualMachines/m":                false,
		"m": false, "": false,
	} {
		if ValidResourceID(id) != want {
			t.Errorf("%q: want %v", id, want)
		}
	}
}
