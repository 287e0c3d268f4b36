package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/access"
	"portico/arm"
	"portico/config"
	"portico/config/configtest"
	"portico/fanout"
	"portico/gateway"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/inventory/polls"
	"portico/inventory/storetest"
	"portico/jobs/webhook"
	"portico/probe"
	"portico/routing"
	"portico/tracing/spans"
	"portico/upstream"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	tenant       = "00000000-0000-0000-0000-0000000000aa"
	otherTenant  = "00000000-0000-0000-0000-0000000000bb"

	// own and api are queries for Portico's own routes and for providers.
	own = "?api-version=2022-12-01"
	api = "?api-version=2024-01-01"

	inSubscription = "/subscriptions/" + subscription
	hour           = time.Hour
	westus         = `{"location":"westus"}`
	eastus         = `{"location":"eastus"}`
)

// Bearer tokens of a site with tokens: three callers of one tenant, and one of
// another.
const (
	secret   = "a secret"
	second   = "a second secret"
	third    = "a third secret"
	stranger = "a stranger's secret"
)

var callers = map[string]access.Principal{
	secret:   {TenantID: tenant, ObjectID: "00000000-0000-0000-0000-00000000000a", Name: "ann@example"},
	second:   {TenantID: tenant, ObjectID: "00000000-0000-0000-0000-00000000000b", AppID: "00000000-0000-0000-0000-0000000000b1"},
	third:    {TenantID: tenant, ObjectID: "00000000-0000-0000-0000-00000000000d"},
	stranger: {TenantID: otherTenant, ObjectID: "00000000-0000-0000-0000-00000000000c"},
}

func bearer(token string) string { return "Bearer " + token }

// setup holds the options of a site.
type setup struct {
	tokens      bool          // auth.mode
	claimed     bool          // a token is taken for what it says of its caller
	roles       string        // members of auth for roles, if not that all callers are owners
	public      string        // server.publicURL, if not http://portico.example
	server      string        // further members of server, as YAML
	metadata    string        // members of metadata
	limits      string        // members of limits
	sections    string        // further sections of the configuration
	callTimeout time.Duration // of calls to providers
	path        string        // of the store's file: another site's
	beside      *site         // whose providers are shared
	uncovered   bool          // the subscription holds what Portico has not seen
	types       string        // the map's, if not declarations
	hurried     bool          // gives questions up soon, as some are not answered
	keys        *fanout.Keys  // of skip tokens
	health      upstream.Health
	sinks       []*webhook.Sink
	log         *zap.Logger // of the gateway, if not the site's
	access      *zap.Logger
	tracer      *spans.Tracer
	alone       bool // nothing runs beside its test, which counts what the process allocates, or by the second
}

// site is a gateway over a real store and real providers in two regions and
// one for what is global. The clocks of store and providers can be set forward.
type site struct {
	t         testing.TB
	config    *config.Config
	gateway   *gateway.Gateway
	registry  *prometheus.Registry
	upstream  *upstream.Client
	store     *inventory.Store
	path      string
	server    *httptest.Server
	admin     *httptest.Server
	log       *bytes.Buffer
	providers map[string]*endpoint
	clock     *clock
	covered   bool
	claimed   bool
	refills   refills
}

// clock is a clock that tests set forward.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time            { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration)   { c.ahead.Add(int64(d)) }
func (s *site) at(region string) *endpoint { return s.providers[region] }

const declarations = `
regions:
  - {name: westus, displayName: West US, pairedRegion: eastus, geography: United States, geographyGroup: US, physicalLocation: California, latitude: "37.7", longitude: "-122.4"}
  - {name: eastus, displayName: East US}
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints: {%[1]s}
    headers: {request: [X-Contoso-Async, X-Contoso-Duration, X-Contoso-Fault, X-Contoso-Operation-Path, X-Contoso-Outcome, X-Contoso-Page-Size, X-Contoso-Retry-After]}
    resourceTypes:
      - {name: virtualMachines, kind: tracked, apiVersions: ["2023-01-01", "2024-01-01", "2024-06-01-preview"], capabilities: {move: true, tags: true, etags: true}}
      - {name: virtualMachines/disks, kind: tracked, apiVersions: ["2024-01-01"], capabilities: {tags: false}}
      - {name: virtualMachines/runCommands, kind: proxyOnly, apiVersions: ["2024-01-01"]}
      - {name: networkInterfaces, kind: tracked, apiVersions: ["2024-01-01"], lateWriteWindow: 1s}
  - namespace: Contoso.Insight
    registration: required
    internalSubscriptions: [00000000-0000-0000-0000-0000000000ee]
    endpoints: {%[1]s}
    headers: {request: [X-Contoso-Async, X-Contoso-Duration, X-Contoso-Fault, X-Contoso-Operation-Path, X-Contoso-Outcome, X-Contoso-Page-Size, X-Contoso-Retry-After]}
    resourceTypes:
      - {name: workspaces, kind: tracked, apiVersions: ["2024-06-01-preview"], capabilities: {move: true}}
      - {name: profiles, kind: tracked, routing: global, apiVersions: ["2024-01-01"]}
      - {name: diagnosticSettings, kind: extension, apiVersions: ["2024-01-01"]}
      - {name: annotations, kind: extension, routing: global, apiVersions: ["2024-01-01"]}
`

