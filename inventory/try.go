package inventory

import (
	"context"

	"portico/inventory/engine"
)

// Plan is what a write that is only planned counts on.
type Plan struct {
	// Created is how many resources of the type count as created in the group before this
	// one, for its quota.
	Created int
	// Unlocked: locks do not forbid it.
	Unlocked bool
}

// Try returns what Begin would, and records nothing.
func (s *Store) Try(ctx context.Context, w Write) (Ticket, error) {
	return s.Begin(engine.Rehearse(ctx), w)
}

// TryPlanned is Try for a write that comes after what else is planned.
func (s *Store) TryPlanned(ctx context.Context, w Write, after Plan) (Ticket, error) {
	w.plan = after
	return s.Try(ctx, w)
}
