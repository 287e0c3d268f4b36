package inventory

import (
	"context"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
)

// RecordEvent records an event of what changed nothing that the store knows: of a request
// that was refused, or only passed on to a provider. sub is a subscription, or what stands
// in place of one for a tenant.
func (s *Store) RecordEvent(ctx context.Context, sub string, told events.Told) error {
	sub = arm.Fold(sub)
	return s.write(ctx, engine.Unflushed, recordLocks(sub), func(t *tx) error {
		return t.record(sub, arm.Fold(told.Resource), told)
	})
}
