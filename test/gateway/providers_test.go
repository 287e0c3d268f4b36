package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"portico/config"
	"portico/inventory"
	"portico/jobs/notify"
)

const (
	insight   = inSubscription + "/providers/Contoso.Insight"
	register  = insight + "/register" + own
	withdraw  = insight + "/unregister" + own
	workspace = "/resourceGroups/g/providers/Contoso.Insight/workspaces/w"
	preview   = "?api-version=2024-06-01-preview"
)

// provider is a resource provider as the tests look at it.
type provider struct {
	ID, Namespace, RegistrationPolicy, RegistrationState, ETag string
	ResourceTypes                                              []struct {
		ResourceType, DefaultAPIVersion, Capabilities string
		Locations, APIVersions                        []string
	}
}

func TestProvider(t *testing.T) {
	s := newSite(t, setup{})
	got := decode[provider](t, s.ok(200, "GET", inSubscription+"/providers/contoso.COMPUTE"+own, ""))
	if got.ID != inSubscription+"/providers/Contoso.Compute" || got.Namespace != "Contoso.Compute" || got.RegistrationPolicy != "RegistrationFree" || got.RegistrationState != "Registered" {
		t.Errorf("%+v", got)
	}
	machines := got.ResourceTypes[0]
	if machines.ResourceType != "virtualMachines" || machines.DefaultAPIVersion != "2024-01-01" ||
		fmt.Sprint(machines.APIVersions) != "[2024-06-01-preview 2024-01-01 2023-01-01]" || strings.Join(machines.Locations, ",") != "West US,East US" {
		t.Errorf("%+v", machines)
	}
	caps := map[string]string{}
	for _, p := range []string{"Compute", "Insight"} {
		for _, typ := range decode[provider](t, s.ok(200, "GET", inSubscription+"/providers/Contoso."+p+own, "")).ResourceTypes {
			caps[typ.ResourceType] = typ.Capabilities
			if typ.ResourceType == "workspaces" && typ.DefaultAPIVersion != "2024-06-01-preview" {
				t.Errorf("the default of previews alone is %s", typ.DefaultAPIVersion)
			}
		}
	}
	for typ, want := range map[string]string{
		"virtualMachines":             "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove, SupportsTags, SupportsLocation",
		"virtualMachines/disks":       "SupportsLocation",
		"virtualMachines/runCommands": "None",
		"diagnosticSettings":          "SupportsExtension",
	} {
		if caps[typ] != want {
			t.Errorf("%s: %q, want %q", typ, caps[typ], want)
		}
	}
	for _, unknown := range []string{"Contoso.Nothing", "Microsoft.Nothing"} {
		s.want(404, "InvalidResourceNamespace", "GET", inSubscription+"/providers/"+unknown+own, "")
		s.want(404, "InvalidResourceNamespace", "GET", "/providers/"+unknown+own, "")
		s.want(404, "InvalidResourceNamespace", "POST", inSubscription+"/providers/"+unknown+"/register"+own, "")
		s.want(404, "InvalidResourceNamespace", "POST", inSubscription+"/providers/"+unknown+"/unregister"+own, "")
	}
}

