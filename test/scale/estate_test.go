package scale

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"portico/inventory/tagindex"
	"portico/test/harness"
)

// A size says how many of each an estate has.
type size struct {
	resources int // in subscriptions of a thousand each, in ten groups, with ten roles assigned
	largest   int // in one further subscription, of as many groups and roles in proportion
}

const (
	ofSubscription = 1000
	ofGroup        = 100
	regions        = 50
	spare          = 3 // further subscriptions of a thousand resources, to be erased

	eventsOfSubscription = 100

	created = "made" // the group of the machine that a gateway made
)

// sizeOf is the size of an estate of so many resources, a tenth of which are added in one
// subscription.
func sizeOf(resources int) size { return size{resources, resources / 10} }

// ordinary are the subscriptions of a thousand resources. The largest has the number
// behind them.
func (s size) ordinary() int { return s.resources/ofSubscription + spare }

// rows are the rows of which a subscription of a thousand resources has so many.
func (s size) rows(of int) int { return s.ordinary()*of + s.largest*of/ofSubscription }

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

// statements fill a store. Where a subscription has so many rows, i counts all rows from 0
// on, s is the subscription, and n counts the rows in it.
var statements = []struct {
	of   int // rows in a subscription of a thousand resources; 0: the statement counts itself
	text string
}{
	{ofSubscription / ofGroup, `INSERT INTO resource_groups (subscription, key, name, location, managed_by, tags, state, incarnation, generation, etag, created, changed)
		SELECT {id s}, 'rg' || n, 'rg' || n, 'westus', '', '{}', 0, {bytes}, {bytes}, '', {time}, {time} FROM m`},
	{ofSubscription, `INSERT INTO resources (subscription, key, id, resource_group, type, type_name, name, name_key, parent, region, location,
			phase, verify, following, generation, provisioning_state, api_version, details, creator, creator_kind, created, changed)
		SELECT {id s},
			'/subscriptions/' || {id s} || '/resourcegroups/rg' || (n / 100) || '/providers/contoso.compute/virtualmachines/vm' || n,
			'/subscriptions/' || {id s} || '/resourceGroups/rg' || (n / 100) || '/providers/Contoso.Compute/virtualMachines/vm' || n,
			'rg' || (n / 100), 'contoso.compute/virtualmachines', 'Contoso.Compute/virtualMachines', 'vm' || n, 'vm' || n, '', {region}, {region},
			1, 0, 0, {bytes}, 'Succeeded', '2024-01-01', CASE WHEN n % 10 = 7 THEN '{"tags":{"tier":"gold"}}' ELSE '{}' END, '', '', {time}, {time} FROM m`},
	{10, `INSERT INTO role_assignments (subscription, scope, name, tenant, principal, role, scope_id, condition, properties, generation, etag, created, changed)
		SELECT {id s}, '/subscriptions/' || {id s}, {id 1000000000 + i}, '{tenant}', {id 2000000000 + i}, '{role}',
			'/subscriptions/' || {id s}, '', '{}', {bytes}, '', {time}, {time} FROM m`},
	{eventsOfSubscription, `INSERT INTO events (subscription, number, place, id, at, key, payload)
		SELECT {id s}, last + 1 + i, last + 1 + i, id, at,
			'/subscriptions/' || {id s} || '/resourcegroups/rg' || (n / 10) || '/providers/contoso.compute/virtualmachines/vm' || (n * 10), payload
		FROM m, (SELECT id, at, payload FROM events WHERE key LIKE '%/virtualmachines/%' ORDER BY place LIMIT 1) AS copied, (SELECT last FROM event_numbers) AS numbers`},
	{0, `INSERT INTO subscriptions
		(subscription, tenant, display_name, state, offer, placement, features, tags, covered, version, final_version, erased, created, changed)
		SELECT subscription, '{tenant}', 'estate', 0, '', '', '', '{}', 1, 1, 0, 0, {time}, {time} FROM resource_groups WHERE key = 'rg0'`},
	{ofSubscription, `INSERT INTO resource_tags (subscription, tag, resource, value)
		SELECT {id s}, 'tier', '/subscriptions/' || {id s} || '/resourcegroups/rg' || (n / 100) || '/providers/contoso.compute/virtualmachines/vm' || n, {gold}
		FROM m WHERE n % 10 = 7`},
	// Every provider has heard of every subscription.
	{0, `INSERT INTO notified_endpoints (subscription, endpoints)
		SELECT subscription, (SELECT endpoints FROM notified_endpoints WHERE subscription = '{default}') FROM resource_groups WHERE key = 'rg0'`},
	{0, `INSERT INTO usage (subscription, resource_group, type, used)
		SELECT subscription, key, 'contoso.compute/virtualmachines', 100 FROM resource_groups WHERE key <> '{made}'`},
	{0, `INSERT INTO usage (subscription, resource_group, type, used)
		SELECT subscription, '', '', COUNT(*) FROM resource_groups WHERE key <> '{made}' GROUP BY subscription`},
	{0, `DELETE FROM event_counts`},
	{0, `INSERT INTO event_counts (subscription, kept) SELECT subscription, COUNT(*) FROM events GROUP BY subscription`},
	{0, `UPDATE event_numbers SET last = (SELECT MAX(number) FROM events), kept = (SELECT COUNT(*) FROM events)`},
}

