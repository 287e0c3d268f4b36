package inventory

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"portico/inventory/engine"
	"portico/inventory/tagindex"
	"portico/test/harness"
)

// listedRows is how many resources the lists are cut from. All but the last share
// what is common; only the last has what is rare.
const listedRows = 12_000

// fillListed makes them, in the order of their keys, of the literal of a generation.
const fillListed = `INSERT INTO resources (` + resourceColumns + `, name_key)
	WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %[1]d),
		row(i, what) AS (SELECT i, CASE WHEN i + 1 = %[1]d THEN 'rare' ELSE 'common' END FROM n)
	SELECT 's', '/' || CAST(1000000 + i AS TEXT), '/' || CAST(1000000 + i AS TEXT),
		what, what, what, what || '-' || CAST(i %% 2 AS TEXT), '', what, what,
		1, 0, 0, %[2]s, 'Succeeded', '2024-01-01', '{"tags":{"' || what || '":"x","every":"' || what || '"}}', '', '', 1700000000000000, 1700000000000000, NULL,
		what || '-' || CAST(i %% 2 AS TEXT)
	FROM row`

// fillListedTags gives each a tag of its own kind, and all the same one, of which the
// values differ.
var fillListedTags = fmt.Sprintf(`INSERT INTO resource_tags (subscription, tag, resource, value)
	SELECT subscription, type, key, %d FROM resources
	UNION ALL SELECT subscription, 'every', key, CASE type WHEN 'rare' THEN %d ELSE %d END FROM resources`,
	tagindex.Digest("x"), tagindex.Digest("rare"), tagindex.Digest("common"))

// listConditions set one condition of a query, to what is common, rare or absent.
var listConditions = []func(q *ResourceQuery, what string){
	func(q *ResourceQuery, what string) { q.Group = what },
	func(q *ResourceQuery, what string) { q.Type = what },
	func(q *ResourceQuery, what string) { q.Name = what + "-1" },
	func(q *ResourceQuery, what string) { q.NamePrefix = what },
	func(q *ResourceQuery, what string) { q.Location = what },
	func(q *ResourceQuery, what string) { q.Tag = what },
	func(q *ResourceQuery, what string) { q.Tag, q.TagValue, q.OfTagValue = "every", what, true },
}

// listQueries are all queries of one and of two conditions, by name.
func listQueries() map[string]ResourceQuery {
	queries := map[string]ResourceQuery{"all": {}}
	kinds := []string{"common", "rare", "absent"}
	for i, one := range listConditions {
		for _, of := range kinds {
			var q ResourceQuery
			one(&q, of)
			queries[fmt.Sprintf("%+v", q)] = q
			for _, other := range listConditions[:i] {
				for _, what := range kinds {
					q := q
					other(&q, what)
					queries[fmt.Sprintf("%+v", q)] = q
				}
			}
		}
	}
	return queries
}

// A list costs what is on it, whatever it is narrowed by, however many resources
// there are, and whether the engine has counted them or not.
func TestListsCostWhatTheyReturn(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		o := testOptions(t)
		fill := func(statements ...string) {
			t.Helper()
			db, err := sql.Open("sqlite", o.DSN)
			harness.OK(t, err)
			defer db.Close()
			if err := runAll(func(statement string) error {
				_, err := db.ExecContext(t.Context(), statement)
				return err
			}, statements...); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(t.Context(), o)
		if err == nil {
			err = s.Close()
		}
		harness.OK(t, err)
		fill(fmt.Sprintf(fillListed, listedRows, `x'000102030405060708090a0b0c0d0e0f'`), fillListedTags)
		for _, counted := range []bool{false, true} {
			if counted {
				fill("ANALYZE")
			}
			s := openTest(t, o)
			checkLists(t, s, func(t *testing.T, list selection, args []any) { checkSQLitePlan(t, s, list, args) })
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cluster := harness.StartPostgres(t, "autovacuum=off", "fsync=off")
		o := testOptions(t)
		o.Driver, o.DSN = engine.Postgres, cluster.CreateDatabase(t, "portico")
		s := openTest(t, o)
		conn, err := pgx.Connect(t.Context(), o.DSN+"&random_page_cost=1.1") // as the store has it
		harness.OK(t, err)
		defer conn.Close(t.Context())
		run := func(statements ...string) {
			t.Helper()
			if err := runAll(func(statement string) error {
				_, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
				return err
			}, statements...); err != nil {
				t.Fatal(err)
			}
		}
		run(fmt.Sprintf(fillListed, listedRows, `'\x000102030405060708090a0b0c0d0e0f'`), fillListedTags)
		both := []string{"force_custom_plan", "force_generic_plan"}
		for _, c := range []struct {
			count string
			plans []string
			of    string // lists by which alone; "": all
		}{
			{"", both, ""},
			// Statistics of a few rows: no value is rare in them. Lists by a group, a type or a
			// location then still walk the resources.
			{"SET default_statistics_target = 1", both[1:], ofTagValue},
			{"SET default_statistics_target = 100", both, ""},
		} {
			if c.count != "" {
				run(c.count, "ANALYZE")
			}
			for _, plans := range c.plans {
				run("SET plan_cache_mode = " + plans)
				checkLists(t, s, func(t *testing.T, list selection, args []any) {
					if strings.Contains(list.list, c.of) {
						checkPostgresCost(t, conn, run, list, args)
					}
				})
			}
		}
	})
}

