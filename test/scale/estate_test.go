package scale

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"portico/test/harness"
)

// An estate has as many of each as the number of its resources says: a thousand resources
// in ten groups make a subscription, and ten roles are assigned there.
const (
	ofSubscription = 1000
	ofGroup        = 100
	assignments    = 10
	regions        = 50
)

// regionOf is the region of a subscription's resource with a number.
func regionOf(i int) string {
	if names := harness.RegionNames(); i%regions < len(names) {
		return names[i%regions]
	}
	return fmt.Sprintf("region%02d", i%regions)
}

func subscriptionID(n int) string { return fmt.Sprintf("00000000-0000-0000-0001-%012d", n) }

func machineID(subscription, i int) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/rg%d/providers/Contoso.Compute/virtualMachines/vm%d", subscriptionID(subscription), i/ofGroup, i)
}

// statements fill a store. [i] counts from 0 up to the number of rows.
var statements = []struct {
	per  int // resources for one row
	text string
}{
	{ofSubscription, `INSERT INTO subscriptions (subscription, tenant, display_name, state, features, covered, version, created, changed)
		SELECT {id i}, '{tenant}', 'estate ' || i, 0, '', 1, 1, {time}, {time} FROM n`},
	{ofGroup, `INSERT INTO resource_groups (subscription, key, name, location, managed_by, tags, state, incarnation, generation, etag, created, changed)
		SELECT {id i / 10}, 'rg' || (i % 10), 'rg' || (i % 10), 'westus', '', '{}', 0, {bytes}, {bytes}, '', {time}, {time} FROM n`},
	{1, `INSERT INTO resources (subscription, key, id, grp, type, type_name, name, name_key, parent, region, location,
			phase, verify, following, generation, provisioning_state, api_version, details, creator, creator_kind, created, changed)
		SELECT {id i / 1000},
			'/subscriptions/' || {id i / 1000} || '/resourcegroups/rg' || (i % 1000 / 100) || '/providers/contoso.compute/virtualmachines/vm' || (i % 1000),
			'/subscriptions/' || {id i / 1000} || '/resourceGroups/rg' || (i % 1000 / 100) || '/providers/Contoso.Compute/virtualMachines/vm' || (i % 1000),
			'rg' || (i % 1000 / 100), 'contoso.compute/virtualmachines', 'Contoso.Compute/virtualMachines', 'vm' || (i % 1000), 'vm' || (i % 1000), '', {region}, {region},
			1, 0, 0, {bytes}, 'Succeeded', '2024-01-01', CASE WHEN i % 10 = 7 THEN '{"tags":{"tier":"gold"}}' ELSE '{}' END, '', '', {time}, {time} FROM n`},
	{0, `INSERT INTO resource_tags (subscription, tag, resource) SELECT subscription, 'tier', key FROM resources WHERE details <> '{}'`},
	{0, `INSERT INTO usage (subscription, grp, type, n) SELECT subscription, grp, type, COUNT(*) FROM resources GROUP BY subscription, grp, type`},
	{0, `INSERT INTO usage (subscription, grp, type, n) SELECT subscription, '', '', COUNT(*) FROM resource_groups GROUP BY subscription`},
	{ofSubscription / assignments, `INSERT INTO role_assignments (subscription, scope, name, tenant, principal, role, scope_id, only_if, properties, generation, etag, created, changed)
		SELECT {id i / 10}, '/subscriptions/' || {id i / 10}, {id 1000000000 + i}, '{tenant}', {id 2000000000 + i}, 'acdd72a7-3385-48ef-bd42-f606fba81ae7',
			'/subscriptions/' || {id i / 10}, '', '{}', {bytes}, '', {time}, {time} FROM n`},
}

// fill puts an estate into a store that a gateway has made and does not use now.
func fill(t *testing.T, driver, dsn string, resources int) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	harness.OK(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	var names strings.Builder
	for i := range regions {
		fmt.Fprintf(&names, " WHEN %d THEN '%s'", i, regionOf(i))
	}
	bytes := "x'000102030405060708090a0b0c0d0e0f'"
	if driver == "pgx" {
		bytes = `'\x000102030405060708090a0b0c0d0e0f'::bytea`
	}
	words := strings.NewReplacer("{tenant}", harness.TenantID, "{time}", "1700000000000000", "{bytes}", bytes, "{region}", "CASE i % 50"+names.String()+" END")
	for _, s := range statements {
		text := words.Replace(s.text)
		for before, rest, found := strings.Cut(text, "{id "); found; before, rest, found = strings.Cut(text, "{id ") {
			number, after, _ := strings.Cut(rest, "}")
			digits := "('00000000000' || (" + number + "))"
			text = before + "('00000000-0000-0000-0001-' || substr(" + digits + ", length(" + digits + ") - 11))" + after
		}
		if s.per > 0 {
			text = strings.Replace(text, "INSERT", fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d) INSERT", resources/s.per), 1)
		}
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%.60s: %v", text, err)
		}
	}
	if driver == "pgx" {
		_, err = db.ExecContext(t.Context(), "VACUUM ANALYZE")
	} else {
		_, err = db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	harness.OK(t, err)
}
