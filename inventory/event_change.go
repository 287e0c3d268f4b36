package inventory

import (
	"context"
	"errors"
	"slices"
	"strings"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// The last segments of actions.
const (
	writeVerb  = index.WriteVerb
	deleteVerb = index.DeleteVerb
)

// answerMeaning is the result of [index.Settle] for an answer: whether it settled the
// write, and whether its operation is followed.
type answerMeaning struct{ settled, follows bool }

// recordAnswer records the event of an answer to a write. before is the row before the
// answer, nil if there was none.
func (h *resourceTx) recordAnswer(t *tx, ticket Ticket, a WriteResult, before *Resource, means answerMeaning, expected expectedEvent) error {
	payload := h.answerEvent(t.store, ticket, a, before, means)
	if payload == expected.payload {
		return t.RecordSealed(h.subscription, h.key, expected.SealedEvent)
	}
	return t.Record(h.subscription, h.key, payload)
}

// expectedEvent is the event of an answer if the resource has not changed since the
// intent. It is prepared before the answer waits for its transaction, because other writes
// wait for that transaction too.
type expectedEvent struct {
	payload events.Payload // zero if no event is expected
	transaction.SealedEvent
}

func (s *Store) expectEvent(ctx context.Context, ticket Ticket, a WriteResult) (e expectedEvent, err error) {
	if ticket.left.row == nil {
		return e, nil
	}
	h := &resourceTx{subscription: arm.Fold(ticket.Subscription), key: arm.Fold(ticket.Key), row: ticket.left.row, open: ticket.left.open}
	answered, now := a.answered(ticket), engine.Micros(s.engine.Now())
	_, did := index.Settle(h.state(), answered, engine.NewID())
	e.payload = h.answerEvent(s, ticket, a, h.row, answerMeaning{did.Settled, h.follows(now, answered, ticket.Kind)})
	e.SealedEvent, err = s.database.SealEvent(ctx, events.CauseOf(ctx), h.key, e.payload)
	return e, err
}

// answerEvent returns the payload of the event for the answer to a write.
func (h *resourceTx) answerEvent(s *Store, ticket Ticket, a WriteResult, before *Resource, means answerMeaning) events.Payload {
	payload := index.EventOfAnswer(ticket.Kind, a.answered(ticket), means.settled, means.follows)
	payload.Resource, payload.Action = ticket.ID, h.typeName(before, ticket.ID)+payload.Action
	payload.HTTPStatus, payload.Began = a.Status, ticket.SendBy.Add(-s.options.SendWithin)
	payload.New = ticket.Kind != index.Delete && pending(before)
	if payload.Status == events.Failed || payload.Status == events.Started {
		payload.Error = a.Error
	}
	if a.Error != nil && payload.HTTPStatus == 0 {
		payload.HTTPStatus = a.Error.Status
	}
	return payload
}

// ends reports whether the answer ended the write.
func (m answerMeaning) ends(a WriteResult) bool {
	return m.settled && !m.follows && a.Outcome != index.Accepted
}

// recordObserved records the ends of writes that a GET has shown, and the present state if
// none of those events has it. The caller of the GET need not have sent the writes.
func (h *resourceTx) recordObserved(t *tx, before *Resource, after *index.Row, provisioningState string, ended []unreportedWrite) (err error) {
	if before == nil {
		return nil
	}
	var reported []unreportedWrite
	var kinds []index.WriteKind
	for _, b := range ended {
		if b.Type == before.Type || b.Kind == index.Delete && after == nil { // else it is the deletion of an ancestor
			reported, kinds = append(reported, b), append(kinds, b.Kind)
		}
	}
	for i, e := range index.EventsOfGet(before.ruleRow(), after, provisioningState, kinds) {
		e.Resource, e.Action = before.ID, before.TypeName+e.Action
		cause := t.ownCause()
		switch {
		case i < len(reported):
			cause = reported[i].Cause
		case after == nil:
			if cause, err = t.causeOfAbsence(before); err != nil {
				return err
			}
		}
		if i < len(reported) && reported[i].Kind == index.Patch && reported[i].Why != nil {
			e.Status = events.Failed // even if the resource exists
		}
		if e.Status == events.Failed {
			e.Error = reported[i].failure()
		}
		if err := t.RecordBy(cause, h.subscription, h.key, e); err != nil {
			return err
		}
	}
	return nil
}

// ownCause returns the cause of a change that Portico noticed: the job, if one did. Its caller
// did not make the change.
func (t *tx) ownCause() events.Cause {
	by := events.CauseOf(t.Context)
	return events.Cause{Job: by.Job, JobID: by.JobID}
}

// causeOfAbsence returns the cause of a removal that no known write explains. While the group
// is being deleted that is the deletion, as the group admits no other write.
func (t *tx) causeOfAbsence(row *Resource) (events.Cause, error) {
	g, job, err := deletionOf(t, row.Subscription, row.Group)
	if errors.Is(err, ErrNotFound) || t.store.options.CauseOf == nil {
		return t.ownCause(), nil
	}
	cause := t.store.options.CauseOf(job)
	cause.JobOn = groupID(g)
	return cause, err
}

// recordLapsed records that writes ended by time, with an unknown outcome. The event of a
// later GET reports the outcome.
func (h *resourceTx) recordLapsed(t *tx) error {
	if h.row == nil {
		return nil
	}
	for _, in := range h.lapsed {
		payload := events.Payload{
			Resource: h.row.ID, Action: h.row.TypeName + index.VerbOf(in.Kind), Origin: events.Lapsed,
			Status: events.Started, New: in.Kind != index.Delete && pending(h.row),
		}
		cause := events.Cause{}
		if i := slices.IndexFunc(h.unreported(t), func(b unreportedWrite) bool { return b.Intent == in.ID }); i >= 0 {
			cause = h.unreported(t)[i].Cause
		}
		if err := t.RecordBy(cause, h.subscription, h.key, payload); err != nil {
			return err
		}
	}
	return nil
}

// recordAdopted records that a sweep found a resource. Its creator is unknown, and is not
// the caller that requested the sweep.
func (t *tx) recordAdopted(row *Resource) error {
	return t.RecordBy(t.ownCause(), row.Subscription, row.Key, events.Payload{
		Resource: row.ID, Action: row.TypeName + writeVerb, Origin: events.Swept, Status: events.Succeeded, New: true,
	})
}

// recordGone records that a row was removed without a write.
func (t *tx) recordGone(row *Resource, origin events.Origin) error {
	return t.Record(row.Subscription, row.Key, events.Payload{
		Resource: row.ID, Action: row.TypeName + deleteVerb, Origin: origin, Status: events.Succeeded,
	})
}

// recordLanding records that a write landed after its group had been deleted. The event
// is marked unverified: a job is deleting the resource, which no request can reach.
func (t *tx) recordLanding(f Fence) error {
	return t.RecordBy(t.causeUnderFences(f.Subscription, f.Key, index.Put), f.Subscription, f.Key, events.Payload{
		Resource: f.ID, Action: arm.TypeIn(f.ID) + writeVerb, Origin: events.Landed, Status: events.Succeeded, Unverified: true, New: true,
	})
}

// recordFencedDelete records the outcome of the DELETE of a resource under a fence.
func (t *tx) recordFencedDelete(ticket Ticket, status events.Status) error {
	return t.RecordBy(t.causeUnderFences(ticket.Subscription, ticket.Key, index.Delete), ticket.Subscription, ticket.Key, events.Payload{
		Resource: ticket.ID, Action: arm.TypeIn(ticket.ID) + deleteVerb, Origin: events.Answered, Status: status,
	})
}

// pending reports whether a resource had never been seen before a write.
func pending(row *Resource) bool { return row == nil || row.Phase == index.Pending }

// recordMove records the move of a resource at its old and its new place.
func (t *tx) recordMove(from, to *Resource) error {
	payload := events.Payload{Resource: from.ID, Action: from.TypeName + deleteVerb, Origin: events.Answered, Status: events.Succeeded, To: to.ID}
	if err := t.Record(from.Subscription, from.Key, payload); err != nil {
		return err
	}
	payload.Resource, payload.Action, payload.From, payload.To, payload.New = to.ID, to.TypeName+writeVerb, from.ID, "", true
	return t.Record(to.Subscription, to.Key, payload)
}

// typeName returns the resource's type as declared, or else as in its ID.
func (h *resourceTx) typeName(before *Resource, id string) string {
	for _, row := range [...]*Resource{before, h.stored, h.createdRow} {
		if row != nil {
			return row.TypeName
		}
	}
	return arm.TypeIn(id)
}

func (t *tx) recordGroup(g Group, verb string, status events.Status) error {
	return t.RecordOwn(g.Subscription, events.Payload{
		Resource: groupID(g), Action: groupAction + verb, Status: status, New: verb == writeVerb && g.Changed.Equal(g.Created), ETag: g.ETag,
	})
}

func (t *tx) recordGroupFailed(g Group, verb string, status events.Status, why *arm.Error) error {
	return t.RecordOwn(g.Subscription, events.Payload{Resource: groupID(g), Action: groupAction + verb, Status: status, Error: why, ETag: g.ETag})
}

const groupAction = "Microsoft.Resources/subscriptions/resourceGroups"

func groupID(g Group) string { return subscriptionScope(g.Subscription) + "/resourceGroups/" + g.Name }

// moveVerb ends the name of the action that moves the resources of a group.
const moveVerb = "/moveResources/action"

func (t *tx) recordLock(l Lock, verb string) error {
	const typ = "Microsoft.Authorization/locks"
	return t.RecordOwn(l.Subscription, events.Payload{
		Resource: LockID(l.ScopeID, l.Name), Action: typ + verb, Status: events.Succeeded, New: verb == writeVerb && l.Changed.Equal(l.Created), ETag: l.ETag,
	})
}

// recordRegistration records a change of a registration under the declared name of its
// namespace.
func (t *tx) recordRegistration(r Registration, name, etag string) error {
	action, status := "/unregister/action", events.Succeeded
	if r.State.Permits() {
		action = "/register/action"
	}
	if r.State.settled() != r.State {
		status = events.Accepted
	}
	return t.RecordOwn(r.Subscription, events.Payload{
		Resource: subscriptionScope(r.Subscription) + "/providers/" + name, Action: name + action, Status: status, ETag: etag,
	})
}

func (t *tx) recordSubscription(s Subscription) error {
	verb := writeVerb
	if s.State == Deleted {
		verb = deleteVerb
	}
	created := s.Created.IsZero() || s.Created.Equal(t.Now) // else it was read from its row
	return t.RecordOwn(s.ID, events.Payload{
		Resource: subscriptionScope(s.ID), Action: "Microsoft.Resources/subscriptions" + verb, Status: events.Succeeded, New: created,
	})
}

func (t *tx) recordSubscriptionTags(sub string, kind index.WriteKind, etag string) error {
	const typ = "Microsoft.Resources/tags"
	return t.RecordOwn(sub, events.Payload{
		Resource: subscriptionScope(sub) + "/providers/" + typ + "/default", Action: typ + index.VerbOf(kind), Status: events.Succeeded, ETag: etag,
	})
}

func (t *tx) recordFeature(sub, feature string, on bool) error {
	namespace, name, _ := strings.Cut(feature, "/")
	action := "Microsoft.Features/providers/features/unregister/action"
	if on {
		action = "Microsoft.Features/providers/features/register/action"
	}
	id := subscriptionScope(sub) + "/providers/Microsoft.Features/providers/" + namespace + "/features/" + name
	return t.RecordOwn(sub, events.Payload{Resource: id, Action: action, Status: events.Succeeded})
}
