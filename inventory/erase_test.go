package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory/engine"
	"portico/inventory/tagindex"
)

// Every table that there is, and that there will be, is emptied of a subscription
// that was deleted.
func TestEveryTableIsErased(t *testing.T) {
	// Jobs go by eraseOtherJobs; what is no subscription's stays, as the roles of a
	// tenant, the names of its callers, and what is still to be told.
	kept := []string{"subscriptions", "scope_changes", "jobs", "secrets", "request_batches", "request_parts", "absent_endpoints", "role_definitions", "unnumbered_events", "events", "event_numbers", "event_counts", "sink_orders", "replica_errors", "replica_traffic", "drains", "caller_names"}
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

// The tags of a subscription that has very many go in several steps, and none of
// another's.
func TestManyTagsAreErasedInSteps(t *testing.T) {
	s := openTest(t, testOptions(t))
	statements, _ := texts(t)
	tag := func(sub string, first, end int) {
		t.Helper()
		if err := s.write(t.Context(), engine.Unflushed, engine.LockSet{}, func(t *tx) error {
			for i := first; i < end; i++ {
				if err := t.Later(statements["putTag"], sub, fmt.Sprint("name", i%7), fmt.Sprint("/resource", i), tagindex.UnknownValue); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	const tags, piece = 2*tagsAtOnce + 1, 1000 // a write has a bound, which all at once may reach
	for first := 0; first < tags; first += piece {
		tag("s", first, min(first+piece, tags))
	}
	tag("t", 0, 2)
	if _, _, err := s.PutSubscription(t.Context(), Subscription{ID: "s", TenantID: "t", State: Deleted}); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Jobs.Claim(t.Context(), "test", time.Minute, 1, EraseJob)
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	count := func(sub string) (n int) {
		if err := s.engine.Read(t.Context()).One(`SELECT COUNT(*) FROM resource_tags WHERE subscription = ?`, sub)(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, left := range []int{tagsAtOnce + 1, 1, 0} {
		e, err := s.EraseSubscription(t.Context(), jobs[0], "")
		if err != nil || e.Done != (left == 0) || count("s") != left {
			t.Errorf("%+v, %v: %d are left, want %d", e, err, count("s"), left)
		}
	}
	if n := count("t"); n != 2 {
		t.Errorf("of another subscription %d are left", n)
	}
}
