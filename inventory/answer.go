package inventory

import (
	"context"
	"fmt"

	"portico/arm"
)

// Answer is what became of a write. The zero Answer is an ambiguous one.
type Answer struct {
	Outcome           Outcome
	Status            int    // of the provider's answer; a refusal's decides
	ProvisioningState string // as the body says, empty when it does not
	ID                string // as the request wrote it; empty: as told to Begin
	Details           *Details
}

// SettleResult is what the index says after an answer.
type SettleResult struct {
	// Settled: the answer was proof and the row says what it proved. It is
	// false after an ambiguous answer, where a write that opposes this one was
	// open meanwhile, and where the intent had ended by time.
	Settled bool
	// Row is the row afterwards, nil when there is none.
	Row *Resource
}

// Settle records what the answer to a write means; the client should have its
// answer after that, and has it also when this fails: the intent then ends by
// time. It is visible to every reader when it returns, but not flushed.
func (s *Store) Settle(ctx context.Context, ticket Ticket, a Answer) (SettleResult, error) {
	if ticket.Kind == Put && a.Outcome == Gone || ticket.Kind == Delete && a.Outcome == Succeeded {
		return SettleResult{}, fmt.Errorf("inventory: a %s cannot end as %s", ticket.Kind, a.Outcome)
	}
	id := a.ID
	if id == "" {
		id = ticket.ID
	}
	return commit(ctx, s, unflushed, func(t *tx) (SettleResult, error) {
		h, err := hold(t, arm.Fold(ticket.Subscription), arm.Fold(ticket.Key))
		if err != nil {
			return SettleResult{}, err
		}
		after, did := h.settle(t, answered{
			id: ticket.Intent, outcome: a.Outcome, status: a.Status, provisioningState: a.ProvisioningState,
		})
		err = h.store(t, after, did, func(row *Resource) {
			row.respell(id)
			if a.Outcome == Succeeded || a.ProvisioningState != "" {
				row.ProvisioningState = a.ProvisioningState
			}
			row.learn(a.Details)
			row.APIVersion, row.Changed = ticket.APIVersion, t.now
		})
		if err != nil {
			return SettleResult{}, err
		}
		result := SettleResult{Settled: did.settled}
		if after.row != nil {
			result.Row = h.row
		}
		return result, nil
	})
}

// respell takes the casing of an ID that names the row.
func (r *Resource) respell(id string) {
	if r.ID != id && arm.Fold(id) == r.Key {
		r.ID, r.Name = id, nameIn(id, r.Type)
	}
}

func (r *Resource) learn(details *Details) {
	if details != nil {
		r.Details = *details
	}
}

// Observation is what a GET of a resource said: 200 or 404. No other answer
// tells anything.
type Observation struct {
	Found             bool
	ProvisioningState string
	// ID is how the answer spells it. Reads change no casing, so it counts only
	// where the row has no spelling of its own.
	ID      string
	Details *Details
}

// Observe records what a GET said, if the row is still of the generation that
// was read before asking. It tells whether that settled the row: its flag is
// then lifted, or the row removed. It does not settle while a write that could
// overturn it is open, and not by a provisioning state that is not terminal;
// the row is then flagged, or still followed. A 404 does not settle a followed
// create, nor a 200 a followed delete: see EndFollow.
func (s *Store) Observe(ctx context.Context, sub, key string, generation [16]byte, o Observation) (bool, error) {
	return commit(ctx, s, unflushed, func(t *tx) (bool, error) {
		h, err := hold(t, arm.Fold(sub), arm.Fold(key))
		if err != nil {
			return false, err
		}
		after, did := h.settle(t, observed{
			generation: generation, found: o.Found, provisioningState: o.ProvisioningState,
		})
		return did.settled, h.store(t, after, did, func(row *Resource) {
			if row.ID == "" {
				row.respell(o.ID)
			}
			row.ProvisioningState = o.ProvisioningState
			row.learn(o.Details)
		})
	})
}

// EndFollow records that the operation of an accepted write is over, or lost. A
// row that was followed for it is flagged: what became of the resource only a
// GET tells. It returns the row, or ErrNotFound.
func (s *Store) EndFollow(ctx context.Context, sub, key string, kind WriteKind) (Resource, error) {
	return commit(ctx, s, flushed, func(t *tx) (Resource, error) {
		h, err := hold(t, arm.Fold(sub), arm.Fold(key))
		if err != nil {
			return Resource{}, err
		}
		if h.row == nil {
			return Resource{}, ErrNotFound
		}
		after, did := h.settle(t, ended{kind: kind})
		if err := h.store(t, after, did); err != nil {
			return Resource{}, err
		}
		return *h.row, nil
	})
}

// Patched records the success of a PATCH: the casing of its ID, and the
// details that its answer showed, if the row is still of the generation that
// was read before sending. If it is not, the order of the writes is unknown,
// and the row is flagged instead.
func (s *Store) Patched(ctx context.Context, sub, key string, generation [16]byte, id string, details *Details, provisioningState string) error {
	return s.writer.do(ctx, unflushed, func(t *tx) error {
		h, err := hold(t, arm.Fold(sub), arm.Fold(key))
		if err != nil || h.row == nil {
			return err
		}
		after := h.state()
		did := actions{learn: after.row.generation == generation}
		after.row.verify = after.row.verify || !did.learn
		after.row.generation = newID()
		return h.store(t, after, did, func(row *Resource) {
			row.respell(id)
			if provisioningState != "" {
				row.ProvisioningState = provisioningState
			}
			row.learn(details)
			row.Changed = t.now
		})
	})
}

// Doubt flags a row: what its resource looks like is to be asked for, as after
// a PATCH that was accepted but has not ended. Without a row it does nothing.
func (s *Store) Doubt(ctx context.Context, sub, key string) error {
	return s.writer.do(ctx, unflushed, func(t *tx) error {
		h, err := hold(t, arm.Fold(sub), arm.Fold(key))
		if err != nil || h.row == nil {
			return err
		}
		after := h.state()
		after.row.verify, after.row.generation = true, newID()
		return h.store(t, after, actions{})
	})
}
