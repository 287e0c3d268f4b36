package inventory_test

import (
	"bytes"
	"database/sql"
	"testing"

	"portico/inventory"
	"portico/inventory/observed"
	"portico/inventory/storetest"
	"portico/test/harness"
)

// Replicas read each other's errors, which no reader of the table can, and forget those of
// replicas that have long been gone.
func TestErrorsOfReplicas(t *testing.T) {
	t.Parallel()
	dsn := harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico")
	clock := storetest.NewClock()
	s := served(t, dsn, func(o *inventory.Options) { o.Now = clock.Now })
	texts := func(of string, want ...string) {
		t.Helper()
		got, err := s.Errors.Others(t.Context(), of)
		for i := 0; i < len(want); i += 2 {
			if string(got[want[i]]) != want[i+1] {
				t.Errorf("%s has the text %q, want %q", want[i], got[want[i]], want[i+1])
			}
		}
		if err != nil || len(got) != len(want)/2 {
			t.Errorf("%q, %v", got, err)
		}
	}
	texts("a")
	harness.OK(t, s.Errors.Put(t.Context(), "a", []byte("somebody's name")))
	texts("a")
	texts("b", "a", "somebody's name")
	database, err := sql.Open("pgx", dsn)
	harness.OK(t, err)
	defer database.Close()
	var stored []byte
	harness.OK(t, database.QueryRowContext(t.Context(), "SELECT groups FROM replica_errors").Scan(&stored))
	if bytes.Contains(stored, []byte("somebody")) {
		t.Errorf("%q", stored)
	}
	clock.Pass(observed.ErrorsKept / 2)
	harness.OK(t, s.Errors.Put(t.Context(), "b", []byte("one")))
	harness.OK(t, s.Errors.Put(t.Context(), "b", []byte("two")))
	texts("c", "a", "somebody's name", "b", "two")
	clock.Pass(observed.ErrorsKept / 2)
	harness.OK(t, s.Errors.Put(t.Context(), "c", nil))
	texts("c", "b", "two")
}