// checkLists compares what queries return with a model, and has the statement that
// each chooses checked.
func checkLists(t *testing.T, s *Store, check func(t *testing.T, list selection, args []any)) {
	t.Helper()
	everything, err := s.Resources(t.Context(), ResourceQuery{Subscription: "s"})
	if err != nil || len(everything) != listedRows {
		t.Fatal(len(everything), err)
	}
	statements, _ := texts(t)
	check(t, selection{list: anyUnvalued}, []any{"s", "every", tagindex.UnknownValue, "", tagindex.UnknownValue})
	check(t, selection{list: statements["countTagValues"]}, []any{"s", "rare"})
	checkTagUses(t, s, everything)
	for _, group := range []string{"", "common", "rare", "absent"} {
		statement, args := mayHold("s", group, "common", []string{"", "absent", "common", "rare"})
		check(t, selection{list: statement}, args)
	}
	middle, near, far := everything[listedRows/2].Key, everything[listedRows/2+5].Key, everything[listedRows/4*3].Key
	for name, q := range listQueries() {
		for _, between := range [][2]string{{}, {middle, ""}, {"", far}, {middle, near}} {
			after, before := between[0], between[1]
			q.Subscription, q.After, q.Before, q.Limit, q.Visible = "s", after, before, 10, true
			var want, got []string
			for i := range everything {
				if r := &everything[i]; r.Key > after && (before == "" || r.Key < before) && q.Match(r) && len(want) < q.Limit {
					want = append(want, r.Key)
				}
			}
			rows, err := s.Resources(t.Context(), q)
			harness.OK(t, err)
			for _, r := range rows {
				got = append(got, r.Key)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s between %q: got %q, want %q", name, between, got, want)
			}
			q.Limit = 1000
			candidates, _, err := s.Candidates(t.Context(), q)
			harness.OK(t, err)
			if (strings.Contains(name, "rare") || strings.Contains(name, "absent")) && len(candidates) > 1 {
				t.Errorf("%s: %d rows are read", name, len(candidates))
			}
			list, err := q.bestSelection(s.engine.Read(t.Context()))
			harness.OK(t, err)
			check(t, list, append(slices.Clone(list.args), list.atMost(q.Limit)))
			if list.count != "" {
				args := list.args
				if list.unordered {
					args = args[:len(args)-1]
				}
				check(t, selection{list: list.count}, append(slices.Clone(args), 256))
			}
			if list.sample != "" {
				check(t, selection{list: list.sample}, append(slices.Clone(list.args), sampled, "common", "common-"))
			}
		}
	}
}

// checkTagUses compares counts of tags with a model.
func checkTagUses(t *testing.T, s *Store, everything []Resource) {
	t.Helper()
	for _, name := range []string{"every", "common", "rare", "absent"} {
		want := map[tagindex.Use]int{}
		for _, r := range everything {
			if value, has := r.Details.Tags[name]; has {
				want[tagindex.Use{Name: name, Value: value}]++
			}
		}
		got := map[tagindex.Use]int{}
		uses, known, err := s.Tags.Uses(t.Context(), "S", strings.ToUpper(name))
		for _, use := range uses {
			got[tagindex.Use{Name: use.Name, Value: use.Value}] = use.Resources
		}
		if err != nil || !known || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v, %v, want %v", name, got, known, err, want)
		}
	}
}

// fillApart makes resources in the order of their keys, of which one in twenty has a name
// that begins otherwise; in the last part all have.
const fillApart = `INSERT INTO resources (` + resourceColumns + `, name_key)
	WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %[1]d),
		row(i, what) AS (SELECT i, CASE WHEN i %% 20 = 0 OR i >= %[3]d THEN 'apart' ELSE 'common' END FROM n)
	SELECT 's', '/' || CAST(1000000 + i AS TEXT), '/' || CAST(1000000 + i AS TEXT),
		'rg', 'type', 'type', what || CAST(i AS TEXT), '', 'region', 'region',
		1, 0, 0, %[2]s, 'Succeeded', '2024-01-01', '{}', '', '', 1700000000000000, 1700000000000000, NULL,
		what || CAST(i AS TEXT)
	FROM row`

