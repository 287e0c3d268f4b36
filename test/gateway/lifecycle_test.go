package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs/notify"
)

// lifecycleReport is what an endpoint knows of subscriptions, by id.
type lifecycleReport map[string]struct {
	Namespaces map[string]string
	Notices    map[string]json.RawMessage
	Journal    []struct {
		Namespace, State string
		Time             time.Time
	}
}

func (e *endpoint) reported() lifecycleReport {
	e.t.Helper()
	var body struct{ Value lifecycleReport }
	must(e.t, json.Unmarshal(e.do("GET", "/contoso/subscriptions", "", 200), &body))
	return body.Value
}

// known is what all endpoints know of a namespace in a subscription, each state
// once.
func (s *site) known(id, namespace string) string {
	s.t.Helper()
	states := map[string]bool{}
	for _, e := range s.providers {
		states[e.reported()[id].Namespaces[strings.ToLower(namespace)]] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(states)), ";")
}

func (s *site) quiet(id string) {
	s.t.Helper()
	s.inTime("that everybody was told", func() bool {
		n, err := s.store.Notices.CountOpen(s.t.Context(), id, "")
		return err == nil && n == 0
	})
}

// released waits until no one works on any job of a kind: a clock that is set forward
// takes a job away from whoever does.
func (s *site) released(kind string) {
	s.t.Helper()
	s.within("the end of the attempts", func() bool {
		jobs, err := s.store.Jobs.List(s.t.Context(), jobrow.Query{Kind: kind})
		return err == nil && !slices.ContainsFunc(jobs, func(j jobrow.Job) bool { return j.Owner != "" })
	})
}

// admit puts a subscription through the admin listener.
func (s *site) admit(status int, code, id, members string) seen {
	s.t.Helper()
	got := s.request(status, code, "PUT", "/admin/subscriptions/"+id, `{"tenantId":"`+tenant+`"`+members+`}`)
	if status < 300 {
		s.quiet(id)
	}
	return got
}

func TestProvidersAreNotified(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	s.admit(201, "", foreign, `,"offerId":"free","locationPlacementId":"Public_2014-09-01","registeredFeatures":["Contoso.Compute/beta","Contoso.Insight/gamma","Microsoft.Resources/alpha"]`)
	stored, err := s.store.Subscription(t.Context(), foreign)
	must(t, err)
	want := `{"state":"Registered","registrationDate":"` + stored.Created.Format(http.TimeFormat) + `","properties":{"tenantId":"` + tenant +
		`","locationPlacementId":"Public_2014-09-01","quotaId":"free","accountOwner":{"puid":"","email":""},` +
		`"registeredFeatures":[{"name":"Contoso.Compute/beta","state":"Registered"},{"name":"Microsoft.Resources/alpha","state":"Registered"}],` +
		`"managedByTenants":[],"additionalProperties":{"resourceProviderProperties":{"resourceProviderNamespace":"Contoso.Compute"}}}}`
	for region, e := range s.providers {
		if got := string(e.reported()[foreign].Notices["contoso.compute"]); got != want {
			t.Errorf("%s was told %s, want %s", region, got, want)
		}
	}
	shown := decode[struct {
		SubscriptionPolicies struct{ LocationPlacementID, QuotaID, SpendingLimit string }
	}](t, s.ok(200, "GET", "/subscriptions/"+foreign+own, "")).SubscriptionPolicies
	if shown.LocationPlacementID != "Public_2014-09-01" || shown.QuotaID != "free" || shown.SpendingLimit != "Off" {
		t.Errorf("clients see %+v", shown)
	}
	if got := s.request(200, "", "GET", "/admin/subscriptions/"+foreign, "").text; !strings.Contains(got, `"offerId":"free","locationPlacementId":"Public_2014-09-01","registeredFeatures":["Contoso.Compute/beta",`) {
		t.Errorf("operators see %s", got)
	}
	// Clients' states and providers'; a namespace that asks for a registration
	// hears nothing.
	for _, c := range []struct{ state, reported string }{
		{"PastDue", "Registered"}, {"Warned", "Warned"}, {"Disabled", "Suspended"}, {"Enabled", "Registered"},
	} {
		s.admit(200, "", foreign, `,"state":"`+c.state+`"`)
		if got := s.known(foreign, "Contoso.Compute"); got != c.reported {
			t.Errorf("%s is told as %s, want %s", c.state, got, c.reported)
		}
		if got := s.known(foreign, "Contoso.Insight"); got != "" {
			t.Errorf("who needs a registration was told %s", got)
		}
	}
	// Features that the operator does not name stay.
	if got := s.request(200, "", "GET", "/admin/subscriptions/"+foreign, "").text; !strings.Contains(got, "Microsoft.Resources/alpha") {
		t.Errorf("%s", got)
	}
	s.admit(400, "InvalidRequestContent", foreign, `,"registeredFeatures":["beta"]`)
}

