package gateway_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// lines are events in the order in which they happened, each in a line: what was done to
// what, how that went, and the code of the error.
func lines(all []loggedEvent) []string {
	reported := []string{}
	for _, e := range all {
		line := fmt.Sprintf("%s %s %s %s", strings.TrimPrefix(e.ResourceID, inSubscription), e.OperationName.Value, e.Status.Value, e.SubStatus.Value)
		if message := e.Properties["statusMessage"]; message != "" {
			_, code, _ := strings.Cut(message, `{"error":{"code":"`)
			code, _, _ = strings.Cut(code, `"`)
			line += " " + code
		}
		reported = append(reported, line)
	}
	slices.Reverse(reported)
	return reported
}

// activitiesOf are the events of a resource that a caller sees.
func (s *site) activitiesOf(id string, header ...string) []loggedEvent {
	s.t.Helper()
	target := activityLog + "&$filter=" + url.QueryEscape("resourceUri eq '"+id+"'")
	return decode[loggedEvents](s.t, s.ok(200, "GET", target, "", header...)).Value
}

func (s *site) wantLines(got []loggedEvent, want ...string) {
	s.t.Helper()
	if reported := lines(got); !slices.Equal(reported, want) {
		s.t.Errorf("the log says\n%s\nwant\n%s", strings.Join(reported, "\n"), strings.Join(want, "\n"))
	}
}

const vms = "Contoso.Compute/virtualMachines"

// What Portico refuses is in the log, with its error, and who asked for it; what was wrong
// in itself is not, nor what only reads.
func TestActivityLogHasRefusals(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	local := strings.TrimPrefix(m, inSubscription)
	s.ok(201, "PUT", m+lockPlace+"/l"+own, canNotDelete)
	s.want(409, "ScopeLocked", "DELETE", m+api, "", "x-ms-correlation-request-id", "00000000-0000-0000-0000-0000000000c2")
	s.want(409, "InvalidResourceLocation", "PUT", m+api, eastus)
	s.want(412, "PreconditionFailed", "PUT", groupPath("g")+own, westus, "If-None-Match", "*")
	s.want(404, "ResourceGroupNotFound", "PUT", machinePath("none", "m")+api, westus)
	s.want(400, "InvalidRequestContent", "PUT", m+api, `{`)
	s.want(404, "ResourceNotFound", "GET", machinePath("g", "none")+api, "")
	s.want(404, "InvalidResourceType", "PUT", groupPath("g")+"/providers/Contoso.Compute/nothings/n"+api, westus)
	got := s.activitiesOf(m)
	s.wantLines(got,
		local+" "+vms+"/write Succeeded Created",
		local+" "+vms+"/delete Failed Conflict ScopeLocked",
		local+" "+vms+"/write Failed Conflict InvalidResourceLocation",
	)
	e := got[1]
	if e.CorrelationID != "00000000-0000-0000-0000-0000000000c2" || e.HTTPRequest.Method != "DELETE" || e.Level != "Error" || e.Properties["origin"] != "portico" ||
		!strings.Contains(e.Properties["statusMessage"], m) || e.Properties["statusCode"] != "Conflict" || e.ResourceType.Value != vms {
		t.Errorf("%+v", e)
	}
	group := strings.TrimPrefix(groupPath("g"), inSubscription)
	const groups = " Microsoft.Resources/subscriptions/resourceGroups"
	s.wantLines(s.activitiesOf(groupPath("g")), group+groups+"/write Succeeded ", group+groups+"/write Failed PreconditionFailed PreconditionFailed")
	s.wantLines(s.activitiesOf(machinePath("none", "m")), "/resourceGroups/none/providers/"+vms+"/m "+vms+"/write Failed NotFound ResourceGroupNotFound")
	if all := s.activities("status eq 'Failed'"); len(all) != 4 {
		t.Errorf("%d failures: %q", len(all), lines(all))
	}
	// Who follows changes learns of them too, as what they are.
	failures := 0
	for _, e := range decode[changePage](t, s.request(200, "", "GET", "/admin/changes", "")).Value {
		if strings.HasSuffix(e.Type, "Failure") {
			failures++
		}
	}
	if failures != 4 {
		t.Errorf("the feed has %d failures", failures)
	}
}

