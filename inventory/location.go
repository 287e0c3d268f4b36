package inventory

import (
	"context"
	"database/sql"
	"errors"

	"portico/inventory/index"
	"portico/inventory/locations"
)

// The names of package locations that callers of the inventory use. Writes take the
// region from the store: see [Store.Begin].
type (
	// Locations is [locations.Cache].
	Locations = locations.Cache
	// Located is [locations.Located].
	Located = locations.Located
)

const selectLocation = `SELECT region, type, generation, phase, verify, provisioning_state FROM resources WHERE subscription = ? AND key = ?`

// location is what the cache reads.
func (s *Store) location(ctx context.Context, sub, key string) (Located, error) {
	found := Located{Found: true}
	var generation []byte
	var provisioningState string
	err := s.read(ctx).One(selectLocation, sub, key)(&found.Region, &found.Type, &generation, &found.Phase, &found.Verify, &provisioningState)
	if errors.Is(err, sql.ErrNoRows) {
		return Located{}, nil
	}
	if err != nil {
		return Located{}, err
	}
	copy(found.Generation[:], generation)
	found.Unfinished = !index.Terminal(provisioningState)
	return found, nil
}
