package inventory

import (
	"slices"
	"strings"
	"testing"
)

// Every table that there is, and that there will be, is emptied of a subscription
// that was deleted.
func TestEveryTableIsErased(t *testing.T) {
	// Jobs go by eraseOtherJobs; what is no subscription's stays.
	kept := []string{"subscriptions", "jobs", "secrets", "request_batches", "request_parts"}
	for table := range primaryKeys(t) {
		erased := slices.Contains(erasures, "DELETE FROM "+table+" WHERE subscription = ?")
		if erased == slices.Contains(kept, table) {
			t.Errorf("%s: erased %v", table, erased)
		}
	}
	for _, statement := range append([]string{eraseOtherJobs}, erasures...) {
		if !strings.HasPrefix(statement, "DELETE FROM ") || !strings.Contains(statement, "WHERE subscription = ?") {
			t.Errorf("%q erases more than one subscription", statement)
		}
	}
}
