package frontdoor

import (
	"testing"

	"portico/inventory"
)

func TestAStateThatNobodyNamedIsSucceeded(t *testing.T) {
	if got := shownState(inventory.Resource{Phase: inventory.Live}); got != "Succeeded" {
		t.Errorf("%s", got)
	}
}
