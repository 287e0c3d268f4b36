package inventory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portico/inventory/engine"
	"portico/inventory/memory"
	"portico/inventory/tagindex"
	"portico/test/harness"
)

// BenchmarkScale asks the same of an index and of one ten times as large, in
// turns: a question costs what it is about, however many rows there are.
// Reported is the median of how the turns compare. From 30,000 rows to 300,000, a tenth of
// that with -short, or from a million to ten where PORTICO_BENCH_LONG is set, all of
// one subscription, which is what makes them hard to keep apart.
func BenchmarkScale(b *testing.B) {
	small := 30_000
	switch {
	case testing.Short():
		small = 3_000
	case os.Getenv("PORTICO_BENCH_LONG") != "":
		small = 1_000_000
	}
	for _, engine := range []string{engine.SQLite, engine.Postgres} {
		b.Run(engine, func(b *testing.B) {
			o := benchOptions(b, engine)
			few, many := openEstate(b, o(), small), openEstate(b, o(), 10*small)
			few.warm(b)
			many.warm(b)
			for _, q := range questions {
				b.Run(q.name, func(b *testing.B) { few.compare(b, many, q.ask, q.turn) })
			}
		})
	}
}

// questions are what clients' reads ask, and how often in one turn.
var questions = []struct {
	name string
	turn int
	ask  func(context.Context, *estate, int) error
}{
	{"cached", 2000, func(ctx context.Context, e *estate, i int) error {
		found, err := e.Locations.Locate(ctx, estateSub, e.keys[i%len(e.keys)], e.opened)
		return e.found(found.Cached, err)
	}},
	{"uncached", 200, func(ctx context.Context, e *estate, i int) error {
		key := e.keys[i%len(e.keys)]
		e.Locations.Forget([]memory.Key{e.Locations.KeyOf(string(key))})
		found, err := e.Locations.Locate(ctx, estateSub, key, e.opened)
		return e.found(found.Found && !found.Cached, err)
	}},
	{"group", 10, func(ctx context.Context, e *estate, i int) error {
		page, err := e.Resources(ctx, ResourceQuery{
			Subscription: estateSub, Group: e.group(i), Limit: 100, Visible: true,
		})
		return e.found(len(page) == 100, err)
	}},
	{"rare value of a common tag", 20, func(ctx context.Context, e *estate, _ int) error {
		page, err := e.Resources(ctx, ResourceQuery{
			Subscription: estateSub, Tag: "env", TagValue: "rare", OfTagValue: true, Limit: 100, Visible: true,
		})
		return e.found(len(page) == 1, err)
	}},
	{"regions", 20, func(ctx context.Context, e *estate, _ int) error {
		regions, _, err := e.Coverage.MayHold(ctx, estateSub, "", estateType, estateRegionNames)
		return e.found(len(regions) == estateRegions, err)
	}},
	{"regions of a group", 20, func(ctx context.Context, e *estate, i int) error {
		regions, _, err := e.Coverage.MayHold(ctx, estateSub, e.group(i), estateType, estateRegionNames)
		return e.found(len(regions) == estateRegions, err)
	}},
}

const (
	estateSub       = "00000000-0000-0000-0000-000000000001"
	estateType      = "contoso.compute/virtualmachines"
	estateGroupRows = 500
	estateRegions   = 8
	// So many are asked for, spread over all rows, and thus in memory.
	estateKeys   = 10_000
	estateGroups = 40
)

var estateRegionNames = []string{"region0", "region1", "region2", "region3", "region4", "region5", "region6", "region7"}

// estate is an index with many rows.
type estate struct {
	*Store
	rows   int
	keys   [][]byte
	opened time.Time
}

func (e *estate) found(asExpected bool, err error) error {
	if err == nil && !asExpected {
		err = fmt.Errorf("an index of %d rows has another answer", e.rows)
	}
	return err
}

func estateGroup(i int) string { return fmt.Sprint("rg-", 1_000_000+i) }

// group is the name of one of the groups that are asked for.
func (e *estate) group(i int) string {
	return estateGroup(e.rows / estateGroupRows / estateGroups * (i % estateGroups))
}

// compare asks both in turns.
func (e *estate) compare(b *testing.B, other *estate, ask func(context.Context, *estate, int) error, turn int) {
	next := 0
	take := func(e *estate) time.Duration {
		started := time.Now()
		for i := range turn {
			harness.OK(b, ask(b.Context(), e, next+i))
		}
		return time.Since(started)
	}
	var compared, times []float64
	for b.Loop() {
		of, ofOther := take(e), take(other)
		compared = append(compared, ofOther.Seconds()/of.Seconds())
		times = append(times, float64(ofOther.Nanoseconds())/float64(turn))
		next += turn
	}
	b.ReportMetric(median(times), "ns/question")
	b.ReportMetric(median(compared), "x-of-a-tenth")
	promise(b, median(compared) <= 1.5, "it costs more than 1.5 times as much with ten times the rows")
}

