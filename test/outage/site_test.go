package outage

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"portico/test/harness"
)

// settings shorten what would otherwise be waited for after the outage, and leave calls the
// time that a busy machine may take for them. How long memory answers is that of a run.
const settings = `
index: {cacheTTL: %s, sendWithin: 8s, lateWriteWindow: 1s, callMargin: 1s, pollFloor: 100ms, askTimeout: 5s}
upstream: {callTimeout: 8s}
jobs: {lease: 3s}
operations: {retryAfterMin: 1s, retryAfterMax: 1s, firstAnswer: 0s}
throttle: {enabled: false}
limits: {resourcesPerTypeAndGroup: 100000}
`

// A subscription for each thing that may change what is remembered of the others in it.
const (
	estate      = harness.SubscriptionID                 // resources are read and written there
	assignments = "00000000-0000-0000-0000-000000000002" // roles are assigned and taken away there
	revocations = "00000000-0000-0000-0000-000000000003" // roles are taken away there for good
)

// The ids of built-in roles.
const (
	contributor = "b24988ac-6180-42a0-ab88-20f7382dd24c"
	reader      = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	assigner    = "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9" // User Access Administrator
)

// principal is a caller, by its object id.
type principal string

const (
	owner    principal = harness.IssuedTo                       // by the configuration
	rita     principal = "00000000-0000-0000-0000-0000000000e1" // reads in the estate
	walt     principal = "00000000-0000-0000-0000-0000000000e2" // writes there
	anna     principal = "00000000-0000-0000-0000-0000000000e3" // assigns roles
	noah     principal = "00000000-0000-0000-0000-0000000000e4" // has no role
	early    principal = "00000000-0000-0000-0000-0000000000e5" // lost its role long before the outage
	lastTime principal = "00000000-0000-0000-0000-0000000000e6" // loses it as the last thing before
)

// site is two gateways over one PostgreSQL, with their providers and their callers' tokens.
type site struct {
	providers []*harness.Contoso
	gateways  []*harness.Portico
	tokens    map[principal]string
	ttl       time.Duration // for how long memory answers
}

// readOnly is how many resources callers read in turn.
const readOnly = 20

// newSite starts a site over an empty database.
func newSite(t *testing.T, dsn string, ttl time.Duration) *site {
	t.Helper()
	issuer := harness.NewIssuer(t)
	s := &site{tokens: map[principal]string{}, ttl: ttl}
	config := harness.Config{
		Auth: issuer.Auth("", ""), Postgres: dsn, Endpoints: map[string]string{}, Extra: fmt.Sprintf(settings, ttl),
	}
	for _, id := range []string{estate, assignments, revocations} {
		config.Subscriptions = append(config.Subscriptions, harness.Subscription{ID: id, TenantID: harness.TenantID, DisplayName: "Of this test", State: "Enabled"})
	}
	for _, region := range append(harness.RegionNames(), "global") {
		c := harness.StartContoso(t, region, harness.ContosoOptions{})
		s.providers = append(s.providers, c)
		config.Endpoints[region] = c.URL
	}
	s.gateways = harness.StartReplicas(t, 2, config)
	for _, p := range []principal{owner, rita, walt, anna, noah, early, lastTime} {
		s.tokens[p] = issuer.Token(t, "oid", string(p), "sub", string(p))
	}
	s.furnish(t)
	return s
}

// furnish makes the groups, the resources that are read, and the roles.
func (s *site) furnish(t *testing.T) {
	t.Helper()
	for _, id := range []string{group(estate), createGroup, group(assignments), group(revocations)} {
		s.as(owner, 0, t, http.MethodPut, id+groupVersion, `{"location":"westus"}`).Want(t, 200, 201)
	}
	s.assign(t, rita, group(estate), reader)
	s.assign(t, walt, group(estate), contributor)
	s.assign(t, walt, createGroup, contributor)
	s.assign(t, anna, group(assignments), assigner)
	for i := range readOnly {
		s.as(walt, i%2, t, http.MethodPut, read(i)+version, body(i)).Want(t, 201)
	}
	for g := range s.gateways {
		s.as(walt, g, t, http.MethodPut, updated(g)+version, body(0)).Want(t, 201)
	}
	s.as(owner, 0, t, http.MethodPut, secret+version, body(0)).Want(t, 201)
}

const (
	groupVersion = "?api-version=2021-04-01"
	roleVersion  = "?api-version=2022-04-01"
	version      = "?api-version=" + harness.Version
	// createGroup holds what is made and deleted during a run, so that lists of the other
	// group stay as long as they are.
	createGroup = "/subscriptions/" + estate + "/resourceGroups/made"
)

func group(subscription string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/rg"
}

func machine(group, name string) string {
	return group + "/providers/Contoso.Compute/virtualMachines/" + name
}

func read(i int) string { return machine(group(estate), fmt.Sprintf("read-%d", i%readOnly)) }

// updated is what is written again and again through a gateway.
func updated(gateway int) string {
	return machine(group(estate), fmt.Sprintf("updated-%d", gateway))
}

// secret is what those read whose roles are taken away.
var secret = machine(group(revocations), "secret")

func body(n int) string {
	return fmt.Sprintf(`{"location":%q,"tags":{"n":"%d"}}`, harness.RegionNames()[n%len(harness.RegionNames())], n)
}

func assignment(scope, name string) string {
	return scope + "/providers/Microsoft.Authorization/roleAssignments/" + name
}

func roleBody(to principal, role string) string {
	return fmt.Sprintf(`{"properties":{"principalId":%q,"principalType":"User","roleDefinitionId":"/subscriptions/%s/providers/Microsoft.Authorization/roleDefinitions/%s"}}`,
		to, estate, role)
}

// as makes a call that has to be answered.
func (s *site) as(by principal, gateway int, t *testing.T, method, path, content string) harness.Answer {
	t.Helper()
	return s.gateways[gateway].Do(t, harness.Request{Method: method, Path: path, Body: content, Header: s.signedIn(by)})
}

func (s *site) signedIn(by principal) http.Header {
	return harness.Header("Authorization", "Bearer "+s.tokens[by])
}

// assign assigns a role, and returns the path of the assignment.
func (s *site) assign(t *testing.T, to principal, scope, role string) string {
	t.Helper()
	path := assignment(scope, assignmentName(to, scope)) + roleVersion
	s.as(owner, 0, t, http.MethodPut, path, roleBody(to, role)).Want(t, 201)
	return path
}

// assignmentName is the name of the assignment that a caller has from the beginning at a
// scope.
func assignmentName(of principal, scope string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(string(of)+scope)).String()
}

// slowDeletes has the providers take two seconds for each DELETE below a group of that name.
func (s *site) slowDeletes(t *testing.T, name string) {
	t.Helper()
	for _, c := range s.providers {
		c.Do(t, harness.Request{
			Method: http.MethodPost, Path: "/contoso/faults",
			Body: fmt.Sprintf(`{"method":"DELETE","pathContains":"/%s/","fault":"delay=2s","count":-1}`, name),
		}).Want(t, 201)
	}
}