// An endpoint that does not take a notice is told until it does: 202 is no more
// than a beginning, and its Location is not followed.
func TestNoticesAreRepeated(t *testing.T) {
	for _, fault := range []string{"status=202", "status=503", "status=400", "throttle=0", "reset-before", "reset-after"} {
		t.Run(fault, func(t *testing.T) {
			s := newSite(t, setup{sections: `upstream: {callTimeout: 1s}`})
			s.at("eastus").do("POST", "/contoso/faults", `{"method":"PUT","pathContains":"/subscriptions/`+foreign+`","fault":"`+fault+`","count":2}`, 201)
			s.work()
			s.request(201, "", "PUT", "/admin/subscriptions/"+foreign, `{"tenantId":"`+tenant+`","state":"Warned"}`)
			s.within("that all know, and no one is refused any more", func() bool {
				return s.known(foreign, "Contoso.Compute") == "Warned" && string(s.at("eastus").do("GET", "/contoso/faults", "", 200)) == `{"value":[]}`
			})
		})
	}
}

// A notice that was recorded and never answered may arrive late, and hide what
// was told since: when its time is over, the endpoint is told once more.
func TestNoticeOfSomebodyWhoDied(t *testing.T) {
	s := newSite(t, setup{})
	if _, _, err := s.store.PutSubscription(t.Context(), inventory.Subscription{ID: foreign, TenantID: tenant}, notify.Targets(s.config.Map.Provider("Contoso.Compute"))...); err != nil {
		t.Fatal(err)
	}
	jobs, err := s.store.Jobs.Claim(t.Context(), "dead", 0, 10, inventory.NoticeJob)
	if err != nil || len(jobs) != 3 {
		t.Fatal(jobs, err)
	}
	for i := range jobs {
		n, err := inventory.ReadNotice(jobs[i])
		must(t, err)
		n.Ends = s.store.Now().Add(hour)
		must(t, s.store.Jobs.Save(t.Context(), &jobs[i], n.String()))
	}
	s.work()
	notices := func() (least int) {
		least = 99
		for _, e := range s.providers {
			least = min(least, len(e.reported()[foreign].Journal))
		}
		return least
	}
	s.within("that all are told at once", func() bool { return notices() == 1 })
	if n, err := s.store.Notices.CountOpen(t.Context(), foreign, ""); err != nil || n != 3 {
		t.Fatalf("%d notices go on: %v", n, err)
	}
	s.released(inventory.NoticeJob)
	s.clock.advance(hour + time.Minute)
	s.quiet(foreign)
	if n := notices(); n != 2 {
		t.Errorf("told %d times, want twice", n)
	}
}

func TestRegistrationIsReported(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	for _, c := range []struct{ route, answer, state, reported string }{
		{register, "Registering", "Registered", "Registered"},
		{withdraw, "Unregistering", "Unregistered", "Unregistered"},
		{register, "Registering", "Registered", "Registered"},
	} {
		if got := decode[provider](t, s.ok(200, "POST", c.route, "")).RegistrationState; got != c.answer {
			t.Errorf("the answer says %s, want %s", got, c.answer)
		}
		if got := s.known(subscription, "Contoso.Insight"); got != c.reported {
			t.Errorf("after %s the endpoints know %s", c.route, got)
		}
		if got := decode[provider](t, s.ok(200, "GET", insight+own, "")).RegistrationState; got != c.state {
			t.Errorf("the next GET says %s, want %s", got, c.state)
		}
	}
	var body struct{ RegistrationDate string }
	must(t, json.Unmarshal(s.at("westus").reported()[subscription].Notices["contoso.insight"], &body))
	registration, err := s.store.Registration(t.Context(), subscription, "Contoso.Insight")
	if err != nil || body.RegistrationDate != registration.Registered.Format(http.TimeFormat) {
		t.Errorf("%s %v %v", body.RegistrationDate, registration.Registered, err)
	}
	s.admit(200, "", subscription, `,"state":"Disabled"`)
	if got := s.known(subscription, "Contoso.Insight"); got != "Suspended" {
		t.Errorf("who is registered knows %s", got)
	}
}

