package gateway_test

import (
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/jobs/move"
)

// moves has resources moved, and wants it done.
func (s *site) moves(from, to string, ids ...string) {
	s.t.Helper()
	if got := s.end(s.ok(202, "POST", from+"/moveResources"+own, moveTo(to, ids...))); got.status != 204 {
		s.t.Fatalf("%d %s", got.status, got.text)
	}
}

// moveByHand moves a machine of westus, at its provider and in the index, and
// does nothing else.
func (s *site) moveByHand(from, to, id string) {
	s.t.Helper()
	fail := func(err error) {
		s.t.Helper()
		must(s.t, err)
	}
	name := func(group string) inventory.GroupName {
		return inventory.GroupName{Subscription: subscription, Name: group[strings.LastIndex(group, "/")+1:]}
	}
	ctx := s.t.Context()
	call := inventory.MoveCall{Source: name(from), Target: name(to), Members: []inventory.MoveResource{{Key: strings.ToLower(id), Region: "westus"}}}
	started, err := s.store.Moves.Begin(ctx, inventory.MoveRequest{
		Source: call.Source, Target: call.Target, Keys: []string{id}, Payload: func(_, _ inventory.Group) string { return "{}" },
		Operation: polls.Operation{Token: "x", Until: s.clock.now().Add(hour)},
	})
	fail(err)
	jobs, err := s.store.Jobs.Claim(ctx, "by hand", time.Minute, 1, inventory.MoveJob)
	fail(err)
	if len(jobs) != 1 || jobs[0].ID != started.ID {
		s.t.Fatalf("%+v", jobs)
	}
	fail(s.store.Moves.BeginCall(ctx, &jobs[0], call, "{}"))
	s.at("westus").do("POST", from+"/moveResources"+api, `{"targetResourceGroup":"`+to+`","resources":["`+id+`"]}`, 200)
	payload := move.Payload{Source: call.Source, Target: call.Target, Ended: s.store.Now()}.String()
	payload = strings.TrimSuffix(payload, "}") + `,"calls":[{"members":[{"key":"` + call.Members[0].Key + `","fate":1}]}]}`
	fail(s.store.Moves.Settle(ctx, &jobs[0], inventory.MoveResult{MoveCall: call, Moved: call.Members}, payload))
	fail(s.store.Moves.End(ctx, jobs[0], call.Source, call.Target, jobrow.Done, payload, nil))
}

// A polling URL of Portico's own tells of the resource wherever that has moved
// to, and not of another that was made at its old place.
func TestPollsFollowWhatHasMoved(t *testing.T) {
	s := newSite(t, setup{})
	must(t, s.store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: secondSubscription, TenantID: tenant, Covered: true}}))
	from, to, far := s.group("from"), s.group("To"), groupIn(secondSubscription, "far")
	s.ok(201, "PUT", far+own, westus)
	put, patched := s.machine("from", "put", "westus"), s.machine("from", "patched", "westus")
	lie := func(mode string) []string {
		return []string{"x-contoso-async", mode, "x-contoso-fault", "foreign-location", "x-contoso-duration", "1h"}
	}
	polls := map[string]seen{
		"put":     s.ok(202, "PUT", put+api, `{"location":"westus","tags":{"a":"new"}}`, lie("accepted-async")...),
		"patched": s.ok(202, "PATCH", patched+api, `{"tags":{"a":"new"}}`, lie("azure-async")...),
	}
	s.at("westus").clock.advance(2 * hour)
	stop := s.working()
	s.moves(from, far, put, patched)
	s.moves(far, to, strings.Replace(put, from, far, 1))
	stop()
	s.machine("from", "put", "eastus") // made anew
	for name, at := range map[string]string{"put": to, "patched": far} {
		result, status := s.stoodIn(polls[name].header, "Location"), s.stoodIn(polls[name].header, "Azure-Asyncoperation")
		id := at + "/providers/Contoso.Compute/virtualMachines/" + name
		s.lose("westus")
		if got := s.ok(200, "GET", result, ""); !strings.Contains(got.text, id) || !strings.Contains(got.text, `"new"`) {
			t.Errorf("%s: %s", name, got.text)
		}
		s.lose("westus")
		if word, code := s.status(status); word != "Succeeded" {
			t.Errorf("%s: the status is %s %s", name, word, code)
		}
		row, err := s.store.Resource(t.Context(), strings.Split(id, "/")[2], id)
		if err != nil || !firm(row) {
			t.Errorf("%s: %+v %v", name, row, err)
		}
	}
}

// The end that a poll shows settles the row at its new place, before anybody
// else has asked for it there.
func TestEndOfAPollSettlesWhatHasMoved(t *testing.T) {
	s := newSite(t, setup{})
	from, to := s.group("from"), s.group("to")
	m := s.machine("from", "m", "westus")
	created := s.ok(202, "PUT", m+api, westus, "x-contoso-async", "accepted-async", "x-contoso-duration", "1h")
	s.at("westus").clock.advance(2 * hour)
	s.moveByHand(from, to, m)
	moved := machinePath("to", "m")
	if row, _ := s.row(moved); firm(row) || !row.FollowPut {
		t.Fatalf("%+v", row)
	}
	s.ok(200, "GET", s.local(created.header.Get("Azure-Asyncoperation")), "")
	if row, _ := s.row(moved); !firm(row) {
		t.Errorf("%+v", row)
	}
}

// A subscription that is deleted takes nothing more of a move, and is erased when
// the move has ended; the other group is given back.
func TestMoveIntoADeletedSubscription(t *testing.T) {
	s := newSite(t, setup{})
	must(t, s.store.SeedSubscriptions(t.Context(), []inventory.Subscription{{ID: secondSubscription, TenantID: tenant, Covered: true}}))
	from, far := s.group("from"), groupIn(secondSubscription, "far")
	s.ok(201, "PUT", far+own, westus)
	m := s.machine("from", "m", "westus")
	started := s.ok(202, "POST", from+"/moveResources"+own, moveTo(far, m))
	s.seed(secondSubscription, tenant, inventory.Deleted)
	s.work()
	if got := s.end(started); got.status != 409 || got.code != "ResourceMoveFailed" || !strings.Contains(got.text, "SubscriptionNotFound") {
		t.Errorf("%d %s", got.status, got.text)
	}
	for _, call := range s.at("westus").requests() {
		if strings.HasSuffix(call.Path, "/moveResources") {
			t.Errorf("%s %s", call.Method, call.Path)
		}
	}
	s.ok(200, "PATCH", m+api, `{"tags":{"a":"b"}}`)
	s.within("its end", func() bool {
		sub, err := s.store.Subscription(t.Context(), secondSubscription)
		return err == nil && sub.Erased
	})
}

// An ID may come as the path of a resource may: with what is no part of it.
func TestMoveOfIDsWrittenLikePaths(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	from, to := s.group("From"), s.group("To")
	a, b := s.machine("From", "A", "westus"), s.machine("From", "b", "eastus")
	s.ok(201, "PUT", machinePath("From", "c%20c")+api, westus)
	s.moves(from, to, strings.ToUpper(a)+"/", "/"+b, a, machinePath("From", "c%20c"))
	if got := s.names(to + "/resources" + own); got != "A b c c" {
		t.Errorf("%s", got)
	}
}
