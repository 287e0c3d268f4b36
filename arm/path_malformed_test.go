package arm

import "testing"

// A path that cannot be read names nothing.
func TestMalformedPathNamesNothing(t *testing.T) {
	var p Path
	if err := p.Parse("/subscriptions/s/resourceGroups/g/providers/Contoso.Compute/virtualMachines/a%2525b"); err == nil {
		t.Error("it is read")
	}
	if p.Subscription() != "" || p.Group() != "" || p.Hops() != 0 {
		t.Errorf("%q, %q, %d hops", p.Subscription(), p.Group(), p.Hops())
	}
}
