package rbac

import "testing"

// An action counts as unknown only where it cannot be one of a known type, whatever its
// wildcards stand for.
func TestActionsOfNoKnownType(t *testing.T) {
	known := prefixes{"microsoft.resources/", "contoso.compute/virtualmachines/", "contoso.compute/virtualmachines/disks/", "contoso.compute/register/"}
	for action, want := range map[string]bool{
		"*": true, "*/read": true, "Contoso.*": true, "contoso.compute/*/read": true, "Contoso.Compute/virtualMachines/*": true,
		"Contoso.Compute/VIRTUALMACHINES/read": true, "Contoso.Compute/virtualMachines/start/action": true, "Contoso.Compute/virtualMachines/disks/write": true,
		"Contoso.Compute/register/action": true, "Microsoft.Resources/anything/read": true, "Contoso.Compute/virtual*": true,
		"Contoso.Compute/virtualMachine/read": false, "Contoso.Compute/virtualMachines/nothing/read": false, "Contoso.Computer/*": false,
		"Nope.Nothing/foos/read": false, "Contoso.Compute/disks/*": false, "Contoso.Compute/virtualMachines": false,
	} {
		if got := known.mayMatch(action); got != want {
			t.Errorf("%s: %v", action, got)
		}
	}
}
