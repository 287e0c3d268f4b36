package gateway_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/access/roles"
	"portico/events"
	"portico/gateway/frontdoor/route"
)

const activityLog = inSubscription + "/providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01"

type loggedEvent struct {
	Caller, CorrelationID, OperationID, ResourceID, ResourceGroupName, Level, EventTimestamp string
	OperationName, Status, SubStatus, ResourceType                                           struct{ Value string }
	Authorization                                                                            struct{ Action, Scope string }
	HTTPRequest                                                                              struct{ Method, URI, ClientIPAddress, ClientRequestID string }
	Claims, Properties                                                                       map[string]string
}

type loggedEvents struct {
	Value    []loggedEvent
	NextLink string
}

func (s *site) activities(filter string, header ...string) []loggedEvent {
	s.t.Helper()
	target := activityLog
	if filter != "" {
		target += "&$filter=" + url.QueryEscape(filter)
	}
	var all []loggedEvent
	for target != "" {
		page := decode[loggedEvents](s.t, s.ok(200, "GET", target, "", header...))
		all = append(all, page.Value...)
		target = strings.TrimPrefix(page.NextLink, s.config.Server.PublicURL.String())
	}
	return all
}

func TestActivityLogIsFiltered(t *testing.T) {
	s := newSite(t, setup{})
	before := time.Now().UTC().Add(-time.Second).Format(time.RFC3339)
	s.group("g")
	s.group("h")
	m := s.machine("g", "m", "eastus")
	s.want(400, "ContosoFault", "PUT", machinePath("g", "n")+api, westus, "x-contoso-fault", "status=400")
	for filter, want := range map[string]int{
		"eventTimestamp ge '" + before + "' and resourceUri eq '" + strings.ToUpper(m) + "'": 1,
		"resourceGroupName eq 'G'":                                3,
		"resourceProvider eq 'contoso.compute'":                   2,
		"status eq 'Failed'":                                      1,
		"correlationId eq 'none'":                                 0,
		"eventTimestamp le '" + before + "'":                      0,
		"caller eq 'it''s me' and eventTimestamp ge '2020-01-01'": 0,
		// As the az CLI sends it.
		"eventTimestamp ge " + strings.TrimSuffix(before, "Z") + ".123456 and eventTimestamp le 2999-01-01T00:00:00+01:00 and resourceId eq '" + m + "'": 1,
		"eventTimestamp ge 2020-01-01 and status eq 'Failed'":                                                                         1,
		"resourceProvider eq Contoso.Compute and eventTimestamp ge 2020-01-01T00:00:00.1Z and eventTimestamp le 2999-01-01T00:00:00Z": 2,
		"eventTimestamp ge " + before:                                5,
		"levels eq 'Critical, error'":                                1,
		"levels eq 'Warning'":                                        0,
		"eventChannels eq 'Admin, Operation' and status eq 'Failed'": 1,
		"eventChannels eq 'Admin'":                                   0,
		"resourceGroupName eq 'g' and resourceGroupName eq 'h'":      0,
	} {
		if got := s.activities(filter); len(got) != want {
			t.Errorf("%s: %d events, want %d: %+v", filter, len(got), want, got)
		}
	}
	for _, bad := range []string{"x", "x eq 'y'", "caller ge 'y'", "caller eq 'y", "caller eq 'y' and", "caller eq 'y' or caller eq 'z'", "eventTimestamp ge 'soon'", "eventTimestamp eq '2020-01-01'",
		"eventTimestamp ge 2020-01-01 or status eq 'x'", "eventTimestamp ge 2020-01-01 and", "eventTimestamp ge"} {
		s.want(400, "InvalidQueryParameter", "GET", activityLog+"&$filter="+url.QueryEscape(bad), "")
	}
	for _, bad := range []string{"no", "status,no", "status/value", "caller,"} {
		s.want(400, "InvalidQueryParameter", "GET", activityLog+"&$select="+url.QueryEscape(bad), "")
	}
	s.ok(200, "GET", activityLog+"&$select=EventName,%20description", "")
	only := s.ok(200, "GET", activityLog+"&$select=eventTimestamp,caller,status&$top=1", "")
	page := decode[struct {
		Value    []map[string]any
		NextLink string
	}](t, only)
	if len(page.Value) != 1 || page.NextLink == "" || page.Value[0]["resourceId"] != nil || page.Value[0]["status"] == nil {
		t.Errorf("%s", only.text)
	}
	if n, all := len(s.activities("")), len(decode[loggedEvents](t, s.ok(200, "GET", activityLog, "")).Value); n != all {
		t.Errorf("%d events on all pages, %d on one", n, all)
	}
}

