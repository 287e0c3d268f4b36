package inventory

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"portico/test/harness"
)

// The statements that may look across subscriptions, as what is due has to be
// found, and operators ask for everything. None is part of a request.
var acrossSubscriptions = []string{
	// Claims, by kind and time, and what counts or ends what is due.
	"dueJobs", "dueInRegion", "nextJobRegion", "jobKind", "oldJobs", "endedIntents", "oldTombstones", "expiredOperations", "expiredBatches", "expiredLeases",
	"countJobs", "Count", "CountKind", "countStrays", "openIntents", "countRows", "nextAbsent", "absentFrom",
	// Whether a role is assigned anywhere in its tenant, before it is deleted.
	"roleAssigned",
	// What has changed of late, for the memory of replicas.
	"recentScopeChanges",
	// Events, in the order in which they are numbered and told.
	"nextUnnumbered", "removeUnnumbered", "anyUnnumbered", "waitingEvents", "eventsAfter", "oldestEvents", "largestKept",
	// What a restored database is not gone on with, before any gateway works with it.
	"cancelKind", "dropKind", "beingDeleted", "forgetAllNotified", "allCovered", "forgetCoverage", "uncoverAll", "renewRows", "endFences", "watchNoFences",
	// Names of callers whose time is over.
	"expiredNames",
	// What sinks have not taken, by sink.
	"listSinkEvents", "countSinkEvents", "anySinkEvents", "forgottenSinkDead",
	// Lists of operators, and of a tenant's subscriptions.
	"listJobs", "listAllStrays", "openKeys", "passJobs", "listFences", "countEveryFence", "listSubscriptions", "listUncovered", "listTenantSubscriptions", "grantedSubscriptions", "namedSubscriptions", "GrantedSubscriptions", "Subscriptions",
}

// outsideSubset is what some engine that this may move to lacks, or would do in
// another way.
var outsideSubset = regexp.MustCompile(`(?i)\b(LIKE|ILIKE|MERGE|SERIAL|SEQUENCE|NEXTVAL|AUTOINCREMENT|TRIGGER|LISTEN|NOTIFY|PG_ADVISORY\w*|ADVISORY|` +
	`SKIP LOCKED|NOWAIT|REFERENCES|FOREIGN|ARRAY|JSONB?|UNNEST|NOW|CURRENT_TIMESTAMP|RANDOM|GEN_RANDOM_UUID|WITH|UNION|LATERAL|OVER|REPLACE INTO|OFFSET|TRUNCATE)\b|::|->|@>|~`)

