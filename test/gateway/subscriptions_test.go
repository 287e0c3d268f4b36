package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/access"
	"portico/inventory"
)

const (
	lastOf  = "00000000-0000-0000-0000-00000000000"
	warned  = lastOf + "2"
	foreign = lastOf + "9"
)

// ids lists the subscriptions, or tenants, that a caller sees on one page.
func (s *site) ids(target, member string, header ...string) string {
	s.t.Helper()
	list := decode[struct{ Value []map[string]any }](s.t, s.ok(200, "GET", target, "", header...))
	var ids []string
	for _, v := range list.Value {
		ids = append(ids, strings.TrimPrefix(fmt.Sprint(v[member]), lastOf))
	}
	return strings.Join(ids, " ")
}

func TestSubscription(t *testing.T) {
	s := newSite(t, setup{})
	got := s.ok(200, "GET", strings.ToUpper(inSubscription)+own, "")
	want := `{"id":"/subscriptions/` + subscription + `","subscriptionId":"` + subscription + `","tenantId":"` + tenant +
		`","displayName":"First","state":"Enabled","authorizationSource":"Bypassed","managedByTenants":[],` +
		`"subscriptionPolicies":{"locationPlacementId":"","quotaId":"","spendingLimit":"Off"}}`
	if got.text != want {
		t.Errorf("%s, want %s", got.text, want)
	}
	byRoles := newSite(t, setup{tokens: true}).ok(200, "GET", inSubscription+own, "", "Authorization", bearer(secret))
	if want := strings.Replace(want, "Bypassed", "RoleBased", 1); byRoles.text != want {
		t.Errorf("%s, want %s", byRoles.text, want)
	}
	s.want(404, "SubscriptionNotFound", "GET", "/subscriptions/"+foreign+own, "")
	if got := s.want(405, "MethodNotAllowed", "POST", inSubscription+own, ""); got.header.Get("Allow") != "GET" {
		t.Errorf("Allow: %s", got.header.Get("Allow"))
	}
	if got := s.want(405, "MethodNotAllowed", "POST", groupPath("g")+own, ""); got.header.Get("Allow") != "GET, HEAD, PUT, PATCH, DELETE" {
		t.Errorf("Allow: %s", got.header.Get("Allow"))
	}
	s.want(404, "HttpResourceNotFound", "GET", inSubscription+"/nothing"+own, "")
	s.want(400, "ResourceTypeNotSupported", "GET", inSubscription+"/providers/Microsoft.Resources/deploymentScripts/d"+own, "")
	s.want(400, "MissingApiVersionParameter", "GET", inSubscription, "")
}

func TestSubscriptionList(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	for i, state := range []inventory.SubscriptionState{inventory.Enabled, inventory.PastDue, inventory.Warned, inventory.Deleted, inventory.Disabled} {
		s.subscribe(fmt.Sprint(lastOf, i+1), tenant, state)
	}
	s.subscribe(foreign, otherTenant, inventory.Enabled)
	const list = "/subscriptions" + own
	if got := s.ids(list, "subscriptionId", "Authorization", bearer(secret)); got != "1 2 3 5" {
		t.Errorf("the tenant sees %s", got)
	}
	if got := s.ids(list, "state", "Authorization", bearer(secret)); got != "Enabled PastDue Warned Disabled" {
		t.Errorf("the states are %s", got)
	}
	if got := s.ids(list, "subscriptionId", "Authorization", bearer(stranger)); got != "9" {
		t.Errorf("the other tenant sees %s", got)
	}
	var all []string
	for target, pages := list+"&$top=2", 0; target != ""; pages++ {
		page := s.ok(200, "GET", target, "", "Authorization", bearer(secret))
		all = append(all, s.ids(target, "subscriptionId", "Authorization", bearer(secret)))
		target = ""
		if link := decode[named](t, page).NextLink; link != "" && pages < 9 {
			target = s.local(link)
		}
	}
	if got := strings.Join(all, " "); got != "1 2 3 5" {
		t.Errorf("page by page: %s", got)
	}
	s.want(400, "InvalidQueryParameter", "GET", list+"&$top=0", "", "Authorization", bearer(secret))
	// What is another tenant's is not there.
	for _, target := range []string{"", "/locations", "/resourceGroups", "/resources", "/providers", "/resourceGroups/g"} {
		s.want(404, "SubscriptionNotFound", "GET", "/subscriptions/"+foreign+target+own, "", "Authorization", bearer(secret))
	}
	s.want(404, "SubscriptionNotFound", "PUT", "/subscriptions/"+foreign+"/resourceGroups/g"+own, westus, "Authorization", bearer(secret))
	s.ok(201, "PUT", "/subscriptions/"+foreign+"/resourceGroups/g"+own, westus, "Authorization", bearer(stranger))
}