// A region that is down keeps no one from registering.
func TestRegistrationWithoutARegion(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.work()
	s.at("eastus").do("POST", "/contoso/faults", `{"method":"PUT","pathContains":"`+inSubscription+`","fault":"status=503","count":-1}`, 201)
	s.ok(200, "POST", register, "")
	if got := decode[provider](t, s.ok(200, "GET", insight+own, "")).RegistrationState; got != "Registered" {
		t.Errorf("%s", got)
	}
	s.at("eastus").do("DELETE", "/contoso/faults", "", 204)
	s.within("that the region knows as well", func() bool {
		return s.at("eastus").reported()[subscription].Namespaces["contoso.insight"] == "Registered"
	})
}

// What no one has seen may be there.
func TestUnregisterWhereAbsenceWasNotSeen(t *testing.T) {
	s := newSite(t, setup{hurried: true, uncovered: true})
	s.ok(200, "POST", register, "")
	s.want(409, "CannotUnregisterNamespaceWithResources", "POST", withdraw, "")
	for _, typ := range s.config.Map.Provider("Contoso.Insight").Types() {
		for _, region := range typ.EffectiveRegions() {
			must(t, s.store.Coverage.Cover(t.Context(), subscription, typ.Key, region, time.Now()))
		}
	}
	s.ok(200, "POST", withdraw, "")
}

// A region that joins the map later has to be registered for.
func TestRegionThatJoins(t *testing.T) {
	s := newSite(t, setup{hurried: true, types: twoRegions(t, nil)})
	s.group("g")
	s.ok(200, "POST", register, "")
	wide := newSite(t, setup{hurried: true, beside: s, path: s.path, types: twoRegions(t, s)})
	wide.work()
	w := inSubscription + workspace
	got := wide.want(409, "MissingRegistrationForLocation", "PUT", w+preview, eastus)
	if !strings.Contains(got.text, `"message":"The subscription is not registered for the resource type 'workspaces' in the location 'East US'. Re-register for this provider in order to have access to this location.","target":"Contoso.Insight","details":[{"code":"MissingRegistrationForLocation"`) {
		t.Errorf("%s", got.text)
	}
	wide.want(409, "MissingRegistrationForLocation", "POST", insight+"/locations/eastus/check"+preview, "{}")
	wide.ok(201, "PUT", w+preview, westus)
	wide.within("that who registers by itself is told where it joined", func() bool {
		return wide.at("eastus").reported()[subscription].Namespaces["contoso.compute"] == "Registered"
	})
	if reported := wide.at("eastus").reported()[subscription].Namespaces["contoso.insight"]; reported != "" {
		t.Errorf("who does not, was told %s", reported)
	}
	if got := decode[provider](t, wide.ok(200, "POST", register, "")).RegistrationState; got != "Registering" {
		t.Errorf("registering again: %s", got)
	}
	if got := decode[provider](t, wide.ok(200, "GET", insight+own, "")).RegistrationState; got != "Registered" {
		t.Errorf("registering again: %s", got)
	}
	wide.ok(201, "PUT", inSubscription+strings.TrimSuffix(workspace, "w")+"v"+preview, eastus)
}

// twoRegions is a map of westus and, where there is a site for its endpoint to be
// taken from, eastus.
func twoRegions(t *testing.T, of *site) string {
	t.Helper()
	endpoints := `westus: ["http://127.0.0.1:9"], global: ["http://127.0.0.1:9"]`
	if of != nil {
		endpoints = `westus: ["` + of.at("westus").server.URL + `"], eastus: ["` + of.at("eastus").server.URL + `"], global: ["` + of.at("global").server.URL + `"]`
	}
	return fmt.Sprintf(`
regions: [{name: westus, displayName: West US}, {name: eastus, displayName: East US}]
providers:
  - {namespace: Contoso.Insight, registration: required, endpoints: {%[1]s}, resourceTypes: [{name: workspaces, kind: tracked, apiVersions: ["2024-06-01-preview"]}]}
  - {namespace: Contoso.Compute, registration: automatic, endpoints: {%[1]s}, resourceTypes: [{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}]}
`, endpoints)
}

