package inventory

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portico/inventory/engine"
)

// Each way in which clients narrow a list has an index of its own, and none
// sorts: a page costs what is on it, however many resources there are.
func TestSelectionsUseTheirIndex(t *testing.T) {
	s, err := Open(context.Background(), Options{DSN: filepath.Join(t.TempDir(), "plan.db"), SendWithin: time.Second, CallLimit: time.Second, CacheEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, c := range []struct {
		name, index string
		query       ResourceQuery
	}{
		{"all", "sqlite_autoindex_resources_1", ResourceQuery{}},
		{"group", "resources_by_group", ResourceQuery{Group: "g"}},
		{"type", "resources_by_type", ResourceQuery{Type: "t"}},
		{"name", "resources_by_name", ResourceQuery{Name: "n"}},
		{"location", "resources_by_location", ResourceQuery{Location: "l"}},
		{"tag", "sqlite_autoindex_resource_tags_1", ResourceQuery{Tag: "t"}},
		{"group and type", "resources_by_group", ResourceQuery{Group: "g", Type: "t"}},
		{"name and type", "resources_by_name", ResourceQuery{Name: "n", Type: "t"}},
		{"tag and type", "sqlite_autoindex_resource_tags_1", ResourceQuery{Tag: "x", Type: "t"}},
		{"type and location", "resources_by_type", ResourceQuery{Type: "t", Location: "l"}},
	} {
		for _, visible := range []bool{false, true} {
			c.query.Subscription, c.query.After, c.query.Limit, c.query.Visible = "s", "a", 10, visible
			statement, args := c.query.statement()
			plan, err := engine.Collect(s.read(ctx), scanStep, "EXPLAIN QUERY PLAN "+statement, args...)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(plan, "; ")
			if !strings.Contains(text, "INDEX "+c.index+" ") || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN") {
				t.Errorf("%s (visible %v): %s", c.name, visible, text)
			}
		}
	}
}

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
		{jobsOfRow + ` ORDER BY id`, "jobs_1", []any{"s", id, id, id}},
	} {
		plan, err := engine.Collect(s.read(t.Context()), scanStep, "EXPLAIN QUERY PLAN "+c.statement, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(plan, "; ")
		if !strings.Contains(text, "INDEX sqlite_autoindex_"+c.index+" ") || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN") {
			t.Errorf("%s: %s", c.statement, text)
		}
	}
}
