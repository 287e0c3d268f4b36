package failure

import (
	"strings"
	"testing"
)

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