// registrations are those for features of a provider, below a subscription.
const registrations = "/providers/Microsoft.Features/featureProviders/Contoso.Compute/subscriptionFeatureRegistrations"

// Registrations for features are resources as well: the same state in another form.
func TestFeatureRegistrations(t *testing.T) {
	s := newSite(t, setup{types: fmt.Sprintf(strings.Replace(declarations, "registration: automatic", "registration: automatic\n    features: [beta, Alpha]", 1), `westus: ["http://127.0.0.1:9"], eastus: ["http://127.0.0.1:9"], global: ["http://127.0.0.1:9"]`)})
	const (
		all   = inSubscription + "/providers/Microsoft.Features/subscriptionFeatureRegistrations"
		beta  = inSubscription + registrations + "/beta"
		none  = `{"value":[]}`
		shown = `{"id":"` + beta + `","name":"beta","type":"Microsoft.Features/featureProviders/subscriptionFeatureRegistrations","properties":{"tenantId":"` + tenant +
			`","subscriptionId":"` + subscription + `","providerNamespace":"Contoso.Compute","featureName":"beta","state":"Registered","approvalType":"AutoApproval"}}`
		features = inSubscription + "/providers/Microsoft.Features/providers/Contoso.Compute/features/"
	)
	said := func(want, method, target, content string) {
		t.Helper()
		if got := s.ok(200, method, target+own, content); got.text != want {
			t.Errorf("%s %s: %s\nwant %s", method, target, got.text, want)
		}
	}
	said(none, "GET", all, "")
	s.want(404, "FeatureNotFound", "GET", beta+own, "")
	for _, content := range []string{"{}", "", shown, `{"properties":{"state":"registered"}}`} {
		said(shown, "PUT", strings.ToLower(beta), content)
	}
	said(shown, "GET", beta, "")
	said(`{"value":[`+shown+`]}`, "GET", all, "")
	said(`{"value":[`+shown+`]}`, "GET", inSubscription+registrations, "")
	said(none, "GET", strings.Replace(inSubscription+registrations, "Compute", "Insight", 1), "")
	if got := s.ok(200, "GET", features+"beta"+own, "").text; !strings.Contains(got, `"state":"Registered"`) {
		t.Error(got)
	}
	for _, content := range []string{`{"properties":{"state":"Pending"}}`, `{"name":"other"}`, `{"properties":{"metadata":{"a":"b"}}}`, `{`} {
		s.want(400, "InvalidRequestContent", "PUT", beta+own, content)
	}
	s.ok(201, "PUT", inSubscription+lockPlace+"/l"+own, readOnly)
	for _, method := range []string{"PUT", "DELETE"} {
		s.want(409, "ScopeLocked", method, beta+own, "")
	}
	s.ok(200, "DELETE", inSubscription+lockPlace+"/l"+own, "")
	said("", "DELETE", beta, "")
	s.ok(204, "DELETE", beta+own, "")
	said(none, "GET", all, "")
	if got := s.ok(200, "POST", features+"alpha/register"+own, "").text; !strings.Contains(got, `"state":"Registered"`) {
		t.Error(got)
	}
	said(strings.NewReplacer("beta", "Alpha").Replace(shown), "GET", inSubscription+registrations+"/ALPHA", "")
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		s.want(404, "FeatureNotFound", method, inSubscription+registrations+"/none"+own, "")
	}
	s.want(404, "InvalidResourceNamespace", "GET", strings.Replace(inSubscription+registrations, "Compute", "None", 1)+own, "")
}