// tenantless authenticates everybody as a principal without a tenant.
type tenantless struct{ access.Anyone }

func (tenantless) Authenticate(*http.Request) (access.Principal, *access.Refusal) {
	return access.Principal{ObjectID: callers[secret].ObjectID}, nil
}

func (t tenantless) Explain(r *http.Request, _ bool) access.Explanation {
	p, _ := t.Authenticate(r)
	return access.Explanation{Principal: p}
}

func (tenantless) Valid(access.Principal) bool { return true }

// Every tenant is what a principal is marked for, and not what lacks a tenant.
func TestPrincipalWithoutTenant(t *testing.T) {
	s := newSite(t, setup{})
	s.ok(201, "PUT", groupPath("g")+own, westus)
	s.answerBy(s.gateway.Succeed(s.config, tenantless{}, nil, nil))
	for _, list := range []string{"/subscriptions", "/tenants"} {
		if got := s.ok(200, "GET", list+own, ""); got.text != `{"value":[]}` {
			t.Errorf("%s: %s", list, got.text)
		}
	}
	for _, target := range []string{inSubscription, groupPath("g"), inSubscription + "/resources"} {
		s.want(404, "SubscriptionNotFound", "GET", target+own, "")
	}
	s.want(404, "SubscriptionNotFound", "PUT", groupPath("h")+own, westus)
	if got := s.ok(200, "POST", "/batch"+own, `{"requests":[{"httpMethod":"GET","relativeUrl":"`+groupPath("g")+own+`"}]}`); !strings.Contains(got.text, "SubscriptionNotFound") {
		t.Error(got.text)
	}
}

func TestTenants(t *testing.T) {
	guarded := newSite(t, setup{tokens: true})
	guarded.subscribe(foreign, otherTenant, inventory.Enabled)
	if got := guarded.ok(200, "GET", "/tenants"+own, "", "Authorization", bearer(secret)); got.text !=
		`{"value":[{"id":"/tenants/`+tenant+`","tenantCategory":"Home","tenantId":"`+tenant+`"}]}` {
		t.Errorf("%s", got.text)
	}
	open := newSite(t, setup{})
	open.subscribe(foreign, otherTenant, inventory.Enabled)
	open.subscribe(warned, tenant, inventory.Enabled)
	if got := open.ids("/tenants"+own, "tenantId"); got != "00000000-0000-0000-0000-0000000000aa 00000000-0000-0000-0000-0000000000bb" {
		t.Errorf("without authentication: %s", got)
	}
	if got := open.ids("/subscriptions"+own, "subscriptionId"); got != "1 2 9" {
		t.Errorf("without authentication: %s", got)
	}
}

func TestLocations(t *testing.T) {
	s := newSite(t, setup{})
	got := s.ok(200, "GET", inSubscription+"/locations"+own, "")
	prefix := inSubscription + "/locations/"
	want := `{"value":[` +
		`{"id":"` + prefix + `westus","name":"westus","type":"Region","displayName":"West US","regionalDisplayName":"(US) West US","metadata":{` +
		`"regionType":"Physical","regionCategory":"Recommended","geography":"United States","geographyGroup":"US","latitude":"37.7","longitude":"-122.4",` +
		`"physicalLocation":"California","pairedRegion":[{"name":"eastus","id":"` + prefix + `eastus"}]}},` +
		`{"id":"` + prefix + `eastus","name":"eastus","type":"Region","displayName":"East US","regionalDisplayName":"East US","metadata":{` +
		`"regionType":"Physical","regionCategory":"Recommended","pairedRegion":[]}}]}`
	if got.text != want {
		t.Errorf("got  %s\nwant %s", got.text, want)
	}
}

