package inventory

import (
	"errors"
	"net/http"
	"testing"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

// onBothEngines runs a test on a store of each engine.
func onBothEngines(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, openTest(t, testOptions(t)))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, openPostgres(t, harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico"), 2))
	})
}

// An answer whose resource is no longer as its intent left it counts as the store has it.
// PostgreSQL learns of it at the commit, and repeats the transaction with all of its
// members; SQLite has read the generation, and repeats nothing.
func TestWrongExpectations(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, s *Store) {
		makeGroup(t, s, "rg")
		repeated := 1
		if s.options.Driver == engine.Postgres {
			repeated = 2
		}
		for _, c := range []struct {
			name      string
			overtaken bool
			runs      int
		}{{"right", false, 1}, {"wrong", true, repeated}} {
			ticket, err := s.Begin(t.Context(), vmWrite("rg", c.name))
			harness.OK(t, err)
			if c.overtaken {
				w := vmWrite("rg", c.name)
				w.Kind = index.Delete
				_, err := s.Begin(t.Context(), w)
				harness.OK(t, err)
			}
			runs := 0
			results, errs := together(t, s, 2, func(i int) (SettleResult, error) {
				if i == 0 {
					return s.Settle(t.Context(), ticket, WriteResult{Outcome: index.Succeeded, Status: http.StatusCreated})
				}
				return SettleResult{}, s.write(t.Context(), engine.Unflushed, engine.LockSet{Partition: "s"}, func(*tx) error {
					runs++
					return nil
				})
			})
			harness.OK(t, errors.Join(errs...))
			if results[0].Settled == c.overtaken || runs != c.runs {
				t.Errorf("%s: settled: %t; another write of the transaction ran %d times, want %d", c.name, results[0].Settled, runs, c.runs)
			}
		}
	})
}

// Writes of one resource that share a transaction each see what the other left, whatever
// either expects.
func TestExpectationsOfOneResource(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, s *Store) {
		makeGroup(t, s, "rg")
		answer := WriteResult{Outcome: index.Succeeded, Status: http.StatusOK}
		createdIn(t, s, "rg", "vm")
		for range 10 { // in either order
			w := vmWrite("rg", "vm")
			first, err := s.Begin(t.Context(), w)
			harness.OK(t, err)
			begun, errs := together(t, s, 3, func(i int) (Ticket, error) {
				if i == 0 {
					_, err := s.Settle(t.Context(), first, answer)
					return Ticket{}, err
				}
				return s.Begin(t.Context(), w)
			})
			harness.OK(t, errors.Join(errs...))
			settled, errs := together(t, s, 2, func(i int) (SettleResult, error) { return s.Settle(t.Context(), begun[i+1], answer) })
			harness.OK(t, errors.Join(errs...))
			open, err := s.OpenWrites(t.Context(), "s", w.Key, 10)
			harness.OK(t, err)
			stored, err := s.Resource(t.Context(), "s", w.Key)
			harness.OK(t, err)
			if len(open) != 0 || stored.Phase != index.Live || stored.Generation != settled[0].Row.Generation && stored.Generation != settled[1].Row.Generation {
				t.Fatalf("%d writes are open; the row is %+v", len(open), stored)
			}
		}
	})
}
