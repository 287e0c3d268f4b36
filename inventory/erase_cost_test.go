package inventory

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portico/test/harness"
)

// fillErased makes resources of so many groups, and a tombstone and a tag of each.
var fillErased = []string{`INSERT INTO resources (` + resourceColumns + `, name_key)
	WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %[1]d)
	SELECT 's', '/rg' || CAST(i %% %[2]d AS TEXT) || '/' || CAST(i AS TEXT), '/rg' || CAST(i %% %[2]d AS TEXT) || '/' || CAST(i AS TEXT),
		'rg' || CAST(i %% %[2]d AS TEXT), 'type', 'type', 'm' || CAST(i AS TEXT), '', 'westus', 'westus',
		1, 0, 0, %[3]s, 'Succeeded', '2024-01-01', '{}', '', '', 1700000000000000, 1700000000000000, NULL, 'm' || CAST(i AS TEXT)
	FROM n`,
	`INSERT INTO resource_tags (subscription, tag, resource, value) SELECT subscription, 'tag', key, 0 FROM resources`,
	`INSERT INTO tombstones (subscription, key, region, at) SELECT subscription, key, region, 1700000000000000 FROM resources`,
}

// The erasing of a subscription costs what there is to erase, however that lies in groups,
// and no transaction erases much.
func TestErasingCostsWhatItErases(t *testing.T) {
	t.Parallel()
	const resources, most = 4_000, 1_000
	cluster := harness.StartPostgres(t, "autovacuum=off", "fsync=off")
	for _, groups := range []int{1, 400} {
		t.Run(fmt.Sprint("sqlite, ", groups, " groups"), func(t *testing.T) {
			o := testOptions(t)
			erased(t, openTest(t, o), groups, most, func(ctx context.Context) error {
				db, err := sql.Open("sqlite", o.DSN)
				if err != nil {
					return err
				}
				defer db.Close()
				for _, statement := range fillErased {
					if _, err := db.ExecContext(ctx, fill(statement, resources, groups, `x'000102030405060708090a0b0c0d0e0f'`)); err != nil {
						return err
					}
				}
				return nil
			})
		})
		t.Run(fmt.Sprint("postgres, ", groups, " groups"), func(t *testing.T) {
			dsn := cluster.CreateDatabase(t, fmt.Sprint("groups", groups))
			conn, err := pgx.Connect(t.Context(), dsn)
			harness.OK(t, err)
			defer conn.Close(t.Context())
			s := openPostgres(t, dsn, 2)
			erased(t, s, groups, most, func(ctx context.Context) error {
				for _, statement := range fillErased {
					if _, err := conn.Exec(ctx, fill(statement, resources, groups, `'\x000102030405060708090a0b0c0d0e0f'`), pgx.QueryExecModeSimpleProtocol); err != nil {
						return err
					}
				}
				for _, statement := range []string{"ANALYZE", tellCounts, forgetCounts} {
					if _, err := conn.Exec(ctx, statement); err != nil {
						return err
					}
				}
				return nil
			})
			if err := s.Close(); err != nil { // its connections tell what they read when they end
				t.Fatal(err)
			}
			read := 0.0
			harness.Await(t, time.Minute, "the server to have counted", func() bool {
				var gone float64
				harness.OK(t, conn.QueryRow(t.Context(), `SELECT SUM(n_tup_del), SUM(seq_tup_read) + (SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes) FROM pg_stat_user_tables`).Scan(&gone, &read))
				return gone >= 3*resources+float64(groups)
			})
			if each := read / (3*resources + float64(groups)); each > 8 {
				t.Errorf("%v rows are read for each that is erased", each)
			}
		})
	}
}

func fill(statement string, resources, groups int, generation string) string {
	if statement == fillErased[0] {
		return fmt.Sprintf(statement, resources, groups, generation)
	}
	return statement
}

// erased fills a store and has its subscription erased, by steps of which none erases more
// than most rows.
func erased(t *testing.T, s *Store, groups, most int, fill func(context.Context) error) {
	t.Helper()
	for i := range groups {
		makeGroup(t, s, fmt.Sprint("rg", i))
	}
	harness.OK(t, fill(t.Context()))
	if _, _, err := s.PutSubscription(t.Context(), Subscription{ID: "s", TenantID: "t", State: Deleted}); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.Jobs.Claim(t.Context(), "test", time.Hour, 1, EraseJob)
	if err != nil || len(jobs) != 1 {
		t.Fatal(jobs, err)
	}
	left := func() (n int) {
		harness.OK(t, s.engine.Read(t.Context()).One(`SELECT COUNT(*) FROM resources WHERE subscription = 's'`)(&n))
		return n
	}
	for before, after := left(), ""; ; {
		e, err := s.EraseSubscription(t.Context(), jobs[0], after)
		harness.OK(t, err)
		after = e.After
		now := 0
		if groups == 1 { // counting reads them too
			now = left()
			if before-now > most {
				t.Errorf("%d resources are erased in one step", before-now)
			}
		}
		if before = now; e.Done {
			return
		}
	}
}
