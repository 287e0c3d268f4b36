package inventory

import (
	"net/http"
	"testing"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
)

// The event of an answer is made before its transaction, whatever the answer is. Where
// another write has changed what the answer means, it is made anew.
func TestTheEventOfAnAnswerIsExpected(t *testing.T) {
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	ctx := events.With(t.Context(), &events.Cause{ObjectID: "o", Method: http.MethodPut})
	begin := func(name string, kind index.WriteKind) Ticket {
		t.Helper()
		w := vmWrite("rg", name)
		w.Kind = kind
		ticket, err := s.Begin(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		return ticket
	}
	settle := func(ticket Ticket, a WriteResult) (expected expectedEvent, recorded events.Event) {
		t.Helper()
		expected, err := s.expectEvent(ctx, ticket, a)
		if err == nil {
			_, err = commit(ctx, s, engine.Flushed, settleLocks(&ticket), func(t *tx) (SettleResult, error) { return t.settle(ticket, a, expected) })
		}
		if err == nil {
			_, err = s.Events.Number(ctx, 100)
		}
		var found []events.Event
		if err == nil {
			found, err = s.Events.OfResource(ctx, "s", ticket.Key, 0, 1)
		}
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		return expected, found[0]
	}
	created := WriteResult{Outcome: index.Succeeded, Status: http.StatusCreated, ProvisioningState: "Succeeded"}
	for name, c := range map[string]struct {
		kind   index.WriteKind
		answer WriteResult
		status events.Status
	}{
		"created":    {index.Put, created, events.Succeeded},
		"accepted":   {index.Put, WriteResult{Outcome: index.Accepted, Status: http.StatusAccepted}, events.Accepted},
		"unfinished": {index.Put, WriteResult{Outcome: index.Succeeded, Status: http.StatusCreated, ProvisioningState: "Creating"}, events.Accepted},
		"refused":    {index.Put, WriteResult{Outcome: index.Refused, Status: http.StatusConflict, Error: &arm.Error{Status: http.StatusConflict, Code: "Conflict", Message: "No."}}, events.Failed},
		"ambiguous":  {index.Put, WriteResult{}, events.Started},
		"patched":    {index.Patch, WriteResult{Outcome: index.Succeeded, Status: http.StatusOK}, events.Succeeded},
		"deleted":    {index.Delete, WriteResult{Outcome: index.Gone, Status: http.StatusNoContent}, events.Succeeded},
	} {
		if c.kind != index.Put {
			settle(begin(name, index.Put), created)
		}
		expected, recorded := settle(begin(name, c.kind), c.answer)
		if recorded.ID != expected.ID || recorded.Status != c.status || recorded.Cause.ObjectID != "o" {
			t.Errorf("%s: recorded is %+v, expected was %+v", name, recorded, expected.payload)
		}
	}
	ticket := begin("overtaken", index.Put)
	begin("overtaken", index.Delete)
	if expected, recorded := settle(ticket, created); recorded.ID == expected.ID || !recorded.Unverified || expected.payload.Unverified {
		t.Errorf("recorded is %+v, expected was %+v", recorded, expected.payload)
	}
}
