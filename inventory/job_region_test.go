package inventory

import (
	"database/sql"
	"io/fs"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/test/harness"
)

// Jobs that an earlier version made for rows belong to the regions of these.
func TestRegionsOfEarlierJobs(t *testing.T) {
	for _, driver := range []string{engine.SQLite, engine.Postgres} {
		t.Run(driver, func(t *testing.T) {
			o := testOptions(t)
			dialect, sqlDriver := goose.DialectSQLite3, "sqlite"
			if driver == engine.Postgres {
				cluster := harness.StartPostgres(t, "fsync=off")
				o.Driver, o.DSN = engine.Postgres, cluster.CreateDatabase(t, "portico")
				dialect, sqlDriver = goose.DialectPostgres, "pgx"
			}
			s, err := Open(t.Context(), o)
			harness.OK(t, err)
			harness.OK(t, s.SeedSubscriptions(t.Context(), []Subscription{{ID: "s", TenantID: "t"}}))
			makeGroup(t, s, "rg")
			ticket, err := s.Begin(t.Context(), vmWrite("rg", "vm"))
			harness.OK(t, err)
			if _, err := s.Settle(t.Context(), ticket, Answer{Outcome: index.Ambiguous}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.AddJob(t.Context(), jobrow.Job{Kind: "sweep", Payload: "{}"}); err != nil {
				t.Fatal(err)
			}
			harness.OK(t, s.Close())
			migrateDownTo(t, dialect, sqlDriver, o.DSN, 7)
			jobs, err := openTest(t, o).Jobs(t.Context(), jobrow.Query{})
			if err != nil || len(jobs) != 2 {
				t.Fatal(jobs, err)
			}
			for _, j := range jobs {
				if want := map[string]string{VerifyJob: vmWrite("rg", "vm").Region}[j.Kind]; j.Region != want {
					t.Errorf("%s is of the region %q, want %q", j.Kind, j.Region, want)
				}
			}
		})
	}
}

// migrateDownTo brings a database to an earlier layout.
func migrateDownTo(t *testing.T, dialect goose.Dialect, driver, dsn string, version int64) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	harness.OK(t, err)
	defer db.Close()
	files, err := fs.Sub(migrations, "migrations")
	harness.OK(t, err)
	provider, err := goose.NewProvider(dialect, db, files, goose.WithDisableGlobalRegistry(true), goose.WithTableName("schema_versions"))
	harness.OK(t, err)
	if _, err := provider.DownTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}