// storeFiles are the files of the packages that have statements, without tests.
func storeFiles(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.go", "engine/*.go", "encryption/*.go", "jobrow/*.go", "polls/*.go", "tagindex/*.go", "eventlog/*.go", "assignments/*.go", "transaction/*.go", "observed/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		names = append(names, found...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// texts are the constants of the store that hold SQL, by name, and the
// further pieces of which statements are made.
func texts(t *testing.T) (statements map[string]string, pieces []string) {
	t.Helper()
	var files []*ast.File
	for _, name := range storeFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		harness.OK(t, err)
		files = append(files, file)
	}
	defined := map[string]ast.Expr{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
				for i, name := range spec.Names {
					defined[name.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	var value func(e ast.Expr) string
	value = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(e.Value)
			return text
		case *ast.BinaryExpr:
			return value(e.X) + value(e.Y)
		case *ast.Ident:
			return value(defined[e.Name])
		case *ast.SelectorExpr: // of one of the packages, or another name for that
			if _, again := defined[e.Sel.Name].(*ast.SelectorExpr); !again {
				return value(defined[e.Sel.Name])
			}
		}
		return ""
	}
	statements = map[string]string{}
	for name, e := range defined {
		if text := plainly(value(e)); verb.MatchString(text) {
			statements[name] = text
		}
	}
	for _, file := range files {
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch e := n.(type) {
				case *ast.BinaryExpr, *ast.BasicLit:
					text := plainly(value(e.(ast.Expr)))
					if verb.MatchString(text) {
						statements[f.Name.Name] = text
						return false
					}
					if strings.Contains(text, "?") {
						pieces = append(pieces, text)
					}
				}
				return true
			})
		}
	}
	return statements, pieces
}

func plainly(text string) string { return strings.Join(strings.Fields(text), " ") }

var verb = regexp.MustCompile(`^(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM) `)

// notDML are texts that speak of the connection or of the engine itself.
var notDML = []string{
	"postgresTime", "uncountedTables", "checkEncoding", "checkCollation", "checkEdition", "sqliteHasLayout", "postgresHasLayout", "keepDurable", "applySettings", "backend",
}

// primaryKeys reads the layout, and holds it to the subset.
func primaryKeys(t *testing.T) map[string][]string {
	t.Helper()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	keys := map[string][]string{}
	table := regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\);`)
	column := regexp.MustCompile(`^(\w+ +(TEXT|BIGINT|SMALLINT|BYTEA) +NOT NULL|unreported +BYTEA)$`)
	index := regexp.MustCompile(`^(CREATE INDEX \w+ ON \w+ \(\w+(, \w+)*\)|DROP INDEX \w+);$`)
	for _, name := range names {
		content, err := migrations.ReadFile(name)
		harness.OK(t, err)
		text := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(string(content), "")
		if found := outsideSubset.FindString(text); found != "" {
			t.Errorf("%s: %s is not to be used", name, found)
		}
		for _, found := range table.FindAllStringSubmatch(text, -1) {
			for line := range strings.SplitSeq(strings.TrimSpace(found[2]), "\n") {
				line = strings.TrimSuffix(strings.TrimSpace(line), ",")
				list, primary := strings.CutPrefix(line, "PRIMARY KEY (")
				if primary {
					keys[found[1]] = strings.Split(strings.TrimSuffix(list, ")"), ", ")
				} else if !column.MatchString(line) {
					t.Errorf("%s: %q is no plain column", found[1], line)
				}
			}
			if key := keys[found[1]]; len(key) == 0 || key[0] != "subscription" {
				t.Errorf("%s: its key %v does not begin with the subscription", found[1], key)
			}
		}
		for line := range strings.SplitSeq(text, "\n") {
			if strings.Contains(line, "INDEX") && !index.MatchString(strings.TrimSpace(line)) {
				t.Errorf("%q is no plain index", line)
			}
		}
	}
	return keys
}

// Every text keeps to the SQL that any engine has, and to one subscription.
func TestStatementsKeepToTheSubset(t *testing.T) {
	keys := primaryKeys(t)
	statements, pieces := texts(t)
	if len(statements) < 60 || len(pieces) == 0 || len(keys) < 10 {
		t.Fatalf("only %d statements, %d pieces and %d tables were found", len(statements), len(pieces), len(keys))
	}
	for _, piece := range pieces {
		if found := outsideSubset.FindString(piece); found != "" {
			t.Errorf("%q: %s is not to be used", piece, found)
		}
	}
	for name, text := range statements {
		if slices.Contains(notDML, name) {
			continue
		}
		if found := outsideSubset.FindString(text); found != "" {
			t.Errorf("%s: %s is not to be used: %s", name, found, text)
		}
		if strings.HasPrefix(text, "INSERT") {
			checkInsert(t, name, text, keys)
			continue
		}
		if !strings.Contains(text, "subscription = ?") && !slices.Contains(acrossSubscriptions, name) {
			t.Errorf("%s is not of one subscription: %s", name, text)
		}
		if table, set, found := strings.Cut(text, " SET "); found && strings.HasPrefix(text, "UPDATE") {
			checkSet(t, name, set, keys[strings.TrimPrefix(table, "UPDATE ")])
		}
	}
	for _, name := range acrossSubscriptions {
		if statements[name] == "" {
			t.Errorf("there is no statement %s", name)
		}
	}
}

var insertion = regexp.MustCompile(`^INSERT INTO (\w+) \(([\w, ]+)\) VALUES \([?0, ]+\) ON CONFLICT \(([\w, ]+)\) DO (NOTHING|UPDATE SET (.*))?$`)

func checkInsert(t *testing.T, name, text string, keys map[string][]string) {
	t.Helper()
	if name == "recordEvents" { // what it computes is a query of one subscription
		text = regexp.MustCompile(`COALESCE\(\(SELECT .*\), \?\)`).ReplaceAllString(text, "?")
	}
	found := insertion.FindStringSubmatch(text)
	if name == "insertJob" { // the others go on from it
		found = insertion.FindStringSubmatch(text + " NOTHING")
	}
	if found == nil {
		t.Errorf("%s is no plain INSERT: %s", name, text)
		return
	}
	key := keys[found[1]]
	if len(key) == 0 || found[3] != strings.Join(key, ", ") {
		t.Errorf("%s: the conflict is on (%s), the key is %v", name, found[3], key)
	}
	if columns := strings.Split(found[2], ", "); columns[0] != "subscription" {
		t.Errorf("%s begins with %s", name, columns[0])
	}
	checkSet(t, name, found[5], key)
}

// checkSet asserts that no column of the key is changed.
func checkSet(t *testing.T, name, set string, key []string) {
	t.Helper()
	set, _, _ = strings.Cut(set, " WHERE ")
	for _, changed := range regexp.MustCompile(`(?:^|, )(\w+) = `).FindAllStringSubmatch(set, -1) {
		if slices.Contains(key, changed[1]) {
			t.Errorf("%s changes %s, which is part of the key", name, changed[1])
		}
	}
}
