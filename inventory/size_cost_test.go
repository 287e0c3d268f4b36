package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portico/inventory/tagindex"
	"portico/test/harness"
)

// sizes are two numbers of resources, the second ten times the first. With
// PORTICO_BENCH_LONG they are those of a large subscription.
func sizes() [2]int {
	if os.Getenv("PORTICO_BENCH_LONG") != "" {
		return [2]int{20_000, 200_000}
	}
	return [2]int{2_000, 20_000}
}

// namesInUse is how many names of tags the resources of a sized store have, each with two
// values.
const namesInUse = 100

// fillSized makes resources of one group, a tag of each, and a tombstone of each.
func fillSized(resources int, generation string) []string {
	numbers := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d) `, resources)
	name := fmt.Sprintf(`'t' || CAST(i %% %d AS TEXT)`, namesInUse)
	value := fmt.Sprintf(`i / %d %% 2`, namesInUse)
	return []string{
		`INSERT INTO resources (` + resourceColumns + `, name_key) ` + numbers + `
			SELECT 's', '/' || CAST(1000000 + i AS TEXT), '/' || CAST(1000000 + i AS TEXT),
				'rg', 'type', 'type', 'm' || CAST(i AS TEXT), '', 'westus', 'westus',
				1, 0, 0, ` + generation + `, 'Succeeded', '2024-01-01', '{"tags":{"' || ` + name + ` || '":"' || CAST(` + value + ` AS TEXT) || '"}}', '', '',
				1700000000000000, 1700000000000000, NULL, 'm' || CAST(i AS TEXT)
			FROM n`,
		`INSERT INTO resource_tags (subscription, tag, resource, value) ` + numbers + `
			SELECT 's', ` + name + `, '/' || CAST(1000000 + i AS TEXT), CASE ` + value + fmt.Sprintf(` WHEN 0 THEN %d ELSE %d END FROM n`, tagindex.Digest("0"), tagindex.Digest("1")),
		`INSERT INTO tombstones (subscription, key, region, at) SELECT subscription, key, region, 1700000000000000 FROM resources`,
	}
}

// sizedWork is work of which the cost has to follow from the number of resources alone.
var sizedWork = map[string]func(t *testing.T, s *Store, resources int){
	"tag names": func(t *testing.T, s *Store, resources int) {
		t.Helper()
		names, counted := 0, 0
		for after := ""; ; names++ {
			name, err := s.Tags.Next(t.Context(), "s", after)
			harness.OK(t, err)
			if after = name; name == "" {
				break
			}
			uses, known, err := s.Tags.Uses(t.Context(), "s", name)
			if err != nil || !known || len(uses) != 2 {
				t.Fatal(uses, known, err)
			}
			for _, use := range uses {
				counted += use.Resources
			}
		}
		if names != namesInUse || counted != resources {
			t.Errorf("%d names with %d resources, want %d with %d", names, counted, namesInUse, resources)
		}
	},
	"erasing": func(t *testing.T, s *Store, _ int) {
		t.Helper()
		if _, _, err := s.PutSubscription(t.Context(), Subscription{ID: "s", TenantID: "t", State: Deleted}); err != nil {
			t.Fatal(err)
		}
		jobs, err := s.Jobs.Claim(t.Context(), "test", time.Hour, 1, EraseJob)
		if err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		for after := ""; ; {
			e, err := s.EraseSubscription(t.Context(), jobs[0], after)
			harness.OK(t, err)
			if after = e.After; e.Done {
				break
			}
		}
		left := 0
		harness.OK(t, s.engine.Read(t.Context()).One(`SELECT (SELECT COUNT(*) FROM resources) + (SELECT COUNT(*) FROM resource_tags) + (SELECT COUNT(*) FROM tombstones)`)(&left))
		if left != 0 {
			t.Errorf("%d rows are left", left)
		}
	},
}

// The names of tags cost what they count, and the erasing of a subscription what it
// erases, for each resource the same with ten times as many.
func TestCostsGrowWithResources(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "autovacuum=off", "fsync=off")
	for what, work := range sizedWork {
		t.Run(what+", postgres", func(t *testing.T) {
			var pages [2]float64
			for i, n := range sizes() {
				dsn := cluster.CreateDatabase(t, fmt.Sprint(strings.ReplaceAll(what, " ", "_"), n))
				pages[i] = pagesOfPostgres(t, dsn, n, work) / float64(n)
				t.Logf("%d resources: %.2f pages for each", n, pages[i])
			}
			if pages[1] > 1.5*pages[0] {
				t.Errorf("pages for each resource: %.2f", pages)
			}
		})
		t.Run(what+", sqlite", func(t *testing.T) {
			for _, n := range sizes() {
				o := testOptions(t)
				s := openTest(t, o)
				makeGroup(t, s, "rg")
				db, err := sql.Open("sqlite", o.DSN)
				harness.OK(t, err)
				for _, statement := range fillSized(n, `x'000102030405060708090a0b0c0d0e0f'`) {
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				harness.OK(t, db.Close())
				started := time.Now()
				work(t, s, n)
				t.Logf("%d resources: %v for each", n, time.Since(started)/time.Duration(n))
			}
		})
	}
}

// A connection tells PostgreSQL what it has counted only some time later. With tellCounts, a
// query of its own, it does so at its end; forgetCounts then sets all counts to zero.
const (
	tellCounts   = "SELECT pg_stat_force_next_flush()"
	forgetCounts = "SELECT pg_stat_reset()"
)

// pagesOfPostgres counts the pages of tables and indexes that work touches.
func pagesOfPostgres(t *testing.T, dsn string, n int, work func(*testing.T, *Store, int)) (pages float64) {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, dsn)
	harness.OK(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	s := openPostgres(t, dsn, 2)
	makeGroup(t, s, "rg")
	for _, statement := range append(fillSized(n, `'\x000102030405060708090a0b0c0d0e0f'`), "VACUUM ANALYZE", tellCounts, forgetCounts) {
		if _, err := conn.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	work(t, s, n)
	harness.OK(t, s.Close()) // its connections tell what they read when they end
	harness.Await(t, time.Minute, "the end of the store's connections", func() bool {
		others := 0
		harness.OK(t, conn.QueryRow(ctx, `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&others))
		return others == 0
	})
	harness.OK(t, conn.QueryRow(ctx, `SELECT SUM(heap_blks_read + heap_blks_hit + COALESCE(idx_blks_read + idx_blks_hit, 0)) FROM pg_statio_user_tables`).Scan(&pages))
	return pages
}