// What is only passed on to a provider is in the log with the answer of that, and so is
// what a batch holds.
func TestActivityLogHasWhatIsPassedOn(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	setting := m + "/providers/Contoso.Insight/annotations/a"
	local := strings.TrimPrefix(m, inSubscription)
	s.ok(200, "POST", m+"/start"+api, "")
	s.want(409, "ContosoFault", "POST", m+"/start"+api, "", "x-contoso-fault", "status=409")
	s.ok(202, "POST", m+"/restart"+api, "", "x-contoso-async", "azure-async", "x-contoso-duration", "1h")
	s.want(409, "MissingSubscriptionRegistration", "PUT", setting+api, `{"properties":{}}`)
	s.ok(201, "PUT", m+"/runCommands/r"+api, `{}`)
	s.ok(200, "GET", m+"/runCommands/r"+api, "")
	s.want(409, "ContosoFault", "PUT", m+"/runCommands/r"+api, `{}`, "x-contoso-fault", "status=409")
	s.want(409, "ContosoFault", "PUT", m+api, westus, "x-contoso-fault", "status=409")
	s.ok(200, "POST", "/batch?api-version=2020-06-01", `{"requests":[{"httpMethod":"POST","url":"`+m+`/start`+api+`"}]}`)
	s.wantLines(s.activitiesOf(m),
		local+" "+vms+"/write Succeeded Created",
		local+" "+vms+"/start/action Succeeded OK",
		local+" "+vms+"/start/action Failed Conflict ContosoFault",
		local+" "+vms+"/restart/action Accepted Accepted",
		local+" "+vms+"/write Failed Conflict ContosoFault",
		local+" "+vms+"/start/action Succeeded OK",
	)
	settingLocal := strings.TrimPrefix(setting, inSubscription)
	s.wantLines(s.activitiesOf(setting), settingLocal+" Contoso.Insight/annotations/write Failed Conflict MissingSubscriptionRegistration")
	s.wantLines(s.activitiesOf(m+"/runCommands/r"),
		local+"/runCommands/r "+vms+"/runCommands/write Succeeded Created", local+"/runCommands/r "+vms+"/runCommands/write Failed Conflict ContosoFault")
}

// The end of a write that a provider accepted is in the log as that of the request that
// began it, with the provider's error, whoever finds out.
func TestActivityLogTellsTheEnd(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	as := func(token string, more ...string) []string {
		return append([]string{"Authorization", bearer(token)}, more...)
	}
	s.ok(201, "PUT", groupPath("g")+own, westus, as(secret)...)
	m := machinePath("g", "m")
	local := strings.TrimPrefix(m, inSubscription)
	const correlation = "00000000-0000-0000-0000-0000000000c3"
	started := s.ok(202, "PUT", m+api, westus, as(secret, "x-contoso-async", "accepted-async", "x-contoso-duration", "1h", "x-contoso-outcome", "Failed", "x-ms-correlation-request-id", correlation)...)
	s.at("westus").clock.advance(2 * hour)
	s.do("GET", s.local(started.header.Get("Azure-AsyncOperation")), "", as(secret)...)
	s.do("GET", m+api, "", as(second)...) // somebody else looks at what has become of it
	got := s.activitiesOf(m, as(third)...)
	reported := lines(got)
	if len(got) < 2 || reported[0] != local+" "+vms+"/write Accepted Accepted" || reported[1] != local+" "+vms+"/write Failed  OperationFailed" {
		t.Fatalf("the log says\n%s", strings.Join(reported, "\n"))
	}
	first, last := got[len(got)-1], got[len(got)-2]
	if last.CorrelationID != correlation || last.Caller != first.Caller || last.OperationID != first.OperationID || last.OperationID == "" || last.HTTPRequest != first.HTTPRequest {
		t.Errorf("the end is told as\n%+v\nof\n%+v", last, first)
	}
	for _, e := range got {
		if e.Caller == callers[second].ObjectID {
			t.Errorf("who looked is said to have made it: %+v", e)
		}
	}
}

