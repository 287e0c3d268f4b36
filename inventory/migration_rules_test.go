package inventory

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// contracted are migrations that may take something away, with the release since which
// nothing reads it. The next to go is the index role_assignments_by_principal, which
// role_assignments_of_principal begins like, and which PostgreSQL prefers where that one
// would read less.
var contracted = map[string]string{}

// released reads the files that main has had, with their sums.
func released(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("migrations/released.txt")
	harness.OK(t, err)
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	if len(sums) < 18 {
		t.Fatal(sums)
	}
	return sums
}

// What was released does not change: databases have it. What comes later has a higher
// number, and lets the version before work.
func TestMigrationRules(t *testing.T) {
	sums := released(t)
	last := ""
	for name := range sums {
		last = max(last, name)
		if _, err := fs.Stat(migrations, "migrations/"+name); err != nil {
			t.Errorf("%s was released, and is gone: %v", name, err)
		}
	}
	files, err := fs.Glob(migrations, "migrations/*.sql")
	harness.OK(t, err)
	for _, file := range files {
		text, err := migrations.ReadFile(file)
		harness.OK(t, err)
		name := path.Base(file)
		sum, old := sums[name]
		switch {
		case old && sum != fmt.Sprintf("%x", sha256.Sum256(text)):
			t.Errorf("%s was released, and has changed: add another migration", name)
		case !old && name <= last:
			t.Errorf("%s comes before %s, which was released: give it a higher number", name, last)
		case !old:
			for _, fault := range breaks(string(text)) {
				if _, allowed := contracted[name]; !allowed {
					t.Errorf("%s: %s", name, fault)
				}
			}
		}
	}
}

var (
	migrationNote = regexp.MustCompile(`--[^\n]*`)
	takenAway     = regexp.MustCompile(`(?i)\b(DROP|RENAME|ALTER COLUMN)\b`)
	addedColumn   = regexp.MustCompile(`(?i)^ALTER TABLE \w+ ADD `)
	createTable   = regexp.MustCompile(`(?i)^CREATE TABLE (\w+)`)
	createIndex   = regexp.MustCompile(`(?i)^CREATE INDEX \w+ ON (\w+)`)
	changedTable  = regexp.MustCompile(`(?i)^(?:UPDATE|DELETE FROM|INSERT INTO) (\w+)`)
	outsideOfTx   = regexp.MustCompile(`(?m)^-- \+goose NO TRANSACTION$`)
)

// breaks lists what in a migration the version before, or its clients, would suffer by.
func breaks(text string) (faults []string) {
	online := outsideOfTx.MatchString(text)
	up, _, _ := strings.Cut(text, "-- +goose Down")
	var created []string
	for statement := range strings.SplitSeq(migrationNote.ReplaceAllString(up, ""), ";") {
		statement = plainly(statement)
		if found := createTable.FindStringSubmatch(statement); found != nil {
			created = append(created, found[1])
		}
		if found := takenAway.FindString(statement); found != "" {
			faults = append(faults, found+": the version before reads it")
		}
		if addedColumn.MatchString(statement) && strings.Contains(statement, "NOT NULL") && !strings.Contains(statement, "DEFAULT") {
			faults = append(faults, "NOT NULL without DEFAULT: the version before does not write it")
		}
		if found := createIndex.FindStringSubmatch(statement); found != nil && !online && !slices.Contains(created, found[1]) {
			faults = append(faults, "an index on "+found[1]+" locks it: build it in a file with NO TRANSACTION")
		}
		if found := changedTable.FindStringSubmatch(statement); len(found) == 2 && !slices.Contains(created, found[1]) {
			faults = append(faults, "rows of "+found[1]+" are changed, and locked: let a job do it")
		}
		if online && statement != "" && createIndex.FindString(statement) == "" {
			faults = append(faults, "beside an index without a transaction: "+statement)
		}
	}
	return faults
}

func TestMigrationRulesFind(t *testing.T) {
	for statement, want := range map[string]string{
		"CREATE TABLE a (x TEXT NOT NULL);\nCREATE INDEX a_x ON a (x);\nINSERT INTO a (x) VALUES ('');": "",
		"ALTER TABLE jobs ADD COLUMN x TEXT NOT NULL DEFAULT '';":                                       "",
		"ALTER TABLE jobs ADD COLUMN x BYTEA;":                                                          "",
		"-- DROP nothing\n-- +goose NO TRANSACTION\nCREATE INDEX b ON jobs (x);":                        "",
		"DROP TABLE jobs;":                                      "DROP",
		"ALTER TABLE jobs DROP COLUMN kind;":                    "DROP",
		"DROP INDEX jobs_by_due;":                               "DROP",
		"ALTER TABLE jobs RENAME TO work;":                      "RENAME",
		"ALTER TABLE jobs RENAME kind TO sort;":                 "RENAME",
		"ALTER TABLE jobs ALTER COLUMN x TYPE y":                "ALTER COLUMN",
		"ALTER TABLE jobs ADD COLUMN x TEXT\n NOT NULL;":        "NOT NULL without DEFAULT",
		"CREATE INDEX b ON jobs (x);":                           "an index on jobs",
		"UPDATE jobs SET x = 1;":                                "rows of jobs",
		"DELETE FROM jobs WHERE x = 1;":                         "rows of jobs",
		"INSERT INTO usage (n) SELECT 1;":                       "rows of usage",
		"-- +goose NO TRANSACTION\nCREATE TABLE a (x TEXT);":    "beside an index",
		"-- +goose NO TRANSACTION\nALTER TABLE a ADD x BIGINT;": "beside an index",
	} {
		text := statement
		if !strings.Contains(text, "+goose NO") {
			text = "-- +goose Up\n" + text
		} else {
			text = strings.Replace(text, "-- +goose NO TRANSACTION\n", "-- +goose NO TRANSACTION\n-- +goose Up\n", 1)
		}
		faults := breaks(text + "\n-- +goose Down\nDROP TABLE a;\n")
		if got := strings.Join(faults, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
}