func TestSubscriptionStates(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	for _, c := range []struct {
		state inventory.SubscriptionState
		write string // code of a refused write
		read  string
	}{
		{inventory.Enabled, "", ""},
		{inventory.PastDue, "", ""},
		{inventory.Warned, "ReadOnlyDisabledSubscription", ""},
		{inventory.Disabled, "ReadOnlyDisabledSubscription", ""},
		{inventory.Deleted, "SubscriptionNotFound", "SubscriptionNotFound"},
	} {
		t.Run(c.state.String(), func(t *testing.T) {
			s.subscribe(subscription, tenant, c.state)
			refused, hidden := 200, 200
			if c.write != "" {
				refused = 409
			}
			if c.read != "" {
				refused, hidden = 404, 404
			}
			s.want(refused, c.write, "PUT", g+own, westus)
			s.want(refused, c.write, "PATCH", g+own, `{}`)
			s.want(refused, c.write, "PUT", m+api, westus)
			s.want(refused, c.write, "PATCH", m+api, `{"tags":{}}`)
			s.want(refused, c.write, "POST", m+"/start"+api, "")
			s.want(refused, c.write, "POST", inSubscription+"/providers/Contoso.Insight/register"+own, "")
			for _, target := range []string{inSubscription + own, g + own, m + api, inSubscription + "/resources" + own} {
				s.want(hidden, c.read, "GET", target, "")
			}
			if c.state == inventory.Warned || c.state == inventory.Disabled {
				h := machinePath("g", "h"+c.state.String())
				s.ok(204, "DELETE", h+api, "")
			}
			s.want(hidden, c.read, "GET", inSubscription+"/locations"+own, "")
		})
	}
}

func TestDeletesInADisabledSubscription(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.subscribe(subscription, tenant, inventory.Disabled)
	s.ok(200, "DELETE", m+api, "")
	s.ok(200, "DELETE", g+own, "")
}

func TestMetadata(t *testing.T) {
	const none = `{"galleryEndpoint":"","graphEndpoint":"","portalEndpoint":"",` // az wants to be told
	for _, c := range []struct{ name, metadata, old, one string }{
		{
			"as it comes", "", none + `"authentication":{"audiences":["http://portico.example"]}}`,
			`{"name":"Portico","authentication":{"audiences":["http://portico.example"],"tenant":"common","identityProvider":"AAD"},"resourceManager":"http://portico.example","suffixes":{}}`,
		},
		{
			"configured", `name: Cloud, loginEndpoint: "https://login.example/", graphEndpoint: "https://graph.example/", audiences: ["api://one", "api://two"], tenant: organizations, suffixes: {storage: storage.example, keyVaultDns: vault.example}`,
			`{"galleryEndpoint":"","graphEndpoint":"https://graph.example/","portalEndpoint":"",` +
				`"authentication":{"loginEndpoint":"https://login.example","audiences":["api://one","api://two"],"tenant":"organizations"}}`,
			`{"name":"Cloud","authentication":{"loginEndpoint":"https://login.example","audiences":["api://one","api://two"],"tenant":"organizations","identityProvider":"AAD"},` +
				`"resourceManager":"http://portico.example","microsoftGraphResourceId":"https://graph.example/","suffixes":{"storage":"storage.example","keyVaultDns":"vault.example"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, setup{tokens: true, metadata: c.metadata}) // it needs no token
			for version, want := range map[string]string{
				"1.0": c.old, "2.0": c.old, "10.12": c.old, "2015-01-01": c.old, "2018-05-01": c.old, "2019-05-01": "[" + c.one + "]", "2020-06-01": "[" + c.one + "]",
				"2022-09-01": c.one, "2023-12-01": c.one,
			} {
				for _, path := range []string{"/METADATA/endpoints", "//metadata/endpoints/"} {
					if got := s.ok(200, "GET", path+"?api-version="+version, ""); got.text != want {
						t.Errorf("%s: got %s\nwant %s", version, got.text, want)
					}
				}
			}
			for _, version := range []string{"1", "1.", ".0", "1.0.0", "1.0-preview", "v1.0", "1,0", "latest", "2019-13-01", "2019-05-01-x", "12345678901234567890.0"} {
				s.want(400, "InvalidApiVersionParameter", "GET", "/metadata/endpoints?api-version="+version, "")
			}
			s.want(400, "MissingApiVersionParameter", "GET", "/metadata/endpoints", "")
		})
	}
}
