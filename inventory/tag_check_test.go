package inventory

import (
	"database/sql"
	"slices"
	"testing"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

// What an earlier version writes beside this one is found by its value: at once where it
// leaves the value out, and after a comparison where it changes a resource alone.
func TestTagsOfAnEarlierVersion(t *testing.T) {
	for _, driver := range []string{engine.SQLite, engine.Postgres} {
		t.Run(driver, func(t *testing.T) {
			o := testOptions(t)
			sqlDriver := "sqlite"
			if driver == engine.Postgres {
				cluster := harness.StartPostgres(t, "fsync=off")
				o.Driver, o.DSN, sqlDriver = engine.Postgres, cluster.CreateDatabase(t, "portico"), "pgx"
			}
			s := openTest(t, o)
			makeGroup(t, s, "rg")
			for name, value := range map[string]string{"a": "old", "b": "old", "c": "new"} {
				ticket, err := s.Begin(t.Context(), vmWrite("rg", name))
				if err == nil {
					_, err = s.Settle(t.Context(), ticket, Answer{
						Outcome: index.Succeeded, Status: 200, Details: &Details{Tags: map[string]string{"env": value}},
					})
				}
				harness.OK(t, err)
			}
			db, err := sql.Open(sqlDriver, o.DSN)
			harness.OK(t, err)
			defer db.Close()
			earlier := func(statements ...string) {
				t.Helper()
				if err := runAll(func(statement string) error {
					_, err := db.ExecContext(t.Context(), statement)
					return err
				}, statements...); err != nil {
					t.Fatal(err)
				}
			}
			check := func(what, value string, valued bool, want ...string) {
				t.Helper()
				q := ResourceQuery{Subscription: "s", Tag: "env", TagValue: value, OfTagValue: true}
				rows, err := s.Resources(t.Context(), q)
				harness.OK(t, err)
				var got []string
				for _, r := range rows {
					got = append(got, r.Name)
				}
				known, err := q.valued(s.engine.Read(t.Context()))
				if err != nil || !slices.Equal(got, want) || known != valued {
					t.Errorf("%s: got %q by values %v, %v; want %q by values %v", what, got, known, err, want, valued)
				}
			}
			mend := func(want int) {
				t.Helper()
				if n := checkTags(t, s); n != want {
					t.Errorf("%d values were mended, want %d", n, want)
				}
			}
			check("before", "new", true, "c")
			earlier(
				`UPDATE resources SET details = '{"tags":{"Env":"new"}}' WHERE name = 'a'`,
				`DELETE FROM resource_tags WHERE resource LIKE '%/a'`,
				`INSERT INTO resource_tags (subscription, tag, resource) SELECT subscription, 'env', key FROM resources WHERE name = 'a'`)
			check("a value that is left out", "new", false, "a", "c")
			mend(1)
			check("that, mended", "new", true, "a", "c")
			earlier(`UPDATE resources SET details = '{"tags":{"env":"new"}}' WHERE name = 'b'`)
			mend(1)
			check("a resource that was changed alone, mended", "new", true, "a", "b", "c")
			check("its value before", "old", true)
			mend(0)
		})
	}
}