func TestFeatures(t *testing.T) {
	s := newSite(t, setup{types: fmt.Sprintf(strings.Replace(declarations, "registration: automatic", "registration: automatic\n    features: [beta, Alpha]", 1), `westus: ["http://127.0.0.1:9"], eastus: ["http://127.0.0.1:9"], global: ["http://127.0.0.1:9"]`)})
	const features = inSubscription + "/providers/Microsoft.Features"
	const beta = features + "/providers/Contoso.Compute/features/beta"
	state := func(method, target string) string {
		t.Helper()
		got := decode[struct {
			ID, Name, Type string
			Properties     struct{ State string }
		}](t, s.ok(200, method, target, ""))
		if got.ID != beta || got.Name != "Contoso.Compute/beta" || got.Type != "Microsoft.Features/providers/features" {
			t.Errorf("%+v", got)
		}
		return got.Properties.State
	}
	for _, c := range []struct{ method, target, want string }{
		{"GET", beta, "NotRegistered"},
		{"POST", beta + "/register", "Registered"},
		{"GET", strings.ToUpper(beta), "Registered"},
		{"POST", beta + "/register", "Registered"},
		{"POST", beta + "/unregister", "NotRegistered"},
		{"GET", beta, "NotRegistered"},
		{"POST", beta + "/register", "Registered"},
	} {
		if got := state(c.method, c.target+own); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.target, got, c.want)
		}
	}
	s.ok(201, "PUT", inSubscription+lockPlace+"/l"+own, readOnly)
	for _, action := range []string{"/register", "/unregister"} {
		s.want(409, "ScopeLocked", "POST", beta+action+own, "")
	}
	s.ok(200, "DELETE", inSubscription+lockPlace+"/l"+own, "")
	if got := s.names(features + "/features" + own); got != "Contoso.Compute/beta Contoso.Compute/Alpha" {
		t.Errorf("all: %s", got)
	}
	if got := s.names(features + "/providers/contoso.insight/features" + own); got != "" {
		t.Errorf("another provider's: %s", got)
	}
	s.request(200, "", "PUT", "/admin/subscriptions/"+subscription, `{"tenantId":"`+tenant+`","registeredFeatures":["Contoso.Insight/hidden"]}`)
	if got := s.ok(200, "GET", features+"/providers/Contoso.Insight/features"+own, "").text; got !=
		`{"value":[{"id":"`+features+`/providers/Contoso.Insight/features/hidden","name":"Contoso.Insight/hidden","type":"Microsoft.Features/providers/features","properties":{"state":"Registered"}}]}` {
		t.Errorf("%s", got)
	}
	s.want(404, "FeatureNotFound", "GET", features+"/providers/Contoso.Compute/features/none"+own, "")
	s.want(404, "FeatureNotFound", "POST", features+"/providers/Contoso.Compute/features/none/register"+own, "")
	s.want(404, "InvalidResourceNamespace", "GET", features+"/providers/Contoso.None/features"+own, "")
	s.want(405, "MethodNotAllowed", "PUT", beta+own, "{}")
	s.want(404, "InvalidResourceType", "GET", features+"/providers/Contoso.Compute/toys"+own, "")
	s.want(400, "MissingApiVersionParameter", "GET", beta, "")
	s.subscribe(subscription, tenant, inventory.Disabled)
	s.want(409, "ReadOnlyDisabledSubscription", "POST", beta+"/register"+own, "")
	s.ok(200, "GET", beta+own, "")
}

// A deleted subscription goes with all that is in it, by the providers' own doing,
// and can then be made anew.
func TestSubscriptionIsDeleted(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.machine("g", "n", "eastus")
	s.ok(200, "POST", register, "")
	s.quiet(subscription)
	s.at("eastus").do("POST", "/contoso/faults", `{"method":"PUT","pathContains":"`+inSubscription+`","fault":"status=503","count":-1}`, 201)
	for _, e := range s.providers {
		e.requests()
	}
	s.request(200, "", "PUT", "/admin/subscriptions/"+subscription, `{"tenantId":"`+tenant+`","state":"Deleted"}`)
	s.want(404, "SubscriptionNotFound", "GET", m+api, "")
	s.within("that one knows", func() bool { return len(s.at("westus").holds()) == 0 })
	if got := s.request(409, "Conflict", "PUT", "/admin/subscriptions/"+subscription, `{"tenantId":"`+tenant+`"}`); got.header.Get("Retry-After") != "10" {
		t.Errorf("%v", got.header)
	}
	s.at("eastus").do("DELETE", "/contoso/faults", "", 204)
	s.within("that all know", func() bool { return len(s.at("eastus").holds()) == 0 })
	s.clock.advance(5 * time.Minute) // what was answered with 503 cannot take effect any more
	s.inTime("its end", func() bool {
		return strings.Contains(s.request(200, "", "GET", "/admin/subscriptions/"+subscription, "").text, `"erased":true`)
	})
	for region, e := range s.providers {
		if held := e.holds(); len(held) > 0 {
			t.Errorf("%s holds %v", region, held)
		}
		for _, r := range e.requests() {
			if r.Method == "DELETE" {
				t.Errorf("%s got %s %s", region, r.Method, r.Path)
			}
		}
	}
	s.admit(201, "", subscription, "")
	s.want(404, "ResourceGroupNotFound", "GET", m+api, "")
	s.group("g")
	s.want(404, "ResourceNotFound", "GET", m+api, "")
	if got := s.names(inSubscription + "/resources" + own); got != "" {
		t.Errorf("left over: %s", got)
	}
	s.want(409, "MissingSubscriptionRegistration", "PUT", inSubscription+workspace+preview, westus)
	s.machine("g", "m", "eastus")
}