func newSite(t testing.TB, as setup) *site {
	t.Helper()
	if !as.alone {
		besideOthers(t)
	}
	s := &site{t: t, log: &bytes.Buffer{}, clock: &clock{}, path: as.path, covered: !as.uncovered, claimed: as.claimed}
	if s.path == "" {
		s.path = filepath.Join(t.TempDir(), "portico.db")
	}
	if as.beside != nil {
		s.providers, s.clock = as.beside.providers, as.beside.clock
	} else {
		s.providers = startProviders(t)
	}
	s.config = s.configure(as)
	s.openStore()
	timeout := as.callTimeout
	if timeout == 0 {
		timeout = time.Minute
	}
	s.registry = prometheus.NewRegistry()
	s.upstream = upstream.New(upstream.Options{CallTimeout: timeout, MaxAnswer: s.config.Limits.AnswerBody, Metrics: s.registry, Health: as.health})
	log := as.log
	if log == nil {
		encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
		log = zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(s.log)), zapcore.DebugLevel))
	}
	s.server, s.admin = httptest.NewServer(nil), httptest.NewServer(nil)
	s.answerBy(gateway.New(gateway.Options{
		Config: s.config, Store: s.store, Upstream: s.upstream, Authenticator: s.authenticator(), Metrics: s.registry, Keys: as.keys, Sinks: as.sinks,
		Log: log, Access: as.access, Tracer: as.tracer,
	}))
	t.Cleanup(func() {
		s.server.Close()
		s.admin.Close()
		s.upstream.Close()
		if err := s.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// answerBy makes a gateway answer on both listeners from now on.
func (s *site) answerBy(g *gateway.Gateway) {
	s.gateway = g
	public := g.Public()
	if explains {
		public = s.explainFirst(public)
	}
	s.server.Config.Handler, s.admin.Config.Handler = public, g.Admin()
}

// prober asks providers as the site's gateway does.
func (s *site) prober() probe.Prober {
	return probe.Prober{Map: s.config.Map, Upstream: s.upstream, Store: s.store, Public: s.config.Server.PublicURL, Timeout: s.config.Index.AskTimeout}
}

// besideOthers has a test run beside others from its first site on: it waits more than it
// works.
func besideOthers(t testing.TB) {
	test, is := t.(*testing.T)
	if !is {
		return
	}
	if _, already := parallel.LoadOrStore(test, true); !already {
		test.Cleanup(func() { parallel.Delete(test) })
		test.Parallel()
	}
}

// parallel are the tests that run beside others.
var parallel sync.Map

func (s *site) configure(as setup) *config.Config {
	s.t.Helper()
	var endpoints []string
	for region, e := range s.providers {
		endpoints = append(endpoints, fmt.Sprintf("%s: [%q]", region, e.server.URL))
	}
	auth := "{mode: none}"
	if as.tokens {
		var tokens, owners []string
		for token, p := range callers {
			owners = append(owners, fmt.Sprintf("{principalId: %s}", p.ObjectID))
			tokens = append(tokens, fmt.Sprintf("{sha256: %s, tenantId: %s, objectId: %s}", sha(token), p.TenantID, p.ObjectID))
		}
		roles := "owners: [" + strings.Join(owners, ", ") + "]"
		if as.roles != "" {
			roles = as.roles
		}
		auth = "{mode: tokens, tokens: [" + strings.Join(tokens, ", ") + "], " + roles + "}"
	}
	asking := "1m" // as long as a busy machine may take for an answer
	if as.hurried {
		asking = "500ms"
	}
	sections := as.sections
	if !strings.Contains(sections, "throttle:") {
		sections += "\nthrottle: {enabled: false}" // what a test asks is no flood
	}
	if !strings.Contains(sections, "operations:") {
		sections += "\noperations: {firstAnswer: 0s}" // tests that poll find something to poll
	}
	public := as.public
	if public == "" {
		public = "http://portico.example"
	}
	text := fmt.Sprintf(`
server: {publicURL: %q, region: westus, listen: "127.0.0.1:8080"%s}
metadata: {%s}
auth: %s
limits: {%s}
index: {askTimeout: %s, pollFloor: 5ms, lateWriteWindow: 1s}
%s
subscriptions: [{id: %s, tenantId: %s, displayName: First, covered: true}]
`, public, as.server, as.metadata, auth, as.limits, asking, sections, subscription, tenant)
	types := as.types
	if types == "" {
		types = fmt.Sprintf(declarations, strings.Join(endpoints, ", "))
	}
	return configtest.Load(s.t, text+types)
}

func (s *site) openStore() {
	s.t.Helper()
	storetest.CreateDatabase(s.t, s.path)
	store, err := inventory.Open(context.Background(), inventory.Options{
		DSN: s.path, Now: s.clock.now, SendWithin: 5 * time.Second, CallLimit: time.Minute, LateWriteWindow: time.Second, TombstoneAge: time.Hour, PollFloor: 5 * time.Millisecond, JobRecords: time.Hour,
		CacheTTL: time.Minute, CacheEntries: 100, ScopeEntries: 100, EventAge: s.config.Events.Retention,
		Limits: inventory.Limits{
			ResourcesPerTypeAndGroup: s.config.Limits.ResourcesPerTypeAndGroup, GroupsPerSubscription: s.config.Limits.GroupsPerSubscription,
		},
	})
	must(s.t, err)
	must(s.t, store.SeedSubscriptions(context.Background(), []inventory.Subscription{{ID: subscription, TenantID: tenant, DisplayName: "First", Covered: s.covered}}))
	s.store = store
}

func (s *site) authenticator() access.Authenticator {
	if s.claimed {
		return claimed{}
	}
	if s.config.Auth.Mode == config.AuthNone {
		return access.Anyone{}
	}
	hashed := map[string]access.Principal{}
	for token, principal := range callers {
		hashed[sha(token)] = principal
	}
	tokens, err := access.NewTokens(hashed)
	must(s.t, err)
	return access.NewMethods("https://login.example", access.NewMetrics(prometheus.NewRegistry()), tokens)
}

func sha(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// seen is a complete answer.
type seen struct {
	status int
	header http.Header
	code   string // of an error
	text   string
}

// do sends a request under the public host.
func (s *site) do(method, target, body string, header ...string) seen {
	s.t.Helper()
	return exchangeWith(s.t, s.server, method, target, body, append([]string{"Host", "portico.example"}, header...)...)
}

// read reads a complete answer.
func read(t testing.TB, answer *http.Response) seen {
	t.Helper()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	var fault struct{ Error struct{ Code string } }
	_ = json.Unmarshal(text, &fault)
	return seen{answer.StatusCode, answer.Header, fault.Error.Code, string(text)}
}

// want sends a request whose answer must have a status and, of an error, code.
func (s *site) want(status int, code, method, target, body string, header ...string) seen {
	s.t.Helper()
	got := s.do(method, target, body, header...)
	if got.status != status || got.code != code {
		s.t.Errorf("%s %s %s %q: %d %q, want %d %q: %s", method, target, body, header, got.status, got.code, status, code, got.text)
	}
	if got.code != "" && (got.header.Get("Content-Type") != "application/json; charset=utf-8" || got.header.Get("Cache-Control") != "no-cache" ||
		got.header.Get("X-Ms-Failure-Cause") == "" || got.header.Get("X-Ms-Correlation-Request-Id") == "") {
		s.t.Errorf("%s %s: an error with %v", method, target, got.header)
	}
	return got
}

// says holds an error to its words; what they quote of the moment stands in them
// as a regular expression in angle brackets.
func (a seen) says(t testing.TB, words string) {
	t.Helper()
	var pattern strings.Builder
	for i, part := range strings.FieldsFunc(words, func(r rune) bool { return r == '⟨' || r == '⟩' }) {
		if i%2 == 0 {
			part = regexp.QuoteMeta(part)
		}
		pattern.WriteString(part)
	}
	fault := decode[struct{ Error struct{ Message string } }](t, a)
	if got := fault.Error.Message; !regexp.MustCompile("^" + pattern.String() + "$").MatchString(got) {
		t.Errorf("got  %s\nwant %s", got, words)
	}
}

// aGUID and aMoment stand for such in the words of an error.
const (
	aGUID   = `⟨[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}⟩`
	aMoment = `⟨\d{8}T\d{6}Z⟩`
)

// ok is want for answers without an error.
func (s *site) ok(status int, method, target, body string, header ...string) seen {
	s.t.Helper()
	return s.want(status, "", method, target, body, header...)
}

// decode reads an answer's JSON.
func decode[T any](t testing.TB, a seen) (body T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.text), &body); err != nil {
		t.Fatalf("%v: %s", err, a.text)
	}
	return body
}

// named is a list of what has a name.
type named struct {
	Value    []struct{ ID, Name, ETag, Location, ProvisioningState string }
	NextLink string
}

// names lists the names on one page.
func (s *site) names(target string) string {
	s.t.Helper()
	var names []string
	for _, v := range decode[named](s.t, s.ok(200, "GET", target, "")).Value {
		names = append(names, v.Name)
	}
	return strings.Join(names, " ")
}

// walk follows nextLinks from target on and returns the names page by page.
func (s *site) walk(target string) (pages []string) {
	s.t.Helper()
	for range 50 {
		page := decode[named](s.t, s.ok(200, "GET", target, ""))
		var names []string
		for _, v := range page.Value {
			names = append(names, v.Name)
		}
		pages = append(pages, strings.Join(names, " "))
		if page.NextLink == "" {
			return pages
		}
		target = s.local(page.NextLink)
	}
	s.t.Fatal("the list does not end")
	return nil
}

// local is the path and query of a URL that must be on the public host.
func (s *site) local(link string) string {
	s.t.Helper()
	rest, found := strings.CutPrefix(link, "http://portico.example/")
	if !found {
		s.t.Fatalf("%q is not on the public host", link)
	}
	return "/" + rest
}

// resultOf and statusOf are where an operation of Portico's own is polled, given
// the answer that it began with: clients learn of its result alone.
func (s *site) resultOf(accepted seen) string { return s.local(accepted.header.Get("Location")) }

func (s *site) statusOf(accepted seen) string {
	return strings.Replace(s.resultOf(accepted), "/"+polling.Results+"/", "/"+polling.Statuses+"/", 1)
}

// within waits, within a bound, until cond holds.
func (s *site) within(what string, cond func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within the bound", what)
		}
	}
}

