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
	"portico/inventory/polls"
)

// Answer is the outcome of a write. The zero Answer is an ambiguous one.
type Answer struct {
	Outcome           index.Outcome
	Status            int    // of the provider's answer; a refusal's decides
	ProvisioningState string // as the body says, empty when it does not
	Details           *Details
	// Error is the error that the client got for a failed write; nil if it is unknown.
	Error *arm.Error
	// Poll is the URL by which an accepted write is followed; nil: by a GET of the
	// resource.
	Poll *Poll
	// Operations are the polling URLs that the client gets with the answer. They are
	// recorded with the answer's meaning, so that the client waits for one transaction;
	// Follow is set to the result's.
	Operations []polls.Operation
}

// SettleResult is the state of the index after an answer.
type SettleResult struct {
	// Settled: the answer was proof, and the row shows what it proved. It is false
	// after an ambiguous answer, if an opposing write was open meanwhile, or if the
	// intent had already ended by time.
	Settled bool
	// Row is the row afterwards, nil when there is none.
	Row *Resource
	// Follow names what follows the write from now on, zero for nothing: see EndFollow.
	Follow [16]byte
}

// Settle records what the answer to a write means. The caller delivers the answer after
// that, even if Settle fails: the intent then ends by time. Every reader sees the
// change when Settle returns. It is flushed if there is something to poll, as the
// client is about to get that URL; losing the rest leaves the intent.
func (s *Store) Settle(ctx context.Context, ticket Ticket, a Answer) (SettleResult, error) {
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

// settle is [Store.Settle] within its transaction.
func (t *tx) settle(ticket Ticket, a Answer, expected expectedEvent) (SettleResult, error) {
	of := resourceOf{arm.Fold(ticket.Subscription), arm.Fold(ticket.Key)}
	t.locked.supply(of, ticket.left)
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
		if err := h.forget(t, ticket.Intent); err != nil {
			return SettleResult{}, err
		}
	}
	err = h.store(t, after, did, func(row *Resource) {
		row.respell(ticket.ID)
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

// answered returns the answer in the form that the rule takes.
func (a *Answer) answered(ticket Ticket) index.Answered {
	return index.Answered{ID: ticket.Intent, Outcome: a.Outcome, Status: a.Status, ProvisioningState: a.ProvisioningState}
}

// follows reports whether the answer accepts a write that is still open: then its
// operation, and not an earlier one's, is the one to follow.
func (h *resourceTx) follows(now int64, e index.Answered, kind index.WriteKind) bool {
	return e.Continues(kind) && slices.ContainsFunc(h.open, func(open index.Intent) bool {
		return open.ID == e.ID && open.Ends > now
	})
}

// respell adopts the casing of an ID that names the row.
func (r *Resource) respell(id string) {
	if r.ID != id && arm.Fold(id) == r.Key {
		r.ID, r.Name = id, nameIn(id, r.Type)
	}
}

// relocate adopts the location that a provider shows, if it shows one.
func (r *Resource) relocate(location string) {
	if location = arm.Location(location); location != "" {
		r.Location = location
	}
}

func (r *Resource) learn(details *Details) {
	if details != nil {
		r.Details = *details
	}
}

// Observation is the answer to a GET of a resource: 200 or 404. No other status proves
// anything.
type Observation struct {
	Found             bool
	ProvisioningState string
	// ID is spelt as the provider spells it, not as the caller did: among unanswered
	// writes only its casing shows which came last.
	ID       string
	Location string // as the provider spells it, "" where it says none
	Details  *Details
}

// Observe records the answer to a GET if the row still has the generation that was read
// before the call. It reports whether that settled the row: the flag is then lifted, or
// the row removed. after is the row's generation afterwards; it is zero if the row has
// another generation, or is gone.
//
// A GET does not settle while a write that could overturn it is open, nor by a
// provisioning state that is not terminal; the row is then flagged, or still
// followed, and shows what the GET said. A 404 does not settle a followed create, nor
// a 200 a followed delete: see EndFollow.
//
// The record is visible when Observe returns. An absence is also flushed. No intent
// backs it: if it were lost after a client had the 404, the row would come back and
// nothing would verify it.
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
			if ended, err = h.forgetEnded(t, after); err != nil {
				return end{}, err
			}
		}
		if counts && after.Row != nil {
			e.after = after.Row.Generation
		}
		err = h.store(t, after, did, func(row *Resource) {
			row.respell(o.ID)
			row.ProvisioningState = o.ProvisioningState
			row.relocate(o.Location)
			row.learn(o.Details)
		})
		if err == nil && did.Settled {
			err = h.recordObserved(t, before, after.Row, o.ProvisioningState, ended)
		}
		return e, err
	})
	return ended.settled, ended.after, err
}

// lapses reports whether the time of an intent that is still open is over.
func (h *resourceTx) hasExpired(t *tx) bool {
	return slices.ContainsFunc(h.open, func(in index.Intent) bool { return in.Ends <= engine.Micros(t.Now) })
}

// EndFollow records that the operation of an accepted write is over, or lost, and flags
// the row, because only a GET shows the state of the resource. It returns the row, or
// ErrNotFound. follow names the operation, see SettleResult; if the row follows another
// operation by now, nothing ends. why is the provider's error for an operation that
// failed, nil otherwise.
func (s *Store) EndFollow(ctx context.Context, sub, key string, kind index.WriteKind, follow [16]byte, why *arm.Error) (Resource, error) {
	return commit(ctx, s, engine.Flushed, resourceLocks(sub, key), func(t *tx) (Resource, error) {
		h, err := lockResource(t, arm.Fold(sub), arm.Fold(key))
		if err != nil {
			return Resource{}, err
		}
		if h.row == nil {
			return Resource{}, ErrNotFound
		}
		now, err := jobrow.Lock(t.Base(), h.subscription, followID(kind, h.key))
		switch {
		case errors.Is(err, ErrNotFound) || err == nil && now.Incarnation != follow:
			return *h.row, nil
		case err != nil:
			return Resource{}, err
		}
		if err := h.failed(t, kind, why); err != nil {
			return Resource{}, err
		}
		after, did := h.settle(t, index.FollowEnded{Kind: kind})
		if err := h.store(t, after, did); err != nil {
			return Resource{}, err
		}
		return *h.row, nil
	})
}

// FollowOf returns the follow that the acceptance started, or ErrNotFound if it has
// ended.
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

// PollSoon schedules the next poll of the operation of a write of this kind for as soon
// as the poll floor allows.
func (s *Store) PollSoon(ctx context.Context, sub, key string, kind index.WriteKind) error {
	return s.write(ctx, engine.Unflushed, resourceLocks(sub, key), func(t *tx) error {
		return jobrow.RunSooner(t.Base(), arm.Fold(sub), followID(kind, arm.Fold(key)), t.Now.Add(s.options.PollFloor))
	})
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
