// Package events describes changes: the changed resource, the caller and the request.
// The activity log, the change feed and the history of a resource consist of events.
//
// An [Event] is recorded in the transaction that records the change itself. Its [Cause]
// comes with the context of the client's request, or of the durable work that continues
// one.
package events

import (
	"strings"
	"time"

	"portico/arm"
)

// Status is the progress of a change, in the words of ARM's activity log.
type Status string

// The states.
const (
	// Started means that the change may have been made, and Portico is finding
	// out. A later event has the outcome.
	Started   Status = "Started"
	Accepted  Status = "Accepted"
	Succeeded Status = "Succeeded"
	Failed    Status = "Failed"
	// Canceled means that a deployment ended after it was canceled.
	Canceled Status = "Canceled"
)

// Origin is Portico's source of knowledge about a change.
type Origin string

// The origins.
const (
	Answered Origin = "answer"       // the answer to the request
	Verified Origin = "verification" // a GET by Portico itself
	Swept    Origin = "sweep"        // a list of the provider
	Lapsed   Origin = "timeout"      // a write ended by time, without an answer
	Landed   Origin = "landing"      // the write took effect after its group had been deleted
	Retired  Origin = "retirement"   // the operator retired its region
	Sworn    Origin = "operator"     // an operator declared that it does not exist
	Decided  Origin = "portico"      // Portico changed a resource of its own
)

// Event is one change of one resource.
type Event struct {
	ID [16]byte
	// Number orders events: a later change of a resource has a higher number,
	// and no event gets a number below one that is already given. It is 0
	// until the event has been numbered, shortly after the commit.
	Number int64
	At     time.Time
	// Subscription is folded; for a change in a tenant it is the tenant's path.
	Subscription string
	// Key is the folded ID of the resource.
	Key string
	Payload
}

// Refused reports whether Portico itself refused the request, so that nothing
// was changed.
func (e Event) Refused() bool {
	return e.Status == Failed && e.Origin == Decided && e.HTTPStatus != 0 // 0 for a later failure
}

// AssignableIn returns the scopes in a subscription at which the event's custom role is
// assignable; for a role that is assignable in the whole tenant, the subscription's own.
func (e Event) AssignableIn(subscription string) (scopes []string) {
	if e.AssignableAt == "" {
		return nil
	}
	within := arm.Fold("/subscriptions/" + subscription)
	for scope := range strings.FieldsSeq(e.AssignableAt) {
		switch folded := arm.Fold(scope); {
		case scope == "/":
			scopes = append(scopes, within)
		case folded == within || strings.HasPrefix(folded, within+"/"):
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// Payload is the content of an event. Only callers who may read the resource
// see it, and the store encrypts it.
type Payload struct {
	// Resource is the ID as the client wrote it.
	Resource string `json:"resource"`
	// Action is the action, as roles name it.
	Action string `json:"action"`
	Status Status `json:"status"`
	// New reports whether the write created the resource, to Portico's knowledge.
	New    bool   `json:"new,omitempty"`
	Origin Origin `json:"origin"`
	// Gone means that the write has failed and its resource no longer exists.
	Gone bool `json:"gone,omitempty"`
	// Unverified means that other writes were running, so that the state and the
	// existence of the resource are unknown. A later event has the result of a GET.
	Unverified bool `json:"inDoubt,omitempty"`
	// HTTPStatus is the status of the provider's answer, or of Portico's own;
	// 0 if no request was answered.
	HTTPStatus int `json:"httpStatus,omitempty"`
	// Began is when the change was requested; the zero time if that is unknown.
	Began time.Time `json:"began,omitzero"`
	// From is the ID that the resource had before it was moved.
	From string `json:"from,omitempty"`
	// To is the ID that it has after the move.
	To string `json:"to,omitempty"`
	// ETag is the new entity tag of one of Portico's own resources, "" if it has none.
	ETag string `json:"etag,omitempty"`
	// AssignableAt lists the scopes at which a custom role was assignable
	// before the change, or is now, separated by spaces.
	AssignableAt string `json:"assignableAt,omitempty"`
	// Error is the client's error, or the provider's error about an operation.
	Error *arm.Error `json:"error,omitempty"`
	// Omitted is the number of the caller's preceding refusals that have no
	// event, because there were too many.
	Omitted int   `json:"omitted,omitempty"`
	Cause   Cause `json:"cause"`
}

// Exists reports whether the resource exists after the change; known is false if only
// another event shows that. Replaying all events gives the existing resources.
func (e Event) Exists() (exists, known bool) {
	written, deleted := strings.HasSuffix(e.Action, "/write"), strings.HasSuffix(e.Action, "/delete")
	switch {
	case e.Unverified || !written && !deleted:
		return false, false
	case e.Status == Succeeded:
		return written, true
	case e.Status == Failed && e.Origin == Verified:
		return !e.Gone, true // the GET was made after the write, so it shows the write's result
	case (e.Status == Failed || e.Status == Canceled) && e.Origin == Decided && !e.Refused():
		return !e.Gone, true // Portico's own work has ended with this state of its resource
	}
	return false, false
}
