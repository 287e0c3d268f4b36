package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// Answer is what became of a write. The zero Answer is an ambiguous one.
type Answer struct {
	Outcome           index.Outcome
	Status            int    // of the provider's answer; a refusal's decides
	ProvisioningState string // as the body says, empty when it does not
	ID                string // as the request wrote it; empty: as told to Begin
	Details           *Details
	// Poll is where an accepted write is followed; nil: by asking for the
	// resource.
	Poll *Poll
	// Operations are the polling URLs that the client is given with the answer.
	// They are recorded along with what it means, so that the client waits for
	// one transaction, and Follow is set to the result's.
	Operations []Operation
}

// SettleResult is what the index says after an answer.
type SettleResult struct {
	// Settled: the answer was proof and the row says what it proved. It is
	// false after an ambiguous answer, where a write that opposes this one was
	// open meanwhile, and where the intent had ended by time.
	Settled bool
	// Row is the row afterwards, nil when there is none.
	Row *Resource
	// Follow names what follows the write from now on, zero for nothing: see
	// EndFollow.
	Follow [16]byte
}

// Settle records what the answer to a write means; the client should have its
// answer after that, and has it also when this fails: the intent then ends by
// time. It is visible to every reader when it returns, but not flushed.
func (s *Store) Settle(ctx context.Context, ticket Ticket, a Answer) (SettleResult, error) {
	if deletes := ticket.Kind == index.Delete; a.Outcome == index.Gone && !deletes || a.Outcome == index.Succeeded && deletes {
		return SettleResult{}, fmt.Errorf("inventory: a %s cannot end as %s", ticket.Kind, a.Outcome)
	}
	id := a.ID
	if id == "" {
		id = ticket.ID
	}
	return commit(ctx, s, engine.Unflushed, resourceLocks(ticket.Subscription, ticket.Key), func(t *tx) (SettleResult, error) {
		h, err := lockResource(t, arm.Fold(ticket.Subscription), arm.Fold(ticket.Key))
		if err != nil {
			return SettleResult{}, err
		}
		e := index.Answered{ID: ticket.Intent, Outcome: a.Outcome, Status: a.Status, ProvisioningState: a.ProvisioningState}
		follows := h.follows(t, e, ticket.Kind)
		after, did := h.settle(t, e)
		result := SettleResult{Settled: did.Settled}
		if follows && after.Row != nil {
			result.Follow = engine.NewID()
			h.accepted = &accepted{ticket.Kind, a.Poll, result.Follow}
		}
		err = h.store(t, after, did, func(row *Resource) {
			row.respell(id)
			if a.Outcome == index.Succeeded || a.ProvisioningState != "" {
				row.ProvisioningState = a.ProvisioningState
			}
			row.learn(a.Details)
			row.Changed = t.Now
			if ticket.Kind == index.Put {
				row.APIVersion = ticket.APIVersion
			}
		})
		if err != nil {
			return SettleResult{}, err
		}
		if after.Row != nil {
			result.Row = h.row
		}
		for _, o := range a.Operations {
			o.Follow = result.Follow
			if err := o.put(t); err != nil {
				return SettleResult{}, err
			}
		}
		return result, nil
	})
}

