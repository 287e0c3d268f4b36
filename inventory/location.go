package inventory

import (
	"context"
	"database/sql"
	"errors"

	"portico/inventory/index"
	"portico/inventory/locations"
)

const selectLocation = `SELECT region, type, generation, phase, verify, provisioning_state FROM resources WHERE subscription = ? AND key = ?`

// location is what the cache reads.
func (s *Store) location(ctx context.Context, sub, key string) (locations.Located, error) {
	found := locations.Located{Found: true}
	var generation []byte
	var provisioningState string
	err := s.engine.Read(ctx).One(selectLocation, sub, key)(&found.Region, &found.Type, &generation, &found.Phase, &found.Verify, &provisioningState)
	if errors.Is(err, sql.ErrNoRows) {
		return locations.Located{}, nil
	}
	if err != nil {
		return locations.Located{}, err
	}
	copy(found.Generation[:], generation)
	found.Unfinished = !index.Terminal(provisioningState)
	return found, nil
}
