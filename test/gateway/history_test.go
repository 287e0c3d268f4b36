package gateway_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"portico/access/roles"
)

// changesOf is the history of an ID.
func changesOf(id string) string {
	return id + "/providers/Microsoft.Resources/changes?api-version=2022-05-01"
}

type change struct {
	ID, Name, Type string
	Properties     struct {
		TargetResourceID, TargetResourceType, ChangeType       string
		Status, Origin, Job, GroupDeletion, MovedFrom, MovedTo string
		MovedChanges                                           string
		ChangeAttributes                                       struct {
			Timestamp                                          time.Time
			CorrelationID, ChangedBy, ChangedByType, Operation string
		}
	}
}

type changeHistory struct {
	Value    []change
	NextLink string
}

// history lists what a caller is told of an ID, the newest first, over all pages.
func (s *site) history(target string, header ...string) (all []change) {
	s.t.Helper()
	for range 100 {
		page := decode[changeHistory](s.t, s.ok(200, "GET", target, "", header...))
		all = append(all, page.Value...)
		if page.NextLink == "" {
			return all
		}
		target = s.local(page.NextLink)
	}
	s.t.Fatal("the history does not end")
	return nil
}

// story is a history in short, the oldest first.
func story(all []change) (lines []string) {
	for _, c := range slices.Backward(all) {
		p := c.Properties
		line := fmt.Sprintf("%s %s %s by %s %s", p.ChangeType, p.Status, p.Origin, p.ChangeAttributes.ChangedByType, p.ChangeAttributes.ChangedBy)
		for _, place := range []string{p.MovedFrom, p.MovedTo, p.GroupDeletion} {
			if place != "" {
				line += " " + strings.TrimPrefix(place, inSubscription)
			}
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func sameStory(t *testing.T, all []change, want ...string) {
	t.Helper()
	if got := story(all); !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Who asks where a resource has gone is told, though it has gone with its group.
func TestHistoryOfAResource(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	s.work()
	as := func(token string, more ...string) []string {
		return append([]string{"Authorization", bearer(token)}, more...)
	}
	const correlation = "00000000-0000-0000-0000-0000000000c1"
	g, m := groupPath("g"), machinePath("g", "m")
	s.ok(201, "PUT", g+own, westus, as(secret)...)
	s.ok(201, "PUT", m+api, westus, as(secret, "x-ms-correlation-request-id", correlation)...)
	s.ok(201, "PUT", machinePath("g", "other")+api, westus, as(secret)...)
	s.ok(200, "PUT", m+api, westus, as(second)...)
	s.want(400, "ContosoFault", "PATCH", m+api, `{"tags":{"a":"b"}}`, as(third, "x-contoso-fault", "status=400")...)
	// What Portico refuses is no change.
	s.ok(201, "PUT", g+lockPlace+"/l"+own, canNotDelete, as(secret)...)
	for range 3 {
		s.want(409, "ScopeLocked", "DELETE", m+api, "", as(third)...)
	}
	s.ok(200, "DELETE", g+lockPlace+"/l"+own, "", as(secret)...)
	refusals := s.activities("resourceUri eq '"+m+"' and status eq 'Failed'", as(secret)...)
	if len(refusals) != 4 || refusals[0].OperationName.Value != "Contoso.Compute/virtualMachines/delete" {
		t.Errorf("the log says %+v", refusals)
	}
	s.end(s.ok(202, "DELETE", g+own, "", as(third)...), as(third)...)
	s.want(404, "ResourceGroupNotFound", "GET", m+api, "", as(secret)...)

	b, d := callers[second].ObjectID, callers[third].ObjectID
	all := s.history(changesOf(strings.ToUpper(m[:len(inSubscription)])+m[len(inSubscription):]), as(secret)...)
	sameStory(t, all,
		"Create Succeeded answer by User ann@example",
		"Update Succeeded answer by Application "+b,
		"Update Failed answer by User "+d,
		"Delete Succeeded answer by User "+d+" /resourceGroups/g")
	sameStory(t, s.history(changesOf(g), as(secret)...),
		"Create Succeeded portico by User ann@example",
		"Delete Accepted portico by User "+d,
		"Delete Succeeded portico by User "+d)
	created := all[len(all)-1]
	if p := created.Properties; created.Type != "Microsoft.Resources/changes" || created.ID != m+"/providers/Microsoft.Resources/changes/"+created.Name ||
		p.TargetResourceID != m || p.TargetResourceType != "Contoso.Compute/virtualMachines" || p.ChangeAttributes.CorrelationID != correlation ||
		p.ChangeAttributes.Operation != "Contoso.Compute/virtualMachines/write" || time.Since(p.ChangeAttributes.Timestamp) > time.Hour {
		t.Errorf("%+v", created)
	}
	for _, c := range all {
		if got := decode[change](t, s.ok(200, "GET", c.ID+"?api-version=2022-05-01", "", as(secret)...)); got != c {
			t.Errorf("one of its own is %+v, in the list %+v", got, c)
		}
	}
	events, err := s.store.Events.OfResource(t.Context(), subscription, m, 0, 0)
	must(t, err)
	for _, e := range events {
		name := fmt.Sprintf("%d_%s", e.Number, uuid.UUID(e.ID))
		status := 200
		if e.HTTPStatus == 409 {
			status = 404
		}
		if got := s.do("GET", m+"/providers/Microsoft.Resources/changes/"+name+"?api-version=2022-05-01", "", as(secret)...); got.status != status {
			t.Errorf("%+v: %d %s", e.Payload, got.status, got.text)
		}
	}
	for _, none := range []string{"x", "1_" + strings.SplitN(created.Name, "_", 2)[1], "999999_x", "-1_x"} {
		s.want(404, "ResourceNotFound", "GET", m+"/providers/Microsoft.Resources/changes/"+none+"?api-version=2022-05-01", "", as(secret)...)
	}
	if elsewhere := s.do("GET", g+"/providers/Microsoft.Resources/changes/"+created.Name+"?api-version=2022-05-01", "", as(secret)...); elsewhere.status != 404 {
		t.Errorf("another's change is shown: %d %s", elsewhere.status, elsewhere.text)
	}
	if got := s.history(changesOf(machinePath("never", "was")), as(secret)...); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	s.want(404, "SubscriptionNotFound", "GET", changesOf(m), "", as(stranger)...)
}

func TestHistoryInParts(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	for range 4 {
		s.ok(200, "PUT", m+api, westus)
	}
	all := s.history(changesOf(m))
	if len(all) != 5 {
		t.Fatalf("%+v", all)
	}
	first := decode[changeHistory](t, s.ok(200, "GET", changesOf(m)+"&$top=2", ""))
	if len(first.Value) != 2 || first.NextLink == "" || !slices.Equal(s.history(changesOf(m)+"&$top=2"), all) {
		t.Errorf("%+v", first)
	}
	at := func(i int) string {
		return url.QueryEscape(all[i].Properties.ChangeAttributes.Timestamp.Format(time.RFC3339Nano))
	}
	if got := s.history(changesOf(m) + "&$startTime=" + at(3) + "&$endTime=" + at(1)); !slices.Equal(got, all[1:4]) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"&$startTime=soon", "&$endTime=1", "&$top=0", "&$skipToken=x", "&$filter=a"} {
		if got := s.do("GET", changesOf(m)+bad, ""); got.status != 400 {
			t.Errorf("%s: %d %s", bad, got.status, got.text)
		}
	}
	s.want(405, "MethodNotAllowed", "DELETE", changesOf(m), "")
	s.want(400, "MissingApiVersionParameter", "GET", strings.Split(changesOf(m), "?")[0], "")
}

// The history of what was moved goes on at its other place.
func TestHistoryOfWhatHasMoved(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	g, h := s.group("g"), s.group("h")
	m, moved := s.machine("g", "m", "westus"), machinePath("h", "m")
	s.moves(g, h, m)
	s.ok(201, "PUT", m+api, westus) // another one
	before, after := s.history(changesOf(m)), s.history(changesOf(moved))
	after = after[len(after)-1:] // its provider may have been asked for it since
	const me = " by User anyone@localhost"
	sameStory(t, before, "Create Succeeded answer"+me, "Delete Succeeded answer"+me+" /resourceGroups/h/providers/Contoso.Compute/virtualMachines/m", "Create Succeeded answer"+me)
	sameStory(t, after, "Create Succeeded answer"+me+" /resourceGroups/g/providers/Contoso.Compute/virtualMachines/m")
	sameStory(t, s.history(s.local(after[0].Properties.MovedChanges)), story(before)[:2]...)
	if went := s.history(s.local(before[1].Properties.MovedChanges)); len(went) == 0 || went[len(went)-1] != after[0] {
		t.Errorf("%+v", went)
	}
}

// Portico's own resources have a history, too.
func TestHistoryOfOwnResources(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	s.ok(200, "PUT", g+own, westus)
	lock := g + lockPlace + "/l"
	s.ok(201, "PUT", lock+own, canNotDelete)
	s.ok(200, "DELETE", lock+own, "")
	const me = " portico by User anyone@localhost"
	sameStory(t, s.history(changesOf(g)), "Create Succeeded"+me, "Update Succeeded"+me)
	sameStory(t, s.history(changesOf(lock)), "Create Succeeded"+me, "Delete Succeeded"+me)
	if got := story(s.history(changesOf(inSubscription))); len(got) == 0 || got[0] != "Create Succeeded portico by System" {
		t.Errorf("%q", got)
	}
}

// What a subscription of the same ID held before is not its own.
func TestHistoryEndsWithItsSubscription(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	s.group("g")
	m := s.machine("g", "m", "westus")
	old := s.history(changesOf(m))
	s.admit(200, "", subscription, `,"state":"Deleted"`)
	s.want(404, "SubscriptionNotFound", "GET", changesOf(m), "")
	s.want(404, "SubscriptionNotFound", "GET", old[0].ID+"?api-version=2022-05-01", "")
	s.inTime("the subscription to be erased", func() bool {
		now, err := s.store.Subscription(t.Context(), subscription)
		return err == nil && now.Erased
	})
	s.clock.advance(time.Minute)
	s.admit(201, "", subscription, "")
	if got := s.history(changesOf(m)); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	s.want(404, "ResourceNotFound", "GET", old[0].ID+"?api-version=2022-05-01", "")
	sameStory(t, s.history(changesOf(inSubscription)), "Create Succeeded portico by Operator")
}

func TestHistoryIsForItsReaders(t *testing.T) {
	s := newSite(t, setup{tokens: true, claimed: true, roles: "owners: [{principalId: 00000000-0000-0000-0000-00000000000a}]"})
	const reader, none = "00000000-0000-0000-0000-0000000000e1", "00000000-0000-0000-0000-0000000000e2"
	ann := []string{"Authorization", bearer("00000000-0000-0000-0000-00000000000a")}
	g := groupPath("g")
	for _, name := range []string{g, groupPath("h")} {
		s.ok(201, "PUT", name+own, westus, ann...)
	}
	m := machinePath("g", "gone")
	s.ok(201, "PUT", m+api, westus, ann...)
	s.ok(200, "DELETE", m+api, "", ann...)
	s.assign(reader, s.define(roles.Permission{Actions: []string{"*/read"}}), g)
	s.want(403, "AuthorizationFailed", "DELETE", m+api, "", "Authorization", bearer(reader))
	if got := s.history(changesOf(m), ann...); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	for who, status := range map[string]int{reader: 200, none: 404} {
		if got := s.do("GET", changesOf(m), "", "Authorization", bearer(who)); got.status != status {
			t.Errorf("%s: %d %s", who, got.status, got.text)
		}
	}
	for _, other := range []string{groupPath("h"), machinePath("h", "m"), inSubscription} {
		s.want(403, "AuthorizationFailed", "GET", changesOf(other), "", "Authorization", bearer(reader))
	}
}

// Operators read the same story without a role.
func TestHistoryForOperators(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(200, "DELETE", m+api, "")
	var types []string
	target := "/admin/changes?limit=1&resource=" + url.QueryEscape(strings.ToUpper(m))
	for target != "" {
		page := decode[struct {
			changePage
			NextLink string
		}](t, s.request(200, "", "GET", target, ""))
		for _, e := range page.Value {
			types = append(types, e.Type+" "+e.Subject)
		}
		target = page.NextLink
	}
	if want := []string{"Microsoft.Resources.ResourceDeleteSuccess " + m, "Microsoft.Resources.ResourceWriteSuccess " + m}; !slices.Equal(types, want) {
		t.Errorf("%q, want %q", types, want)
	}
	for _, bad := range []string{"resource=x", "resource=/subscriptions/", "resource=" + m + "&wait=1s", "resource=" + m + "&after=x"} {
		s.request(400, "InvalidQueryParameter", "GET", "/admin/changes?"+bad, "")
	}
}
