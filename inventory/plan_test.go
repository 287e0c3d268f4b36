package inventory

import (
	"strings"
	"testing"

	"portico/inventory/engine"
	"portico/test/harness"
)

// scanStep reads a step of a plan.
func scanStep(scan engine.Scanner) (detail string, err error) {
	var id, parent, unused int
	err = scan(&id, &parent, &unused, &detail)
	return detail, err
}

// What operators are shown of doubts is read in the order of keys that there are.
func TestDoubtsUseAKey(t *testing.T) {
	s := openTest(t, testOptions(t))
	id := make([]byte, 16)
	for _, c := range []struct {
		statement, index string
		args             []any
	}{
		{openKeys, "intents_1", []any{"s", "a", 10}},
		{openKeysOf, "intents_1", []any{"s", "a", 10}},
		{passJobs, "jobs_1", []any{"s", id, 10}},
		{passJobsOf, "jobs_1", []any{"s", id, 10}},
		{jobsOfRow + ` ORDER BY id`, "jobs_1", []any{"s", id, id, id, id}},
	} {
		plan, err := engine.Collect(s.engine.Read(t.Context()), scanStep, "EXPLAIN QUERY PLAN "+c.statement, c.args...)
		harness.OK(t, err)
		text := strings.Join(plan, "; ")
		if !strings.Contains(text, "INDEX sqlite_autoindex_"+c.index+" ") || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN") {
			t.Errorf("%s: %s", c.statement, text)
		}
	}
}

// The subscriptions of a caller are found by the caller's assignments, however many others
// there are.
func TestGrantedSubscriptionsUseAKey(t *testing.T) {
	s := openTest(t, testOptions(t))
	statements, _ := texts(t)
	condition, principals := engine.Among("principal", []string{"p"}, strings.ToLower)
	plan, err := engine.Collect(s.engine.Read(t.Context()), scanStep, "EXPLAIN QUERY PLAN "+statements["grantedSubscriptions"]+condition+` ORDER BY subscription LIMIT ?`,
		append(append([]any{"t", "0"}, principals...), 10)...)
	harness.OK(t, err)
	if text := strings.Join(plan, "; "); !strings.Contains(text, "INDEX role_assignments_in_tenant (tenant=? AND principal=? AND subscription>?)") || strings.Contains(text, "SCAN") {
		t.Error(text)
	}
}

// What a sink has not taken is found by its sink and state, however many others there are.
func TestSinkEventsUseAKey(t *testing.T) {
	s := openTest(t, testOptions(t))
	statements, _ := texts(t)
	for _, c := range []struct {
		statement string
		args      []any
	}{
		{statements["listSinkEvents"], []any{"s", 0, 0, 10}},
		{statements["countSinkEvents"], []any{"s"}},
		{statements["anySinkEvents"], []any{"s", 10}},
		{statements["forgottenSinkDead"], []any{"s", 1, 5, 10}},
	} {
		plan, err := engine.Collect(s.engine.Read(t.Context()), scanStep, "EXPLAIN QUERY PLAN "+c.statement, c.args...)
		harness.OK(t, err)
		text := strings.Join(plan, "; ")
		if !strings.Contains(text, "INDEX sink_events_by_state (sink=?") || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN") {
			t.Errorf("%s: %s", c.statement, text)
		}
	}
}

// What reads, numbers and forgets events goes by a key, however many there are of others.
func TestEventsUseAKey(t *testing.T) {
	s := openTest(t, testOptions(t))
	statements, _ := texts(t)
	for _, c := range []struct {
		statement, index string
		args             []any
	}{
		{"eventsAfter", "events_by_place (place>?)", []any{1, 10}},
		{"oldestEvents", "events_by_place (place>?)", []any{1, 10}},
		{"subscriptionEvents", "sqlite_autoindex_events_1 (subscription=? AND number<?)", []any{"s", 9, 10}},
		{"oldestEventsOf", "sqlite_autoindex_events_1 (subscription=?)", []any{"s", 10}},
		{"deleteEvents", "sqlite_autoindex_events_1 (subscription=? AND number<?)", []any{"s", 9}},
		{"resourceEvents", "events_by_key (subscription=? AND key=? AND number<?)", []any{"s", "k", 9, 10}},
		{"removeUnnumbered", "unnumbered_events_by_time (at<?)", []any{1}},
		{"recordEvents", "sqlite_autoindex_unnumbered_events_1 (subscription=? AND at>?)", []any{"s", "s", 1, 1, "i", 1, "r"}},
	} {
		plan, err := engine.Collect(s.engine.Read(t.Context()), scanStep, "EXPLAIN QUERY PLAN "+statements[c.statement], c.args...)
		harness.OK(t, err)
		if text := strings.Join(plan, "; "); !strings.Contains(text, c.index) || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN") {
			t.Errorf("%s: %s", c.statement, text)
		}
	}
	for statement, index := range map[string]string{"nextUnnumbered": "unnumbered_events_by_time", "largestKept": "event_counts_by_kept"} {
		plan, err := engine.Collect(s.engine.Read(t.Context()), scanStep, "EXPLAIN QUERY PLAN "+statements[statement], 10)
		harness.OK(t, err)
		if text := strings.Join(plan, "; "); !strings.Contains(text, "USING INDEX "+index) || strings.Contains(text, "TEMP B-TREE") {
			t.Errorf("%s: %s", statement, text)
		}
	}
}