// follows reports whether an answer is the acceptance of a write that is still
// open: its operation, and not an earlier one's, is the one to follow then. That
// of a PATCH is not followed, as the row is flagged.
func (h *resourceTx) follows(t *tx, e index.Answered, kind index.WriteKind) bool {
	unfinished := kind == index.Put && e.Outcome == index.Succeeded && !index.Terminal(e.ProvisioningState)
	return kind != index.Patch && (e.Outcome == index.Accepted || unfinished) && slices.ContainsFunc(h.open, func(open index.Intent) bool {
		return open.ID == e.ID && open.Ends > engine.Micros(t.Now)
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
	// ID is how the provider spells it, not how whoever asked did: which of the
	// writes that got no answer was the last one shows in its casing alone.
	ID      string
	Details *Details
}

// Observe records what a GET said, if the row is still of the generation that
// was read before asking. It reports whether that settled the row: its flag is
// then lifted, or the row removed; and the generation that the row has then, zero
// where what the GET said is of another one, or there is no row. It does not settle while a write that could
// overturn it is open, and not by a provisioning state that is not terminal;
// the row is then flagged, or still followed, and shows what the GET said. A 404 does not settle a followed
// create, nor a 200 a followed delete: see EndFollow.
//
// What it records is visible when it returns. That a resource is gone is also
// flushed: no intent stands behind it, so were it lost after a client had the
// 404, the row would be back and nobody would ask.
func (s *Store) Observe(ctx context.Context, sub, key string, generation [16]byte, o Observation) (settled bool, after [16]byte, err error) {
	type end struct {
		settled bool
		after   [16]byte
	}
	ended, err := commit(ctx, s, engine.Durability(!o.Found), resourceLocks(sub, key), func(t *tx) (end, error) {
		h, err := lockResource(t, arm.Fold(sub), arm.Fold(key))
		if err != nil {
			return end{}, err
		}
		counts := h.row != nil && h.row.Generation == generation && !h.lapses(t)
		after, did := h.settle(t, index.Observed{
			Generation: generation, Found: o.Found, ProvisioningState: o.ProvisioningState,
		})
		e := end{settled: did.Settled}
		if counts && after.Row != nil {
			e.after = after.Row.Generation
		}
		return e, h.store(t, after, did, func(row *Resource) {
			row.respell(o.ID)
			row.ProvisioningState = o.ProvisioningState
			row.learn(o.Details)
		})
	})
	return ended.settled, ended.after, err
}

// lapses reports whether time has ended an intent that nobody has looked at since.
func (h *resourceTx) lapses(t *tx) bool {
	return slices.ContainsFunc(h.open, func(in index.Intent) bool { return in.Ends <= engine.Micros(t.Now) })
}

// EndFollow records that the operation of an accepted write is over, or lost. A
// row that was followed for it is flagged: what became of the resource only a
// GET tells. It returns the row, or ErrNotFound. follow names the operation, by
// SettleResult; where another is followed by now nothing ends.
func (s *Store) EndFollow(ctx context.Context, sub, key string, kind index.WriteKind, follow [16]byte) (Resource, error) {
	return commit(ctx, s, engine.Flushed, resourceLocks(sub, key), func(t *tx) (Resource, error) {
		h, err := lockResource(t, arm.Fold(sub), arm.Fold(key))
		if err != nil {
			return Resource{}, err
		}
		if h.row == nil {
			return Resource{}, ErrNotFound
		}
		now, err := jobrow.Lock(t.Tx, h.subscription, followID(kind, h.key))
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && now.Incarnation != follow:
			return *h.row, nil
		case err != nil:
			return Resource{}, err
		}
		after, did := h.settle(t, index.FollowEnded{Kind: kind})
		if err := h.store(t, after, did); err != nil {
			return Resource{}, err
		}
		return *h.row, nil
	})
}

// FollowOf returns what is followed on behalf of the acceptance that follow names;
// ErrNotFound where it is not followed any more.
func (s *Store) FollowOf(ctx context.Context, sub, key string, kind index.WriteKind, follow [16]byte) (Follow, error) {
	job, err := s.Job(ctx, arm.Fold(sub), followID(kind, arm.Fold(key)))
	switch {
	case err != nil:
		return Follow{}, err
	case job.Incarnation != follow:
		return Follow{}, ErrNotFound
	}
	return ReadFollow(job)
}

// HastenFollow has what is followed on behalf of a kind of write polled as soon as
// the poll floor allows.
func (s *Store) HastenFollow(ctx context.Context, sub, key string, kind index.WriteKind) error {
	return s.write(ctx, engine.Unflushed, resourceLocks(sub, key), func(t *tx) error {
		return jobrow.Hasten(t.Tx, arm.Fold(sub), followID(kind, arm.Fold(key)), t.Now.Add(s.options.PollFloor))
	})
}

// Doubt flags a row, durably: its resource is to be asked for. Without a row it
// does nothing.
func (s *Store) Doubt(ctx context.Context, sub, key string) error {
	return s.write(ctx, engine.Flushed, resourceLocks(sub, key), func(t *tx) error {
		h, err := lockResource(t, arm.Fold(sub), arm.Fold(key))
		if err != nil || h.row == nil {
			return err
		}
		after := h.state()
		after.Row.Verify, after.Row.Generation = true, engine.NewID()
		return h.store(t, after, index.Actions{})
	})
}