// inTime is within for what may wait for time to pass: what was begun just before
// a test set the clock, and goes on after that, counts from the new time. Where
// nothing is left but to wait, the clock goes on.
func (s *site) inTime(what string, cond func() bool) {
	s.t.Helper()
	started := time.Now()
	s.within(what, func() bool {
		if time.Since(started) > 5*standstill {
			started = time.Now()
			s.clock.advance(2 * time.Minute)
		}
		return cond()
	})
}

// must ends the test where a step fails that it only needs.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// group makes a resource group.
func (s *site) group(name string) string {
	s.t.Helper()
	s.ok(201, "PUT", groupPath(name)+own, westus)
	return groupPath(name)
}

// machine makes a virtual machine.
func (s *site) machine(group, name, location string) string {
	s.t.Helper()
	path := machinePath(group, name)
	s.ok(201, "PUT", path+api, `{"location":"`+location+`"}`)
	return path
}

func groupPath(name string) string { return inSubscription + "/resourceGroups/" + name }

func machinePath(group, name string) string {
	return groupPath(group) + "/providers/Contoso.Compute/virtualMachines/" + name
}

// row returns the index row of a resource.
func (s *site) row(id string) (inventory.Resource, bool) {
	s.t.Helper()
	row, err := s.store.Resource(context.Background(), subscription, id)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		s.t.Fatal(err)
	}
	return row, err == nil
}

