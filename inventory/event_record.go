package inventory

import (
	"context"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/transaction"
)

// RecordEvent records an event of what changed nothing that the store knows: of a request
// that was refused, or only passed on to a provider. sub is a subscription, or what stands
// in place of one for a tenant.
func (s *Store) RecordEvent(ctx context.Context, sub string, told events.Told) error {
	sub = arm.Fold(sub)
	return s.write(ctx, engine.Unflushed, transaction.RecordLocks(sub), func(t *tx) error {
		return t.Record(sub, arm.Fold(told.Resource), told)
	})
}
