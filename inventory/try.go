package inventory

import (
	"context"

	"portico/inventory/engine"
)

// Planned describes the planned writes before a planned write.
type Planned struct {
	// Created is how many resources of the type are planned in the group before this one,
	// for its quota.
	Created int
	// Unlocked: ignore management locks.
	Unlocked bool
}

// Try returns the result of Begin, and records nothing.
func (s *Store) Try(ctx context.Context, w Write) (Ticket, error) {
	return s.Begin(engine.Rehearse(ctx), w)
}

// TryPlanned is like Try for a write that follows other planned writes.
func (s *Store) TryPlanned(ctx context.Context, w Write, after Planned) (Ticket, error) {
	w.plan = after
	return s.Try(ctx, w)
}
