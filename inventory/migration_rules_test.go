package inventory

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// contracted are migrations that may take something away, with the release since which
// nothing reads it.
var contracted = map[string]string{}

// What comes after the first migration lets the version before work.
func TestMigrationRules(t *testing.T) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	harness.OK(t, err)
	for _, file := range files {
		text, err := migrations.ReadFile(file)
		harness.OK(t, err)
		name := path.Base(file)
		for _, fault := range breaks(string(text)) {
			if _, allowed := contracted[name]; !allowed {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
	if len(files) == 0 || !strings.HasPrefix(path.Base(files[0]), "00031_") {
		t.Errorf("the first of %q is not the one that databases begin with", files)
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
		"INSERT INTO usage (used) SELECT 1;":                    "rows of usage",
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
