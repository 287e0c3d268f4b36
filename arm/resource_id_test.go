package arm

import "testing"

func TestValidScope(t *testing.T) {
	const subscription = "/subscriptions/00000000-0000-0000-0000-000000000001"
	for scope, want := range map[string]bool{
		"/": true, subscription: true, subscription + "/resourceGroups/g": true, subscription + "/RESOURCEGROUPS/g": true,
		subscription + "/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m": true,
		"": false, "//": false, subscription + "/": false, subscription + "/resourceGroups": false, subscription + "/resourceGroups/g.": false,
		subscription + "/resourceGroups/g/resources": false, subscription + "/tagNames/n": false, subscription + "/resourceGroups/g/providers/Contoso.Compute": false,
		"/subscriptions/1": false, "/subscriptions": false, "/providers/Contoso.Compute/quotas/q": false, "subscriptions": false,
		subscription + "/resourceGroups/g%41": false,
	} {
		if ValidScope(scope) != want {
			t.Errorf("%q: want %v", scope, want)
		}
	}
}

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
