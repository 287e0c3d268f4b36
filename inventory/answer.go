package inventory

import (
	"context"
	"fmt"
	"slices"

	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/polls"
)

// WriteResult is the outcome of a write. The zero Answer is an ambiguous one.
type WriteResult struct {
	Outcome           index.Outcome
	Status            int    // of the provider's answer; it matters for a refusal
	ProvisioningState string // in the body, empty if there is none
	Details           *Details
	// Error is the error that the client got for a failed write; nil if it is unknown.
	Error *arm.Error
	// Poll is the URL that follows an accepted write; if nil, GETs of the resource do.
	Poll *Poll
	// Operations are the polling URLs that the client gets with the answer. Settle
	// records them too, so that the client waits for one transaction, and sets their
	// Follow.
	Operations []polls.Operation
}

// SettleResult is the state of the index after an answer.
type SettleResult struct {
	// Settled: the answer was proof, and the row shows what it proved. It is false
	// after an ambiguous answer, if an opposing write was open meanwhile, or if the
	// intent had already ended by time.
	Settled bool
	// Row is the row afterwards, nil if there is none.
	Row *Resource
	// Follow identifies the follow that the answer started, for Follows.End; zero if it
	// started none.
	Follow [16]byte
}

// Settle records the outcome of a write. The caller delivers the answer to the client
// afterwards, even if Settle fails: the intent then ends by time. Every reader sees the
// change when Settle returns. The commit is flushed only if the client is about to get a
// polling URL; if another one is lost, the intent is still open.
func (s *Store) Settle(ctx context.Context, ticket Ticket, a WriteResult) (SettleResult, error) {
	if deletes := ticket.Kind == index.Delete; a.Outcome == index.Gone && !deletes || a.Outcome == index.Succeeded && deletes {
		return SettleResult{}, fmt.Errorf("inventory: a %s cannot end as %s", ticket.Kind, a.Outcome)
	}
	expected, err := s.expectEvent(ctx, ticket, a)
	if err != nil {
		return SettleResult{}, err
	}
	durability := engine.Unflushed
	if len(a.Operations) > 0 {
		durability = engine.Flushed
	}
	return commit(ctx, s, durability, settleLocks(&ticket), func(t *tx) (SettleResult, error) { return t.settle(ticket, a, expected) })
}

// settle runs [Store.Settle] in its transaction.
func (t *tx) settle(ticket Ticket, a WriteResult, expected expectedEvent) (SettleResult, error) {
	of := resourceOf{arm.Fold(ticket.Subscription), arm.Fold(ticket.Key)}
	t.locked.addExpected(of, ticket.left)
	h, err := lockResource(t, of.subscription, of.key)
	if err != nil {
		return SettleResult{}, err
	}
	e := a.answered(ticket)
	follows, before := h.follows(engine.Micros(t.Now), e, ticket.Kind), h.row
	after, did := h.settle(t, e)
	result := SettleResult{Settled: did.Settled}
	if follows && after.Row != nil {
		result.Follow = engine.NewID()
		h.accepted = &accepted{ticket.Kind, a.Poll, result.Follow}
	}
	means := answerMeaning{did.Settled, follows}
	if means.ends(a) {
		if err := h.forgetWrite(t, ticket.Intent); err != nil {
			return SettleResult{}, err
		}
	}
	err = h.store(t, after, did, func(row *Resource) {
		row.adoptCasing(ticket.ID)
		if a.Outcome == index.Succeeded || a.ProvisioningState != "" {
			row.ProvisioningState = a.ProvisioningState
		}
		row.setDetails(a.Details)
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
	if err := h.recordAnswer(t, ticket, a, before, means, expected); err != nil {
		return SettleResult{}, err
	}
	for _, o := range a.Operations {
		o.Follow = result.Follow
		if err := o.Put(&t.Tx); err != nil {
			return SettleResult{}, err
		}
	}
	return result, nil
}

// answered returns the answer as an event for [index.Settle].
func (a *WriteResult) answered(ticket Ticket) index.Answered {
	return index.Answered{ID: ticket.Intent, Outcome: a.Outcome, Status: a.Status, ProvisioningState: a.ProvisioningState}
}

// follows reports whether the answer accepts a write that is still open. Its operation
// then replaces an earlier one as the operation to follow.
func (h *resourceTx) follows(now int64, e index.Answered, kind index.WriteKind) bool {
	return e.Continues(kind) && slices.ContainsFunc(h.open, func(open index.Intent) bool {
		return open.ID == e.ID && open.Ends > now
	})
}

// adoptCasing adopts the casing of an ID that names the row.
func (r *Resource) adoptCasing(id string) {
	if r.ID != id && arm.Fold(id) == r.Key {
		r.ID, r.Name = id, nameIn(id, r.Type)
	}
}

// setLocation adopts the location that a provider shows, if it shows one.
func (r *Resource) setLocation(location string) {
	if location = arm.Location(location); location != "" {
		r.Location = location
	}
}

func (r *Resource) setDetails(details *Details) {
	if details != nil {
		r.Details = *details
	}
}

// Observation is the answer to a GET of a resource: 200 or 404. No other status proves
// anything.
type Observation struct {
	Found             bool
	ProvisioningState string
	// ID has the provider's casing, not the caller's: among unanswered writes only the
	// casing shows which came last.
	ID       string
	Location string // in the provider's casing, "" if the answer has none
	Details  *Details
}

// Observe records the answer to a GET if the row still has the generation that was read
// before the call. It reports whether that settled the row: the flag is then lifted, or
// the row removed. after is the row's generation afterwards, zero if it had another
// generation or is gone.
//
// A GET does not settle the row while a write is open that could overturn it, or if the
// provisioning state is not terminal. The row is then flagged, or followed on, and has
// the members that the GET showed. A 404 does not settle a followed create, nor a 200 a
// followed delete: see Follows.End.
//
// The record is visible when Observe returns. An absence is also flushed, because there
// is no intent for it: if it were lost after a client had the 404, the row would come
// back and nothing would verify it.
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
		before, counts := h.row, h.row != nil && h.row.Generation == generation && !h.hasExpired(t)
		after, did := h.settle(t, index.Observed{
			Generation: generation, Found: o.Found, ProvisioningState: o.ProvisioningState,
		})
		e := end{settled: did.Settled}
		var ended []unreportedWrite
		if did.Settled {
			if ended, err = h.forgetEndedWrites(t, after); err != nil {
				return end{}, err
			}
		}
		if counts && after.Row != nil {
			e.after = after.Row.Generation
		}
		err = h.store(t, after, did, func(row *Resource) {
			row.adoptCasing(o.ID)
			row.ProvisioningState = o.ProvisioningState
			row.setLocation(o.Location)
			row.setDetails(o.Details)
		})
		if err == nil && did.Settled {
			err = h.recordObserved(t, before, after.Row, o.ProvisioningState, ended)
		}
		return e, err
	})
	return ended.settled, ended.after, err
}

// hasExpired reports whether the time of an open intent is over.
func (h *resourceTx) hasExpired(t *tx) bool {
	return slices.ContainsFunc(h.open, func(in index.Intent) bool { return in.Ends <= engine.Micros(t.Now) })
}

// RequestVerify durably flags a row for verification by a GET. Without a row it does
// nothing.
func (s *Store) RequestVerify(ctx context.Context, sub, key string) error {
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