// openWrites counts the writes into a group that may still be applied.
func (s *site) openWrites(group string) (n int) {
	s.t.Helper()
	page, err := s.store.Unverified(context.Background(), inventory.UnverifiedQuery{Subscription: subscription, Limit: 100})
	if err != nil || page.Next != "" {
		s.t.Fatalf("%v, next %q", err, page.Next)
	}
	for _, u := range page.Value {
		if strings.HasPrefix(u.Key, arm.Fold(groupPath(group))+"/") {
			n += len(u.Writes)
		}
	}
	return n
}

// expireOpenWrites sets the clock past the end of all open writes.
func (s *site) expireOpenWrites() {
	s.t.Helper()
	s.clock.advance(2 * time.Minute)
	if _, err := s.store.Expire(context.Background(), 100); err != nil {
		s.t.Fatal(err)
	}
}

// subscribe makes a subscription, or changes its state.
func (s *site) subscribe(id, tenant string, state inventory.SubscriptionState) {
	s.t.Helper()
	if _, _, err := s.store.PutSubscription(context.Background(), inventory.Subscription{ID: id, TenantID: tenant, DisplayName: "D", State: state, Covered: true}); err != nil {
		s.t.Fatal(err)
	}
}

// recordedOperation returns the stored operation of a polling URL.
func (s *site) recordedOperation(target string) (polls.Operation, error) {
	path, raw, _ := strings.Cut(target, "?")
	return s.store.Operations.Operation(context.Background(), subscription, routing.PollToken(path, routing.Query{Raw: raw}))
}
