package inventory

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"portico/inventory/engine"
)

// What fails says which statement did; if time is over, the store is to blame.
func TestFailuresNameTheStatement(t *testing.T) {
	t.Parallel()
	onBothEngines(t, func(t *testing.T, s *Store) {
		makeGroup(t, s, "rg")
		late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for want, fails := range map[string]func() error{
			"SELECT of resource_groups: ": func() error { _, err := s.Group(late, "s", "rg"); return err },
			"SELECT of locks: ":           func() error { _, err := s.Locks.List(late, "s", "", true); return err },
			"INSERT of resource_groups: ": func() error { // columns that must have a value have none
				return s.write(t.Context(), engine.Flushed, engine.LockSet{}, func(tx *tx) error {
					return tx.Later("INSERT INTO resource_groups (subscription, key) VALUES ('s', 'other')")
				})
			},
		} {
			err := fails()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %q, want one with %q", err, want)
			}
			if read := strings.HasPrefix(want, "SELECT of r"); read && !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("%q does not blame the store", err)
			}
		}
	})
}