// Names that begin alike are found by the index of names also where they are many, if all
// else would read many rows for each; where they lie close together they are found beside
// each other.
func TestManyNamesFarApart(t *testing.T) {
	t.Parallel()
	const rows, together = 90_000, 88_000
	fill := map[string]func(t *testing.T, o *Options){
		"sqlite": func(t *testing.T, o *Options) {
			harness.OK(t, openTest(t, *o).Close())
			db, err := sql.Open("sqlite", o.DSN)
			harness.OK(t, err)
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), fmt.Sprintf(fillApart, rows, `x'000102030405060708090a0b0c0d0e0f'`, together)); err != nil {
				t.Fatal(err)
			}
		},
		"postgres": func(t *testing.T, o *Options) {
			o.Driver, o.DSN = engine.Postgres, harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico")
			openTest(t, *o)
			conn, err := pgx.Connect(t.Context(), o.DSN)
			harness.OK(t, err)
			defer conn.Close(t.Context())
			if _, err := conn.Exec(t.Context(), fmt.Sprintf(fillApart, rows, `'\x000102030405060708090a0b0c0d0e0f'`, together)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for driver, fill := range fill {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			fill(t, &o)
			s := openTest(t, o)
			for _, also := range []ResourceQuery{{}, {Group: "rg"}, {Type: "type", Location: "region"}, {Before: "/2"}} {
				q := also
				q.Subscription, q.NamePrefix, q.Limit = "s", "Apart", 1000
				found, read := 0, 0
				for {
					candidates, _, err := s.Candidates(t.Context(), q)
					harness.OK(t, err)
					for _, r := range candidates {
						if q.Match(&r) {
							found++
						}
						q.After = r.Key
					}
					if read += len(candidates); len(candidates) < q.Limit {
						break
					}
				}
				if want := together/20 + rows - together; found != want || read > want+2*q.Limit {
					t.Errorf("%+v: %d are found among %d, want %d", also, found, read, want)
				}
				q.After = "/1088000"
				if list, err := q.bestSelection(s.engine.Read(t.Context())); err != nil || list.unordered {
					t.Errorf("%+v: where the names lie together it goes by %s, %v", also, list.list, err)
				}
			}
		})
	}
}

func checkSQLitePlan(t *testing.T, s *Store, list selection, args []any) {
	t.Helper()
	plan, err := engine.Collect(s.engine.Read(t.Context()), scanStep, "EXPLAIN QUERY PLAN "+list.list, args...)
	harness.OK(t, err)
	for _, step := range plan {
		// Nothing is sorted but the names that begin alike, and no table walked from
		// its beginning, or by a key alone where there is a condition.
		sorted := strings.Contains(step, "TEMP B-TREE") && !strings.Contains(list.list, "of_name")
		walked := strings.HasPrefix(step, "SCAN resource")
		narrowed := strings.Contains(list.list, "= ? AND key > ? AND")
		if sorted || walked || narrowed && strings.HasSuffix(step, "(subscription=? AND key>?)") {
			t.Errorf("%s\n%s", list.list, strings.Join(plan, "; "))
		}
	}
}

// checkPostgresCost runs a statement, and counts the rows that it looks at.
func checkPostgresCost(t *testing.T, conn *pgx.Conn, run func(...string), list selection, args []any) {
	t.Helper()
	literals := make([]string, len(args))
	for i, a := range args {
		if literals[i] = fmt.Sprint(a); !isNumber(a) {
			literals[i] = "'" + literals[i] + "'"
		}
	}
	run("PREPARE listed AS " + numbered(list.list))
	defer run("DEALLOCATE listed")
	var text []byte
	err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE listed("+strings.Join(literals, ",")+")",
		pgx.QueryExecModeSimpleProtocol).Scan(&text)
	harness.OK(t, err)
	var plans []struct{ Plan planNode }
	harness.OK(t, json.Unmarshal(text, &plans))
	// A row is found by an index, and read. Names that begin alike are sorted first.
	if n, most := plans[0].Plan.examined(), 3*1001.0; n > most {
		t.Errorf("%s %q looks at %v rows:\n%s", list.list, args, n, text)
	}
}

func isNumber(a any) bool {
	switch a.(type) {
	case int, int64:
		return true
	}
	return false
}

// numbered is a statement as PostgreSQL wants it.
func numbered(statement string) string {
	text, rest, _ := strings.Cut(statement, "?")
	for n := 1; rest != "" || strings.Count(statement, "?") >= n; n++ {
		var piece string
		piece, rest, _ = strings.Cut(rest, "?")
		text += fmt.Sprint("$", n) + piece
	}
	return text
}

// planNode is a step of PostgreSQL's plan that has been run.
type planNode struct {
	Rows    float64    `json:"Actual Rows"`
	Loops   float64    `json:"Actual Loops"`
	Removed float64    `json:"Rows Removed by Filter"`
	Plans   []planNode `json:"Plans"`
}

// examined counts the rows that the steps read that read tables.
func (n planNode) examined() float64 {
	if len(n.Plans) == 0 {
		return (n.Rows + n.Removed) * n.Loops
	}
	sum := 0.0
	for _, child := range n.Plans {
		sum += child.examined()
	}
	return sum
}

func TestTextsBeyondAPrefix(t *testing.T) {
	for prefix, want := range map[string]string{
		"web": "wec", "web\U0010FFFF": "wec", "\U0010FFFF": "", "é": "ê", "a\uD7FF": "a\uE000", "z": "{",
	} {
		if got := afterPrefix(prefix); got != want {
			t.Errorf("%q: got %q, want %q", prefix, got, want)
		}
	}
}
