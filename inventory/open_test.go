package inventory

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

func TestOpenRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Options){
		"no DSN":          func(o *Options) { o.DSN = "" },
		"memory":          func(o *Options) { o.DSN = ":memory:" },
		"a URI":           func(o *Options) { o.DSN = "file:x.db" },
		"no send limit":   func(o *Options) { o.SendWithin = 0 },
		"no call limit":   func(o *Options) { o.CallLimit = 0 },
		"negative window": func(o *Options) { o.LateWriteWindow = -1 },
		"negative cache":  func(o *Options) { o.CacheEntries = -1 },
	} {
		o := testOptions(t)
		spoil(&o)
		if s, err := Open(t.Context(), o); err == nil {
			s.Close()
			t.Errorf("%s: it opened", name)
		}
	}
	o := testOptions(t)
	o.DSN = filepath.Join(filepath.Dir(o.DSN), "absent", "x.db")
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a folder that is absent: %v", err)
	}
	o = testOptions(t)
	harness.OK(t, os.WriteFile(o.DSN, []byte(strings.Repeat("no database ", 100)), 0o600))
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a file that is no database: %v", err)
	}
}

func TestTheFileIsPrivate(t *testing.T) {
	o := testOptions(t)
	openTest(t, o)
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(o.DSN + suffix)
		harness.OK(t, err)
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%q has mode %o", suffix, mode)
		}
	}
}

func TestMigrationsRunOnce(t *testing.T) {
	o := testOptions(t)
	for range 3 {
		s, err := Open(t.Context(), o)
		harness.OK(t, err)
		harness.OK(t, s.Close())
	}
	db, err := sql.Open("sqlite", o.DSN)
	harness.OK(t, err)
	defer db.Close()
	files, err := fs.Glob(migrations, "migrations/*.sql")
	harness.OK(t, err)
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM schema_versions WHERE version_id > 0":                           len(files),
		"SELECT COUNT(DISTINCT version_id) - COUNT(*) FROM schema_versions":                   0,
		"SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'jobs'":           1,
		"SELECT COUNT(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')":                0,
		"SELECT COUNT(*) FROM pragma_table_list WHERE name = 'resources' AND schema = 'main'": 1,
		"SELECT COUNT(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'":                 1,
	} {
		var got int
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", query, got, err, want)
		}
	}
}

func TestStates(t *testing.T) {
	for i, name := range subscriptionStates {
		state, err := ParseSubscriptionState(strings.ToUpper(name))
		if err != nil || state != SubscriptionState(i) || state.String() != name {
			t.Errorf("%s: %v, %v", name, state, err)
		}
	}
	if _, err := ParseSubscriptionState("Gone"); err == nil || !strings.Contains(err.Error(), "Enabled, PastDue, Warned, Disabled, Deleted") {
		t.Errorf("the error does not list what is legal: %v", err)
	}
}

func TestNameIn(t *testing.T) {
	for _, c := range [][3]string{
		{"/subscriptions/s/resourceGroups/g/providers/Ns/vms/A", "ns/vms", "A"},
		{"/subscriptions/s/resourceGroups/g/providers/Ns/vms/A/disks/B", "ns/vms/disks", "A/B"},
		{"/subscriptions/s/resourceGroups/g/providers/Ns/vms/providers/disks/vms", "ns/vms/disks", "providers/vms"},
		{"x", "ns/vms", ""},
	} {
		if got := nameIn(c[0], c[1]); got != c[2] {
			t.Errorf("%s: %q, want %q", c[0], got, c[2])
		}
	}
}