// The words are ARM's own: clients match on them.
func TestWordsOfRefusals(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	w := inSubscription + workspace
	const how = " See https://aka.ms/rps-not-found for how to register subscriptions."
	const never = "The subscription is not registered to use namespace 'Contoso.Insight'." + how
	const ended = "The subscription registration is in 'Unregistered' state. The subscription must be registered to use namespace 'Contoso.Insight'." + how
	said := func(status int, code, message, target string, detailed bool, method, path, body string) {
		t.Helper()
		got := s.want(status, code, method, path, body)
		if cause := got.header.Get("X-Ms-Failure-Cause"); cause != "gateway" {
			t.Errorf("the failure is of the %s", cause)
		}
		want := fmt.Sprintf(`{"error":{"code":%q,"message":%q,"target":%q`, code, message, target)
		if detailed {
			want += fmt.Sprintf(`,"details":[{"code":%q,"message":%q,"target":%q}]`, code, message, target)
		}
		if got.text != want+"}}" {
			t.Errorf("got  %s\nwant %s}}", got.text, want)
		}
	}
	said(409, "MissingSubscriptionRegistration", never, "Contoso.Insight", true, "PUT", w+preview, westus)
	said(409, "MissingSubscriptionRegistration", never, "Contoso.Insight", true, "DELETE", w+preview, "")
	s.ok(200, "POST", register, "")
	s.ok(201, "PUT", w+preview, westus)
	said(409, "CannotUnregisterNamespaceWithResources", "The subscription cannot be unregistered from namespace 'Contoso.Insight' while it holds resources of it. Please delete them first.",
		"Contoso.Insight", false, "POST", withdraw, "")
	s.ok(200, "DELETE", w+preview, "")
	s.ok(200, "POST", withdraw, "")
	said(409, "MissingSubscriptionRegistration", ended, "Contoso.Insight", true, "PUT", w+preview, westus)
	said(404, "InvalidResourceNamespace", "The resource namespace 'Contoso.None' is invalid.", "resourceProviderNamespace", false, "POST", inSubscription+"/providers/Contoso.None/register"+own, "")
	said(404, "FeatureNotFound", "The feature 'none' could not be found.", "featureName", false, "GET", inSubscription+"/providers/Microsoft.Features/providers/Contoso.Insight/features/none"+own, "")
	s.subscribe(subscription, tenant, inventory.Warned)
	said(409, "ReadOnlyDisabledSubscription", "The subscription '"+subscription+"' is disabled and therefore marked as read only. You cannot perform any write actions on this subscription until it is re-enabled.",
		"subscriptionId", false, "PUT", w+preview, westus)
	s.ok(204, "DELETE", machinePath("g", "none")+api, "")
	s.subscribe(subscription, tenant, inventory.Deleted)
	said(404, "SubscriptionNotFound", "The subscription '"+subscription+"' could not be found.", "subscriptionId", false, "GET", inSubscription+own, "")
}

// The registration is looked at where the intent is recorded.
func TestRegistrationThatEndsMeanwhile(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	s.ok(200, "POST", register, "")
	got := s.overtaken("PUT", inSubscription+workspace+preview, westus, func() {
		if _, err := s.store.Unregister(t.Context(), inventory.RegistrationChange{Subscription: subscription, Namespace: "Contoso.Insight"}); err != nil {
			t.Error(err)
		}
	})
	if got.status != 409 || got.code != "MissingSubscriptionRegistration" {
		t.Errorf("%d %s", got.status, got.text)
	}
	for region, e := range s.providers {
		if held := e.holds(); len(held) > 0 {
			t.Errorf("%s holds %v", region, held)
		}
	}
}