// openEstate opens a store of so many rows.
func openEstate(b *testing.B, o Options, rows int) *estate {
	b.Helper()
	empty, err := Open(b.Context(), o)
	if err == nil {
		err = empty.Close()
	}
	if err == nil {
		err = fillEstate(b.Context(), o, rows)
	}
	harness.OK(b, err)
	o.CacheTTL, o.CacheEntries = 1<<50, 8*estateKeys
	e := &estate{Store: openBench(b, o), rows: rows, keys: make([][]byte, estateKeys), opened: time.Now()}
	order := rand.New(rand.NewPCG(1, 2)).Perm(estateKeys)
	for i, nth := range order {
		row := rows / estateKeys * nth
		e.keys[i] = fmt.Appendf(nil, "/subscriptions/%s/resourcegroups/%s/providers/contoso.compute/virtualmachines/vm-%d",
			estateSub, estateGroup(row/estateGroupRows), 100_000_000+row)
	}
	return e
}

// warm asks for everything once, so that it is in memory: the cache's, the
// engine's, or at least the system's.
func (e *estate) warm(b *testing.B) {
	b.Helper()
	for _, key := range e.keys {
		if _, err := e.Locations.Locate(b.Context(), estateSub, key, e.opened); err != nil {
			b.Fatal(err)
		}
	}
	for i := range estateGroups {
		for _, q := range questions {
			harness.OK(b, q.ask(b.Context(), e, i))
		}
	}
}

// fillRows makes the rows within the engine, of their number and the literal of
// a generation. All numbers in names have one width.
const fillRows = `INSERT INTO resources (` + resourceColumns + `, name_key)
	WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %[1]d)
	SELECT '` + estateSub + `',
		'/subscriptions/` + estateSub + `/resourcegroups/rg-' || CAST(1000000 + i / 500 AS TEXT) || '/providers/contoso.compute/virtualmachines/vm-' || CAST(100000000 + i AS TEXT),
		'/subscriptions/` + estateSub + `/resourceGroups/rg-' || CAST(1000000 + i / 500 AS TEXT) || '/providers/Contoso.Compute/virtualMachines/vm-' || CAST(100000000 + i AS TEXT),
		'rg-' || CAST(1000000 + i / 500 AS TEXT), '` + estateType + `', 'Contoso.Compute/virtualMachines',
		'vm-' || CAST(100000000 + i AS TEXT), '', 'region' || CAST(i %% 8 AS TEXT), 'region' || CAST(i %% 8 AS TEXT),
		1, 0, 0, %[2]s, 'Succeeded', '2024-01-01', CASE WHEN i + 1 = %[1]d THEN '{"tags":{"env":"rare"}}' ELSE '{"tags":{"env":"common"}}' END, '', '', 1700000000000000, 1700000000000000, NULL,
		'vm-' || CAST(100000000 + i AS TEXT)
	FROM n`

// fillTags is the index of the tags that fillRows gives: of the last row another value.
var fillTags = fmt.Sprintf(`INSERT INTO resource_tags (subscription, tag, resource, value)
	SELECT subscription, 'env', key, CASE WHEN details = '{"tags":{"env":"rare"}}' THEN %d ELSE %d END FROM resources ORDER BY key`,
	tagindex.Digest("rare"), tagindex.Digest("common"))

// fillEstate fills a database without waiting for the disk. The rows come in the
// order of all indexes, so that these grow at their ends.
func fillEstate(ctx context.Context, o Options, rows int) error {
	if o.Driver == engine.Postgres {
		conn, err := pgx.Connect(ctx, o.DSN)
		if err != nil {
			return err
		}
		run := func(statement string) error {
			_, err := conn.Exec(ctx, statement)
			return err
		}
		return errors.Join(runAll(run,
			"SET synchronous_commit = off",
			fmt.Sprintf(fillRows, rows, `'\x000102030405060708090a0b0c0d0e0f'`),
			fillTags,
			"VACUUM ANALYZE resources", "VACUUM ANALYZE resource_tags", // as the server does by itself, sooner or later
			"CHECKPOINT"), conn.Close(ctx))
	}
	db, err := sql.Open("sqlite", o.DSN)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	run := func(statement string) error {
		_, err := db.ExecContext(ctx, statement)
		return err
	}
	return errors.Join(runAll(run,
		"PRAGMA journal_mode(OFF)", "PRAGMA synchronous(OFF)", "PRAGMA cache_size(-262144)",
		fmt.Sprintf(fillRows, rows, `x'000102030405060708090a0b0c0d0e0f'`), fillTags), db.Close())
}

func runAll(run func(string) error, statements ...string) error {
	for _, statement := range statements {
		if err := run(statement); err != nil {
			return fmt.Errorf("%.40s: %w", statement, err)
		}
	}
	return nil
}
