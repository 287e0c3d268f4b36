// Package events describes changes: what changed, the caller, and the request: what the
// activity log, the change feed and the history of a resource are made of.
//
// An [Event] is recorded in the transaction that records the change itself. Its
// [Cause] comes with the context of whatever acts: a client's request, or durable work
// that goes on for one.
package events

import (
	"strings"
	"time"

	"portico/arm"
)

// Status is how far a change has come, in the words of ARM's activity log.
type Status string

// The states.
const (
	// Started: the change may have been made, and its outcome is being asked for. A
	// later event says what became of it.
	Started   Status = "Started"
	Accepted  Status = "Accepted"
	Succeeded Status = "Succeeded"
	Failed    Status = "Failed"
	// Canceled: a deployment has ended since it was canceled.
	Canceled Status = "Canceled"
)

// Origin says how Portico knows of a change.
type Origin string

// The origins.
const (
	Answered Origin = "answer"       // the answer to the request said so
	Verified Origin = "verification" // a GET of Portico's own said so
	Swept    Origin = "sweep"        // a list of the provider showed it
	Lapsed   Origin = "timeout"      // a write ended by time, without an answer
	Landed   Origin = "landing"      // it came late: its group had been deleted
	Retired  Origin = "retirement"   // the operator gave up the region that held it
	Sworn    Origin = "operator"     // an operator said that it does not exist
	Decided  Origin = "portico"      // Portico itself made the change: it is its own resource
)

// Event is one change of one resource.
type Event struct {
	ID [16]byte
	// Number orders events: of one resource the later change has the higher one, and
	// nothing is ever numbered lower than what has been numbered. It is 0 until the event
	// has been numbered, shortly after the commit.
	Number int64
	At     time.Time
	// Subscription is folded; for what belongs to a tenant it is that tenant's path.
	Subscription string
	// Key is the folded ID of the resource.
	Key string
	Payload
}

// Refused reports whether Portico itself refused the request, so that nothing has changed.
func (e Event) Refused() bool {
	return e.Status == Failed && e.Origin == Decided && e.HTTPStatus != 0 // what failed later has none
}

// AssignableIn returns the scopes in a subscription at which the custom role that the event
// tells of is assignable: the subscription's own where that is any scope of the tenant.
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

// Payload is the content of an event. Only callers who may read the resource see it,
// and the store encrypts it.
type Payload struct {
	// Resource is the ID as it was written.
	Resource string `json:"resource"`
	// Action is what was done, as roles name it.
	Action string `json:"action"`
	Status Status `json:"status"`
	// New: a write of what did not exist, as far as Portico knew.
	New    bool   `json:"new,omitempty"`
	Origin Origin `json:"origin"`
	// Gone: the write has failed, and its resource does not exist since.
	Gone bool `json:"gone,omitempty"`
	// Unverified: other writes were under way, so that it is not known what the resource is
	// like since, or whether it stands. A later event says what a GET has found.
	Unverified bool `json:"inDoubt,omitempty"`
	// HTTPStatus is the provider's, or Portico's own, 0 where no request was answered.
	HTTPStatus int `json:"httpStatus,omitempty"`
	// Began is when the change was asked for; the zero time where that is not known.
	Began time.Time `json:"began,omitzero"`
	// From is the ID that the resource had before it was moved.
	From string `json:"from,omitempty"`
	// To is the ID that it has since.
	To string `json:"to,omitempty"`
	// ETag is the entity tag that a resource of Portico's own has since, "" where it has none.
	ETag string `json:"etag,omitempty"`
	// AssignableAt are the scopes at which a custom role could be assigned before the change,
	// or can be since, with spaces between them.
	AssignableAt string `json:"assignableAt,omitempty"`
	// Error is the client's error, or what the provider said about an operation.
	Error *arm.Error `json:"error,omitempty"`
	// Omitted is how many refusals of the same caller, shortly before, have no event, as
	// there were too many.
	Omitted int   `json:"omitted,omitempty"`
	Cause   Cause `json:"cause"`
}

// Exists says whether the resource exists since the change, as far as the event tells;
// known is false where only another event can. Replayed, this gives what there is.
func (e Event) Exists() (exists, known bool) {
	written, deleted := strings.HasSuffix(e.Action, "/write"), strings.HasSuffix(e.Action, "/delete")
	switch {
	case e.Unverified || !written && !deleted:
		return false, false
	case e.Status == Succeeded:
		return written, true
	case e.Status == Failed && e.Origin == Verified:
		return !e.Gone, true // it was asked for after the write: what was found, the write left so
	case (e.Status == Failed || e.Status == Canceled) && e.Origin == Decided && !e.Refused():
		return !e.Gone, true // Portico's own work has ended so, and what it was about is left
	}
	return false, false
}