// A caller sees the events of what its roles let it read, refusals of others too; the
// refusal of its own is among them only there. Strangers see nothing.
func TestActivityLogShowsWhatRolesAllow(t *testing.T) {
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	as := func(token string) []string { return []string{"Authorization", bearer(token)} }
	for _, group := range []string{"g", "h"} {
		s.ok(201, "PUT", groupPath(group)+own, westus, as(secret)...)
		s.ok(201, "PUT", machinePath(group, "m")+api, westus, as(secret)...)
	}
	const reader = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	s.assign(callers[second].ObjectID, reader, groupPath("g"))
	s.want(403, "AuthorizationFailed", "DELETE", machinePath("g", "m")+api, "", as(second)...)
	s.want(403, "AuthorizationFailed", "DELETE", groupPath("h")+own, "", as(second)...)
	s.want(404, "SubscriptionNotFound", "DELETE", machinePath("g", "m")+api, "", as(third)...)
	s.want(404, "SubscriptionNotFound", "DELETE", machinePath("g", "m")+api, "", as(stranger)...)

	seenBy := func(token string) (reported []string) {
		for _, e := range decode[loggedEvents](t, s.ok(200, "GET", activityLog, "", as(token)...)).Value {
			reported = append(reported, e.ResourceGroupName+" "+e.Status.Value+" "+e.Caller)
		}
		return reported
	}
	ofSecond := seenBy(second)
	if !slices.Contains(ofSecond, "g Failed "+callers[second].ObjectID) || len(ofSecond) != 4 || slices.ContainsFunc(ofSecond, func(line string) bool { return !strings.HasPrefix(line, "g ") }) {
		t.Errorf("a reader of one group sees %q", ofSecond)
	}
	ofOwner := seenBy(secret)
	for _, want := range []string{"g Failed " + callers[second].ObjectID, "h Failed " + callers[second].ObjectID} {
		if !slices.Contains(ofOwner, want) {
			t.Errorf("the owner does not see %q in %q", want, ofOwner)
		}
	}
	for _, line := range ofOwner {
		if strings.Contains(line, callers[third].ObjectID) || strings.Contains(line, callers[stranger].ObjectID) {
			t.Errorf("who has no role writes into the log: %s", line)
		}
	}
	s.want(404, "SubscriptionNotFound", "GET", activityLog, "", as(third)...)
	s.want(404, "SubscriptionNotFound", "GET", activityLog, "", as(stranger)...)
	const ofTenant = "/providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01"
	s.ok(200, "GET", ofTenant, "", as(secret)...)
	s.want(403, "AuthorizationFailed", "GET", ofTenant, "", as(second)...)
}

// One caller's refusals fill neither the store nor the log.
func TestActivityLogBoundsRefusals(t *testing.T) {
	s := newSite(t, setup{})
	for range 150 {
		s.want(404, "ResourceGroupNotFound", "PUT", machinePath("none", "m")+api, westus)
	}
	if n := len(s.activitiesOf(machinePath("none", "m"))); n < 60 || n > 120 { // two minutes, if one ends meanwhile
		t.Errorf("%d of 150 refusals have an event", n)
	}
	if text := s.request(200, "", "GET", "/metrics", "").text; !strings.Contains(text, `portico_activity_unrecorded_total{why="budget"} `) ||
		strings.Contains(text, `portico_activity_unrecorded_total{why="budget"} 0`) {
		t.Error("nothing is counted of the others")
	}
}

// A refusal stays one where the store takes no event.
func TestRefusalWithoutEvent(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.ok(201, "PUT", groupPath("g")+lockPlace+"/l"+own, canNotDelete)
	m := s.machine("g", "m", "westus")
	db, err := sql.Open("sqlite", s.path)
	must(t, err)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `CREATE TRIGGER full BEFORE INSERT ON unnumbered_events BEGIN SELECT RAISE(ABORT, 'no room'); END`); err != nil {
		t.Fatal(err)
	}
	s.want(409, "ScopeLocked", "DELETE", m+api, "")
	s.ok(200, "POST", m+"/start"+api, "")
	if text := s.request(200, "", "GET", "/metrics", "").text; !strings.Contains(text, `portico_activity_unrecorded_total{why="store"} 2`) {
		t.Error("what was not recorded is not counted")
	}
}