// The namespaces of Portico's own types are registered everywhere, for good. Clients look
// up there by which api-version they can delete what a deployment made.
func TestOwnProviders(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	for namespace, types := range map[string][]string{
		"Microsoft.Resources":     {"deployments", "resourceGroups", "subscriptions/resourceGroups", "tags"},
		"Microsoft.Authorization": {"locks", "roleAssignments", "roleDefinitions"},
		"Microsoft.Features":      {"featureProviders/subscriptionFeatureRegistrations", "features"},
		"Microsoft.Insights":      {"eventtypes/values"},
	} {
		for _, name := range []string{namespace, strings.ToLower(namespace), strings.ToUpper(namespace)} {
			path := inSubscription + "/providers/" + name
			for _, c := range [][2]string{{"GET", ""}, {"GET", "?$expand=metadata"}, {"GET", "?$expand=resourceTypes/aliases"}, {"POST", "/register"}} {
				target, query, _ := strings.Cut(c[1], "?")
				got := decode[provider](t, s.ok(200, c[0], path+target+own+"&"+query, ""))
				if got.ID != inSubscription+"/providers/"+namespace || got.Namespace != namespace || got.ETag == "" ||
					got.RegistrationPolicy != "RegistrationFree" || got.RegistrationState != "Registered" {
					t.Errorf("%s %s: %+v", c[0], path, got)
				}
			}
			if got := decode[provider](t, s.ok(200, "GET", "/providers/"+name+own, "")); got.ID != "/providers/"+namespace || got.RegistrationState != "" || len(got.ResourceTypes) == 0 {
				t.Errorf("%+v", got)
			}
			s.want(409, "Conflict", "POST", path+"/unregister"+own, "")
		}
		got := decode[provider](t, s.ok(200, "GET", inSubscription+"/providers/"+namespace+own, ""))
		listed := decode[struct{ Value []json.RawMessage }](t, s.ok(200, "GET", inSubscription+"/providers/"+namespace+"/resourceTypes"+own, ""))
		if len(listed.Value) != len(got.ResourceTypes) {
			t.Errorf("%d types, and %d in their list", len(got.ResourceTypes), len(listed.Value))
		}
		versions := map[string][]string{}
		for _, typ := range got.ResourceTypes {
			versions[typ.ResourceType] = typ.APIVersions
			if typ.DefaultAPIVersion != typ.APIVersions[0] || typ.Locations == nil || typ.Capabilities == "" {
				t.Errorf("%+v", typ)
			}
		}
		for _, name := range types {
			if len(versions[name]) == 0 {
				t.Errorf("%s has no type %s", namespace, name)
			}
		}
		for path, typ := range map[string]string{
			groupPath("g"): "Microsoft.Resources/resourceGroups", groupPath("g") + "/providers/Microsoft.Resources/tags/default": "Microsoft.Resources/tags",
			groupPath("g") + "/providers/Microsoft.Authorization/locks":           "Microsoft.Authorization/locks",
			inSubscription + "/providers/Microsoft.Authorization/roleAssignments": "Microsoft.Authorization/roleAssignments",
			inSubscription + "/providers/Microsoft.Features/features":             "Microsoft.Features/features",
		} {
			if name, of := strings.CutPrefix(typ, namespace+"/"); of {
				for _, version := range versions[name] {
					s.ok(200, "GET", path+"?api-version="+version, "")
				}
			}
		}
	}
}

// A provider of the map may declare types in a namespace of which Portico owns others.
func TestSharedProvider(t *testing.T) {
	shared := strings.ReplaceAll(fmt.Sprintf(declarations, `westus: ["http://127.0.0.1:9"], eastus: ["http://127.0.0.1:9"], global: ["http://127.0.0.1:9"]`), "Contoso.Insight", "Microsoft.Insights")
	s := newSite(t, setup{types: shared, hurried: true})
	path := inSubscription + "/providers/microsoft.insights"
	got := decode[provider](t, s.ok(200, "GET", path+own, ""))
	names := map[string]int{}
	for _, typ := range got.ResourceTypes {
		names[typ.ResourceType]++
	}
	if got.RegistrationPolicy != "RegistrationRequired" || got.RegistrationState != "NotRegistered" || names["workspaces"] != 1 || names["eventtypes/values"] != 1 {
		t.Errorf("%+v", got)
	}
	list := decode[struct{ Value []provider }](t, s.ok(200, "GET", inSubscription+"/providers"+own, ""))
	n := 0
	for _, p := range list.Value {
		if p.Namespace == "Microsoft.Insights" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d entries of one namespace", n)
	}
}

// A location that is no region of the map is shown as it is.
func TestProviderLocations(t *testing.T) {
	s := newSite(t, setup{})
	for _, typ := range decode[provider](t, s.ok(200, "GET", insight+own, "")).ResourceTypes {
		if want := map[string]string{"workspaces": "[West US East US]", "profiles": "[global]", "annotations": "[global]"}[typ.ResourceType]; want != "" && fmt.Sprint(typ.Locations) != want {
			t.Errorf("%s: %v, want %s", typ.ResourceType, typ.Locations, want)
		}
	}
}