// filledAtOnce is how many rows a statement inserts at most, as a transaction of all would
// need as much space once more for its log.
const filledAtOnce = 200_000

// A filling puts rows into a store that a gateway has made and does not use now.
type filling struct {
	size
	db     *sql.DB
	settle string // has the database write down, or count, what was inserted
	words  *strings.Replacer
}

// open opens a store for filling.
func open(t *testing.T, driver, dsn string, of size) filling {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	harness.OK(t, err)
	db.SetMaxOpenConns(1)
	var names strings.Builder
	for i := range regions {
		fmt.Fprintf(&names, " WHEN %d THEN '%s'", i, regionOf(i))
	}
	bytes, settle := "x'000102030405060708090a0b0c0d0e0f'", "PRAGMA wal_checkpoint(TRUNCATE)"
	if driver == "pgx" {
		bytes, settle = `'\x000102030405060708090a0b0c0d0e0f'::bytea`, "VACUUM ANALYZE"
	}
	return filling{of, db, settle, strings.NewReplacer("{tenant}", harness.TenantID, "{time}", "1700000000000000", "{bytes}", bytes, "{gold}", fmt.Sprint(tagindex.Digest("gold")),
		"{made}", created, "{default}", harness.SubscriptionID,
		"{role}", reader, "{caller}", dora.ObjectID, "{region}", "CASE n % 50"+names.String()+" END")}
}

// fill puts an estate into the store, and the further rows that a statement inserts. A
// gateway has made a machine there, and its event was numbered: all further events are
// copies of that one.
func (f filling) fill(t *testing.T, further ...string) {
	t.Helper()
	for _, s := range statements {
		f.insert(t, s.of, s.text)
	}
	for _, text := range further {
		f.insert(t, 0, text)
	}
	f.insert(t, 0, f.settle)
	harness.OK(t, f.db.Close())
}

// insert executes a statement, in parts where it inserts so many rows for each
// subscription.
func (f filling) insert(t *testing.T, of int, text string) {
	t.Helper()
	text = f.words.Replace(text)
	for before, rest, found := strings.Cut(text, "{id "); found; before, rest, found = strings.Cut(text, "{id ") {
		number, after, _ := strings.Cut(rest, "}")
		digits := "('00000000000' || (" + number + "))"
		text = before + "('00000000-0000-0000-0001-' || substr(" + digits + ", length(" + digits + ") - 11))" + after
	}
	parts := []string{text}
	if of > 0 {
		parts = nil
		for first := 0; first < f.rows(of); first += filledAtOnce {
			parts = append(parts, fmt.Sprintf(`WITH RECURSIVE c(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM c WHERE i + 1 < %d),
				of(i, s) AS (SELECT i, CASE WHEN i < %d THEN i / %d ELSE %d END FROM c), m(i, s, n) AS (SELECT i, s, i - s * %d FROM of) `,
				first, min(first+filledAtOnce, f.rows(of)), f.ordinary()*of, of, f.ordinary(), of)+text)
		}
	}
	for _, part := range parts {
		if _, err := f.db.ExecContext(t.Context(), part); err != nil {
			t.Fatalf("%.300s: %v", part, err)
		}
	}
}
