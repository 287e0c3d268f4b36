package arm

import (
	"strings"
	"testing"
)

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

// Letters of a group's name can be of another length in the other case, and the
// name can be a word of the path.
func TestShortNames(t *testing.T) {
	const inGroup = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/"
	const name = "Contoso.Compute/virtualMachines/m"
	for _, group := range []string{"g", "Ring", strings.Repeat("Ⱥ", 90), strings.Repeat("İ", 90), "providers", "Ω.(1)"} {
		for _, providers := range []string{"providers", "PROVIDERS"} {
			if got := ShortName(inGroup + group + "/" + providers + "/" + name); got != name {
				t.Errorf("%s: %q", group, got)
			}
		}
	}
	for _, id := range []string{"", "m", "/", inGroup + "g", inGroup + "g/providers"} {
		if got := ShortName(id); got != id {
			t.Errorf("%q: %q", id, got)
		}
	}
}