func TestProviderList(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	states := func() string {
		list := decode[struct{ Value []provider }](t, s.ok(200, "GET", inSubscription+"/providers"+own, ""))
		var states []string
		for _, p := range list.Value {
			single := decode[provider](t, s.ok(200, "GET", inSubscription+"/providers/"+p.Namespace+own, ""))
			if single.ETag != p.ETag || single.RegistrationState != p.RegistrationState || p.ETag == "" {
				t.Errorf("the list has %+v, the provider itself is %+v", p, single)
			}
			if !strings.HasPrefix(p.Namespace, "Microsoft.") {
				states = append(states, p.Namespace+" "+p.RegistrationPolicy+" "+p.RegistrationState)
			} else if p.RegistrationPolicy != "RegistrationFree" || p.RegistrationState != "Registered" {
				t.Errorf("%+v", p)
			}
		}
		return strings.Join(states, ", ")
	}
	if got := states(); got != "Contoso.Compute RegistrationFree Registered, Contoso.Insight RegistrationRequired NotRegistered" {
		t.Errorf("%s", got)
	}
	s.ok(200, "POST", register, "")
	if got := states(); got != "Contoso.Compute RegistrationFree Registered, Contoso.Insight RegistrationRequired Registered" {
		t.Errorf("%s", got)
	}
	for _, target := range []string{"/providers", "/providers/contoso.insight"} {
		got := s.ok(200, "GET", target+own, "")
		if strings.Contains(got.text, "registration") || strings.Contains(got.text, "etag") || got.header.Get("ETag") != "" {
			t.Errorf("the tenant's view speaks of a registration: %s", got.text)
		}
		if !strings.Contains(got.text, `"id":"/providers/Contoso.Insight"`) {
			t.Errorf("%s", got.text)
		}
	}
}

func TestRegistration(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	state := func(method, target string, header ...string) string {
		t.Helper()
		got := s.ok(200, method, target, "", header...)
		body := decode[provider](t, got)
		if body.ETag != got.header.Get("ETag") || body.ETag == "" {
			t.Errorf("ETags %q and %q", body.ETag, got.header.Get("ETag"))
		}
		return body.RegistrationState
	}
	for _, c := range []struct{ method, target, want string }{
		{"GET", insight + own, "NotRegistered"},
		{"POST", withdraw, "Unregistered"}, // clients wait for this state
		{"GET", insight + own, "Unregistered"},
		{"POST", withdraw, "Unregistered"},
		{"POST", register, "Registering"},
		{"GET", insight + own, "Registered"},
		{"POST", register, "Registered"},
		{"POST", withdraw, "Unregistering"},
		{"GET", insight + own, "Unregistered"},
		{"POST", withdraw, "Unregistered"},
		{"POST", register, "Registering"},
		{"POST", inSubscription + "/providers/Contoso.Compute/register" + own, "Registered"},
		{"GET", inSubscription + "/providers/Contoso.Compute" + own, "Registered"},
	} {
		if got := state(c.method, c.target); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.target, got, c.want)
		}
	}
	s.want(409, "Conflict", "POST", inSubscription+"/providers/Contoso.Compute/unregister"+own, "") // it needs no registration
}

func TestRegistrationConditions(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	before := s.ok(200, "GET", insight+own, "").header.Get("ETag")
	s.ok(304, "GET", insight+own, "", "If-None-Match", before)
	s.want(412, "PreconditionFailed", "POST", register, "", "If-Match", `"stale"`)
	s.want(412, "PreconditionFailed", "POST", register, "", "If-None-Match", before)
	s.ok(200, "GET", insight+own, "", "If-Match", before)
	s.ok(200, "POST", register, "", "If-Match", before)
	after := s.ok(200, "GET", insight+own, "").header.Get("ETag")
	if after == before {
		t.Error("registering left the ETag")
	}
	s.ok(200, "GET", insight+own, "", "If-None-Match", before)
	s.want(412, "PreconditionFailed", "POST", withdraw, "", "If-Match", before)
	s.ok(200, "POST", withdraw, "", "If-Match", `"x", `+after)
	if got := s.ok(304, "GET", insight+own, "", "If-None-Match", "*"); got.text != "" || got.header.Get("ETag") == "" {
		t.Errorf("%v", got)
	}
}

