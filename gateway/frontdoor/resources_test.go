package frontdoor

import (
	"testing"

	"portico/inventory"
	"portico/inventory/index"
)

func TestAMissingStateIsSucceeded(t *testing.T) {
	if got := shownState(inventory.Resource{Phase: index.Live}); got != "Succeeded" {
		t.Errorf("%s", got)
	}
}