// A time that is long past is found without reading all that came since, and what is asked
// of one resource without reading what happened to others.
func TestActivityLogOfLongAgo(t *testing.T) {
	s := newSite(t, setup{})
	m := machinePath("g", "m")
	tell := func(n int, resource string) {
		var telling sync.WaitGroup
		for range 50 {
			telling.Go(func() {
				for range n / 50 {
					if err := s.store.Events.Record(t.Context(), subscription, events.Payload{Resource: resource, Action: vms + "/write", Status: events.Succeeded}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		telling.Wait()
		for n := 1; n > 0; {
			var err error
			if n, err = s.store.Events.Number(t.Context(), 5000); err != nil {
				t.Fatal(err)
			}
		}
	}
	count := func(filter string) (found, pages int) {
		t.Helper()
		for target := activityLog + "&$filter=" + url.QueryEscape(filter); target != ""; pages++ {
			one := decode[loggedEvents](t, s.ok(200, "GET", target, ""))
			found += len(one.Value)
			target = strings.TrimPrefix(one.NextLink, s.config.Server.PublicURL.String())
		}
		return found, pages
	}
	tell(50, m)
	s.clock.advance(3 * hour)
	past := s.clock.now().Add(-2 * hour).UTC().Format(time.RFC3339)
	tell(route.MostExamined+500, machinePath("g", "busy"))
	for _, filter := range []string{"eventTimestamp le '" + past + "' and resourceProvider eq 'Contoso.Compute'", "resourceUri eq '" + m + "'"} {
		if found, pages := count(filter); found != 50 || pages != 1 {
			t.Errorf("%s: %d events on %d pages", filter, found, pages)
		}
	}
	if found, pages := count("correlationId eq 'none'"); found != 0 || pages != 2 {
		t.Errorf("what no index finds: %d events on %d pages", found, pages)
	}
}

type changePage struct {
	Value []struct {
		ID, Type, Subject, Source, Sequence, Specversion string
		Data                                             struct{ Status, OperationName, ObjectID, SubscriptionID, ETag string }
	}
	Next string
}

func TestChangeFeed(t *testing.T) {
	s := newSite(t, setup{})
	start := decode[changePage](t, s.request(200, "", "GET", "/admin/changes", "")).Next
	s.group("g")
	m := s.machine("g", "m", "eastus")
	var types []string
	for after := start; ; {
		page := decode[changePage](t, s.request(200, "", "GET", "/admin/changes?limit=1&after="+after, ""))
		if len(page.Value) == 0 {
			if page.Next != after {
				t.Errorf("behind %s comes nothing, but the next token is %s", after, page.Next)
			}
			break
		}
		types, after = append(types, page.Value[0].Type+" "+page.Value[0].Subject), page.Next
	}
	const created = "Microsoft.Resources.ResourceWriteSuccess "
	if want := []string{created + groupPath("g"), created + m}; !slices.Equal(types, want) {
		t.Errorf("the feed says %q, want %q", types, want)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/changes?after=x", "")
	s.request(400, "InvalidQueryParameter", "GET", "/admin/changes?wait=2h", "")
	last := decode[changePage](t, s.request(200, "", "GET", "/admin/changes", "")).Next
	waited := make(chan changePage)
	go func() {
		waited <- decode[changePage](t, s.request(200, "", "GET", "/admin/changes?wait=30s&after="+last, ""))
	}()
	s.group("h")
	select {
	case page := <-waited:
		if len(page.Value) != 1 || page.Value[0].Subject != groupPath("h") {
			t.Errorf("%+v", page)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the feed did not say what came while its reader waited")
	}
}

// What Portico tells of its own resources is what it answers of them: their entity tag, their
// names as they are declared, and whose they are.
func TestEventsOfPorticosOwnResources(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	s.group("g")
	const authorization, role = "/providers/Microsoft.Authorization", "00000000-0000-4000-8000-0000000000d1"
	const assignable = `{"properties":{"roleName":"Operators","permissions":[{"actions":["Contoso.Compute/*/read"]}],"assignableScopes":["` + inSubscription + `"]}}`
	grant := `{"properties":{"roleDefinitionId":"` + authorization + `/roleDefinitions/` + roles.Reader + `","principalId":"` + callers[second].ObjectID + `"}}`
	definition, assignment := authorization+"/roleDefinitions/"+role, inSubscription+authorization+"/roleAssignments/"+role
	const register = inSubscription + "/providers/Contoso.Insight"
	for _, c := range []struct {
		method, path, version, body, get string // get: what shows the resource
		subject, source, operations      string
	}{
		{"PUT", groupPath("g"), own, `{"location":"westus","tags":{"a":"b"}}`, "", groupPath("g"), inSubscription, "Microsoft.Resources/subscriptions/resourceGroups/write"},
		{"PUT", groupPath("g") + authorization + "/locks/l", "?api-version=2020-05-01", `{"properties":{"level":"CanNotDelete"}}`, "", "", inSubscription, "Microsoft.Authorization/locks/write"},
		{"DELETE", groupPath("g") + authorization + "/locks/l", "?api-version=2020-05-01", "", "-", "", inSubscription, "Microsoft.Authorization/locks/delete"},
		{"PUT", inSubscription + "/providers/Microsoft.Resources/tags/default", own, `{"properties":{"tags":{"a":"b"}}}`, "", "", inSubscription, "Microsoft.Resources/tags/write"},
		{"PUT", inSubscription + "/tagNames/cost", own, "", "", "", inSubscription, "Microsoft.Resources/subscriptions/tagNames/write"},
		{"PUT", inSubscription + "/tagNames/cost/tagValues/low", own, "", "", "", inSubscription, "Microsoft.Resources/subscriptions/tagNames/tagValues/write"},
		{"POST", register + "/register", own, "", register, register, inSubscription, "Contoso.Insight/register/action"},
		{"PUT", inSubscription + definition, "?api-version=2022-04-01", assignable, "", definition, "/tenants/" + tenant, "Microsoft.Authorization/roleDefinitions/write"},
		{"PUT", assignment, "?api-version=2022-04-01", grant, "", "", inSubscription, "Microsoft.Authorization/roleAssignments/write"},
	} {
		before := s.changes("after=latest").Next
		answer := s.do(c.method, c.path+c.version, c.body)
		if answer.status >= 300 {
			t.Fatalf("%s %s: %d %s", c.method, c.path, answer.status, answer.text)
		}
		want := answer.header.Get("ETag")
		switch c.get {
		case "":
		case "-":
			want = ""
		default:
			want = s.ok(200, "GET", c.get+c.version, "").header.Get("ETag")
		}
		if want == "" && c.get != "-" {
			t.Errorf("%s %s has no ETag: %s", c.method, c.path, answer.text)
		}
		reported := s.changes("after=" + before).Value
		if len(reported) == 0 {
			t.Errorf("%s %s: no event", c.method, c.path)
			continue
		}
		for _, e := range reported {
			if e.Subject != cmp.Or(c.subject, c.path) || e.Source != c.source || e.Data.OperationName != c.operations ||
				e.Data.SubscriptionID != strings.TrimPrefix(strings.TrimPrefix(e.Source, "/tenants/"+tenant), "/subscriptions/") {
				t.Errorf("%s %s: %+v", c.method, c.path, e)
			}
		}
		if last := reported[len(reported)-1]; last.Data.ETag != want {
			t.Errorf("%s %s: the event has the ETag %q, want %q", c.method, c.path, last.Data.ETag, want)
		}
	}
}

func TestChangeFeedStreams(t *testing.T) {
	s := newSite(t, setup{})
	start := decode[changePage](t, s.request(200, "", "GET", "/admin/changes", "")).Next
	s.group("g")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	read := func(from string) (token, subject string) {
		r, err := http.NewRequestWithContext(ctx, "GET", s.admin.URL+"/admin/changes", http.NoBody)
		must(t, err)
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", from)
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		defer answer.Body.Close()
		if answer.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%+v", answer)
		}
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				token = id
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var e struct{ Subject string }
				must(t, json.Unmarshal([]byte(data), &e))
				return token, e.Subject
			}
		}
		t.Fatal("the stream ended")
		return "", ""
	}
	token, subject := read(start)
	if subject != groupPath("g") {
		t.Errorf("the first event is of %s", subject)
	}
	s.group("h")
	if _, subject := read(token); subject != groupPath("h") {
		t.Errorf("the next event is of %s", subject)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/changes?after=x", "", "Accept", "text/event-stream")
}