func TestRegistrationGuardsWrites(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	w := inSubscription + workspace
	refused := func() {
		t.Helper()
		got := s.want(409, "MissingSubscriptionRegistration", "PUT", w+preview, westus)
		var fault struct {
			Error struct {
				Target  string
				Details []struct{ Code, Target, Message string }
			}
		}
		if err := json.Unmarshal([]byte(got.text), &fault); err != nil || len(fault.Error.Details) != 1 ||
			fault.Error.Details[0].Target != "Contoso.Insight" || fault.Error.Details[0].Code != "MissingSubscriptionRegistration" {
			t.Errorf("%v %s", err, got.text)
		}
		s.want(409, "MissingSubscriptionRegistration", "POST", insight+"/checkNameAvailability"+api, `{}`)
		s.want(409, "MissingSubscriptionRegistration", "DELETE", w+preview, "")
		s.want(404, "ResourceNotFound", "GET", w+preview, "")
		if got := s.ok(200, "GET", insight+"/workspaces"+preview, ""); got.text != `{"value":[]}` {
			t.Errorf("%s", got.text)
		}
		for region, e := range s.providers {
			if requests := e.requests(); len(requests) != 0 {
				t.Errorf("%s was called: %v", region, requests)
			}
		}
	}
	refused()
	if got := s.ok(200, "GET", insight+"/profiles"+api, ""); got.text != `{"value":[]}` { // a global type
		t.Errorf("%s", got.text)
	}
	s.ok(200, "POST", register, "")
	s.ok(201, "PUT", w+preview, westus)
	s.want(409, "CannotUnregisterNamespaceWithResources", "POST", withdraw, "")
	s.want(412, "PreconditionFailed", "POST", withdraw, "", "If-Match", `"stale"`)
	if got := decode[provider](t, s.ok(200, "GET", insight+own, "")); got.RegistrationState != "Registered" {
		t.Errorf("a refusal left %s", got.RegistrationState)
	}
	s.ok(200, "DELETE", w+preview, "")
	s.ok(200, "POST", withdraw, "")
	for _, e := range s.providers {
		e.requests()
	}
	refused()
	s.ok(200, "POST", register, "")
	// As if a region had joined, so that there is something to register.
	wider := append(notify.Targets(s.config.Map.Provider("Contoso.Insight")), inventory.NotificationTarget{Namespace: "contoso.insight", Region: "mars", Required: true})
	for _, state := range []inventory.RegistrationState{inventory.Registering, inventory.Unregistering} {
		change := s.store.Register
		if state == inventory.Unregistering {
			s.ok(200, "DELETE", w+preview, "")
			change = s.store.Unregister
		}
		if got, err := change(t.Context(), inventory.RegistrationChange{Subscription: subscription, Namespace: "Contoso.Insight", Targets: wider}); err != nil || got.State != state {
			t.Fatal(got, err)
		}
		want := map[inventory.RegistrationState]int{inventory.Registering: 201, inventory.Unregistering: 409}[state]
		if got := s.do("PUT", w+preview, westus); got.status != want {
			t.Errorf("%v: %d %s", state, got.status, got.text)
		}
	}
}

func TestModesOfAuthentication(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	if s.config.Auth.Mode != config.AuthTokens {
		t.Fatal(s.config.Auth.Mode)
	}
	got := s.want(401, "AuthenticationFailed", "GET", inSubscription+own, "")
	if !strings.HasPrefix(got.header.Get("WWW-Authenticate"), `Bearer authorization_uri="https://login.example"`) {
		t.Errorf("%v", got.header)
	}
	s.want(401, "InvalidAuthenticationToken", "GET", inSubscription+own, "", "Authorization", bearer("guessed"))
	s.ok(200, "GET", inSubscription+own, "", "Authorization", bearer(second))
	// With tokens, a page cannot act for anybody: hosts and origins are free.
	s.ok(200, "GET", inSubscription+own, "", "Authorization", bearer(secret), "Host", "any.example", "Origin", "https://page.example")
}
