package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"portico/inventory/deploymentrow"
	"portico/inventory/polls"
	"portico/jobs"
	"portico/jobs/deploy"
	"portico/jobs/deploy/deployplan"
	"portico/jobs/jobstest"
	"portico/limits"
	"portico/template/expr"
)

// reply is what the script answers to a call.
type reply struct {
	status int // 0: no answer comes; below: the sender panics
	body   string
	header string // as "Name: value"
	lasts  time.Duration
	first  func() // is called before
}

// script answers the calls of a deployment, and records them.
type script struct {
	mu      sync.Mutex
	replies map[string][]reply // by "METHOD name"; the last one stays
	calls   []call
}

type call struct {
	name string // as in replies
	body string
	at   time.Time
	ends time.Time // by its context
}

func (s *script) sender(json.RawMessage) (deploy.Sender, error) { return s.send, nil }

func (s *script) send(ctx context.Context, c deploy.Call) (deploy.Response, error) {
	if c.Parent != nil {
		return deploy.Response{Status: http.StatusCreated}, nil
	}
	path, _, _ := strings.Cut(c.Target, "?")
	name := c.Method + " " + path[strings.LastIndexByte(path, '/')+1:]
	ends, _ := ctx.Deadline()
	r := s.next(call{name, string(c.Content), time.Now(), ends})
	time.Sleep(r.lasts)
	if r.first != nil {
		r.first()
	}
	header := http.Header{}
	switch {
	case r.status < 0:
		panic("a fault of the sender")
	case r.status == 0:
		return deploy.Response{}, errors.New("the connection is lost")
	default:
		if name, value, has := strings.Cut(r.header, ": "); has {
			header.Set(name, value)
		}
		return deploy.Response{Status: r.status, Header: header, Body: []byte(r.body)}, nil
	}
}

// next records a call, and returns what it is answered.
func (s *script) next(c call) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	left := s.replies[c.name]
	if len(left) == 0 {
		return reply{status: 404, body: `{"error": {"code": "ResourceNotFound", "message": "no such resource"}}`}
	}
	if len(left) > 1 {
		s.replies[c.name] = left[1:]
	}
	return left[0]
}

// of are the calls of a name so far.
func (s *script) of(name string) (of []call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.name == name {
			of = append(of, c)
		}
	}
	return of
}

// names are the calls in their order.
func (s *script) names() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		all = append(all, c.name)
	}
	return all
}

// run is a deployment that has ended.
type run struct {
	*script
	state      deploymentrow.State
	record     deploy.Record
	operations map[string]deploy.Operation // by the names of their resources
	runner     *jobstest.Runner
}

// machine is a resource of a template; more are further members of it.
func machine(name string, more ...string) string {
	return fmt.Sprintf(`{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": %q, "location": "westus", %s}`,
		name, strings.Join(append(more, `"properties": {}`), ", "))
}

func after(name string) string {
	return fmt.Sprintf(`"dependsOn": ["[resourceId('Contoso.Compute/virtualMachines', '%s')]"]`, name)
}

// deployed runs a deployment of resources to its end, in an empty group.
func deployed(t *testing.T, d deploy.Deployer, replies map[string][]reply, resources ...string) run {
	t.Helper()
	return deployedOn(t, jobstest.NewProvider(t), d, replies, resources...)
}

func deployedOn(t *testing.T, b *jobstest.Provider, d deploy.Deployer, replies map[string][]reply, resources ...string) run {
	t.Helper()
	return deployedAs(t, b, d, func(d *deploy.Deployer) jobs.Kind { return d }, replies, resources...)
}

// deployedBy runs a deployment by a kind of job that is made of its deployer.
func deployedBy(t *testing.T, kind func(*deploy.Deployer) jobs.Kind, replies map[string][]reply, resources ...string) run {
	t.Helper()
	return deployedAs(t, jobstest.NewProvider(t), deploy.Deployer{}, kind, replies, resources...)
}

func deployedAs(t *testing.T, b *jobstest.Provider, d deploy.Deployer, kind func(*deploy.Deployer) jobs.Kind, replies map[string][]reply, resources ...string) run {
	t.Helper()
	ran := run{script: &script{replies: replies}, operations: map[string]deploy.Operation{}}
	d.Store, d.Sender, d.Kept = b.Store, ran.sender, time.Hour
	if d.Memory == nil {
		d.MemoryLimit = 64 << 20
		d.Memory = limits.NewMemory(d.MemoryLimit, d.MemoryLimit, nil)
	}
	if d.Unregistered == nil {
		d.Unregistered = func(context.Context, string, string) (bool, error) { return false, nil }
	}
	d.Limits.PerDeployment, d.Limits.PerEndpoint, d.Limits.Pause = 16, 8, max(d.Limits.Pause, jobstest.Floor)
	for _, limit := range []*time.Duration{&d.Limit, &d.CallLimit, &d.Limits.Budget, &d.Patience} {
		if *limit == 0 {
			*limit = time.Hour
		}
	}
	order := deploy.Order{
		Caller: json.RawMessage(`{}`), CallerName: "alice", Name: "d", Location: "westus", Now: time.Now(),
		Scope: expr.Scope{Tenant: uuid.NewString(), Subscription: jobstest.Subscription, Group: "g"},
		Content: []byte(`{"properties": {"mode": "Incremental", "template": {
			"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
			"resources": [` + strings.Join(resources, ",") + `]}}}`),
	}
	content, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	name := deploymentrow.Name{Subscription: jobstest.Subscription, Group: "g", Name: "d"}
	if _, _, err := b.Store.Deployments.Begin(t.Context(), deploymentrow.Started{
		Name: name, ID: order.ID(), Record: []byte(`{}`), Content: content, Payload: order.Payload(0, len(resources)), History: 800, Running: 1, RunningOfCaller: 1, ContentOfCaller: 1,
		Operation: polls.Operation{Token: "t", Until: time.Now().Add(time.Hour)},
	}); err != nil {
		t.Fatal(err)
	}
	ran.runner = b.Run(b.Store, map[string]jobs.Kind{deploymentrow.Job: kind(&d)})
	var ended deploymentrow.Deployment
	b.Within("its end", func() bool {
		ended, err = b.Store.Deployments.Deployment(t.Context(), name)
		return err != nil || ended.State != deploymentrow.Running
	})
	if err != nil {
		t.Fatal(err)
	}
	ran.state = ended.State
	if err := json.Unmarshal(ended.Record, &ran.record); err != nil {
		t.Fatal(err)
	}
	text, err := b.Store.Deployments.Operations(t.Context(), name, ended.Job)
	if err != nil {
		t.Fatal(err)
	}
	var all []deploy.Operation
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		ran.operations[o.Properties.TargetResource.ResourceName] = o
	}
	return ran
}

// want holds a run to the end of the deployment, and to what its error says.
func (r *run) want(t *testing.T, state deploymentrow.State, says ...string) {
	t.Helper()
	fault, err := json.Marshal(r.record.Properties.Error)
	if err != nil {
		t.Fatal(err)
	}
	if r.state != state {
		t.Errorf("%v %s after %q", r.state, fault, r.names())
	}
	for _, s := range says {
		if !strings.Contains(string(fault), s) {
			t.Errorf("%s does not say %q", fault, s)
		}
	}
}

var (
	created  = reply{status: 201, body: `{"properties": {"provisioningState": "Succeeded"}}`}
	making   = reply{status: 201, body: `{"properties": {"provisioningState": "Creating"}}`}
	noAnswer = reply{}
)

// What the caller's own throttle refuses waits, however often: it shows nowhere.
func TestThrottledStepsWait(t *testing.T) {
	t.Parallel()
	throttled := reply{status: 429, body: `{"error": {"code": "TooManyRequests", "message": "later"}}`, header: "X-Ms-Failure-Cause: gateway"}
	r := deployed(t, deploy.Deployer{Limits: deployplan.Limits{Budget: 1}}, map[string][]reply{"PUT a": {throttled, throttled, throttled, throttled, created}}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if n := len(r.of("PUT a")); n != 5 || r.operations["a"].Properties.StatusMessage != nil {
		t.Errorf("%d, %+v", n, r.operations)
	}
}

// A provider's transient failures are tried again within the budget, and then are the step's.
func TestTransientFailures(t *testing.T) {
	t.Parallel()
	away := reply{status: 503, body: `{"error": {"code": "NotNow", "message": "the region is down"}}`}
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {away, {status: 429, body: `{}`}, {status: 408}, created}}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if n := len(r.of("PUT a")); n != 4 || r.operations["a"].Properties.StatusMessage != nil {
		t.Errorf("%d, %+v", n, r.operations)
	}
	r = deployed(t, deploy.Deployer{Limits: deployplan.Limits{Budget: 4 * jobstest.Floor}}, map[string][]reply{"PUT a": {away}}, machine("a"))
	r.want(t, deploymentrow.Failed, "NotNow", "the region is down", "/virtualMachines/a")
	if len(r.of("PUT a")) < 2 {
		t.Errorf("%q", r.names())
	}
}

// A PUT of which no answer came is asked for first, and is not sent again once it has landed.
func TestLostAnswerIsAskedFor(t *testing.T) {
	t.Parallel()
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {noAnswer}, "GET a": {noAnswer, {status: 404}, making, {status: 200, body: created.body}}}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if got := r.names(); !slices.Equal(got, []string{"PUT a", "GET a", "GET a", "GET a", "GET a"}) {
		t.Errorf("%q", got)
	}
}

// It is sent again where it has not landed, and not before it cannot land any more.
func TestLostPutIsSentAgainOnceItCannotLand(t *testing.T) {
	t.Parallel()
	r := deployed(t, deploy.Deployer{CallLimit: 300 * time.Millisecond}, map[string][]reply{"PUT a": {noAnswer, created}}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if puts := r.of("PUT a"); len(puts) != 2 || puts[1].at.Before(puts[0].ends) {
		t.Errorf("%v", puts)
	}
}

// What was there before the PUT is no proof that it has landed, unless it is as was sent.
func TestFormerResourceIsNoProof(t *testing.T) {
	t.Parallel()
	former := reply{status: 200, body: `{"tags": {"v": "1"}, "properties": {"provisioningState": "Succeeded"}}`}
	now := reply{status: 200, body: `{"location": "westus", "tags": {"v": "2"}, "properties": {"provisioningState": "Succeeded"}}`}
	d := deploy.Deployer{CallLimit: 300 * time.Millisecond}
	for _, c := range []struct {
		after []reply
		puts  int
	}{{[]reply{former}, 2}, {[]reply{former, now}, 1}} {
		b := jobstest.NewProvider(t)
		b.Live()
		r := deployedOn(t, b, d, map[string][]reply{"PUT m": {noAnswer, created}, "GET m": c.after}, machine("m", `"tags": {"v": "2"}`))
		r.want(t, deploymentrow.Succeeded)
		if n := len(r.of("PUT m")); n != c.puts {
			t.Errorf("%d PUTs, not %d: %q", n, c.puts, r.names())
		}
	}
}

// A provider is polled where it says, no sooner than it says, and its own error stands in
// the deployment's.
func TestPollsOfAStep(t *testing.T) {
	t.Parallel()
	const at = "Azure-AsyncOperation: https://portico.example/subscriptions/" + jobstest.Subscription + "/providers/Contoso.Compute/operations/o?t=1"
	polls := []reply{{status: 200, body: `{"status": "Running"}`, header: "Retry-After: 1"}, {status: 200, body: `{"status": "Failed", "error": {"code": "NoCapacity", "message": "no room"}}`}}
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{status: 201, body: making.body, header: at}}, "GET o": polls}, machine("a"))
	r.want(t, deploymentrow.Failed, `"NoCapacity"`, "no room", "/virtualMachines/a")
	if o := r.of("GET o"); len(o) != 2 || o[1].at.Sub(o[0].at) < time.Second || len(r.of("GET a")) > 0 {
		t.Errorf("%v", o)
	}
	polls = []reply{{status: 200, body: `{"status": "Cancelled"}`}}
	r = deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{status: 201, body: making.body, header: at}}, "GET o": polls}, machine("a"))
	r.want(t, deploymentrow.Failed, `"ResourceDeploymentFailure"`, "'Cancelled'")
	r = deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {making}, "GET a": {{status: 200, body: `{"properties": {"provisioningState": "Cancelled"}}`}}}, machine("a"))
	r.want(t, deploymentrow.Failed, `"ResourceDeploymentFailure"`, "'Cancelled'")
	polls = []reply{{status: 202}, {status: 200, body: `{"status": "Succeeded"}`}}
	r = deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{status: 201, body: making.body, header: at}}, "GET o": polls, "GET a": {making, created}}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if got := r.names(); !slices.Equal(got, []string{"PUT a", "GET o", "GET o", "GET a", "GET a"}) {
		t.Errorf("%q", got)
	}
}

// What says nothing of an operation, or of a resource, ends no step: both are asked again.
func TestAnswersThatSayNothing(t *testing.T) {
	t.Parallel()
	const link = "https://portico.example/subscriptions/" + jobstest.Subscription + "/providers/Contoso.Compute/operations/o?t=1"
	page := reply{status: 200, body: "<html>A page of a proxy</html>"}
	unclear := []reply{page, {status: 200}, {status: 200, body: `{}`}, {status: 201, body: `{}`}, {status: 200, body: `{"status":"Succeeded"`}, {status: 204}}
	ended := reply{status: 200, body: `{"status": "Succeeded"}`}
	r := deployed(t, deploy.Deployer{}, map[string][]reply{
		"PUT a": {{status: 200, body: making.body, header: "Azure-AsyncOperation: " + link}}, "GET o": append(slices.Clone(unclear), ended), "GET a": {created},
	}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if polls := len(r.of("GET o")); polls != len(unclear)+1 || len(r.of("GET a")) != 1 {
		t.Errorf("%q", r.names())
	}
	r = deployed(t, deploy.Deployer{}, map[string][]reply{
		"PUT a": {{status: 202, header: "Location: " + link}}, "GET o": {page, {status: 200, body: `{"properties": {"prov`}, {status: 204}}, "GET a": {created},
	}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if len(r.of("GET o")) != 3 || len(r.of("GET a")) != 1 {
		t.Errorf("%q", r.names())
	}
	r = deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {page}, "GET a": {page, {status: 200}, making, created}}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if got := r.names(); !slices.Equal(got, []string{"PUT a", "GET a", "GET a", "GET a", "GET a"}) {
		t.Errorf("%q", got)
	}
	// Nor does it show that a PUT without an answer has landed.
	r = deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{}}, "GET a": {page, {status: 200, body: "null"}, created}}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if got := r.names(); !slices.Equal(got, []string{"PUT a", "GET a", "GET a", "GET a"}) {
		t.Errorf("%q", got)
	}
}

// A failed step ends what depends on it, which is not sent, and nothing else.
func TestFailedStepEndsItsDependants(t *testing.T) {
	t.Parallel()
	refused := reply{status: 400, body: `{"error": {"code": "BadSize", "message": "there is no such size"}}`}
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {refused}, "PUT other": {created}}, machine("a"), machine("b", after("a")), machine("c", after("b")), machine("other"))
	r.want(t, deploymentrow.Failed, `"BadSize"`, "there is no such size")
	if len(r.of("PUT b"))+len(r.of("PUT c")) > 0 || len(r.operations) != 2 || len(r.record.Properties.Error.Details) != 1 || len(r.record.Properties.OutputResources) != 1 {
		t.Errorf("%q, %+v", r.names(), r.record.Properties)
	}
}

// A provider that never ends is ended by the deployment's limit, which names what was not done.
func TestLimitNamesTheStep(t *testing.T) {
	t.Parallel()
	slow := map[string][]reply{}
	var resources []string
	for i := range 6 { // a poll is always under way
		name, poll := fmt.Sprint("m", i), making
		poll.lasts = time.Duration(20+7*i) * time.Millisecond
		slow["PUT "+name], slow["GET "+name] = []reply{making}, []reply{poll}
		resources = append(resources, machine(name))
	}
	r := deployed(t, deploy.Deployer{Limit: 2 * time.Second}, slow, append(resources, machine("behind", after("m0")))...)
	r.want(t, deploymentrow.Failed, "/virtualMachines/m0' had not come to an end", "/virtualMachines/m5' had not come to an end", "2s")
	if n := len(r.record.Properties.Error.Details); n != 6 || len(r.of("PUT behind")) > 0 {
		t.Errorf("%d details, %q", n, r.record.Properties.Error)
	}
}

// A deployment whose time was over before a gateway came to it has failed, and sends nothing.
func TestLimitBeforeTheFirstStep(t *testing.T) {
	t.Parallel()
	r := deployed(t, deploy.Deployer{Limit: time.Nanosecond}, map[string][]reply{"PUT a": {created}}, machine("a"))
	r.want(t, deploymentrow.Failed, "/virtualMachines/a' had not come to an end")
	if len(r.names()) > 0 {
		t.Errorf("%q", r.names())
	}
}

// A panic ends the attempt. The next one asks for what may have been sent.
func TestPanicInAStep(t *testing.T) {
	t.Parallel()
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{status: -1}}, "GET a": {created}}, machine("a"))
	r.want(t, deploymentrow.Succeeded)
	if got := r.names(); !slices.Equal(got, []string{"PUT a", "GET a"}) {
		t.Errorf("%q", got)
	}
}

// A reference is answered once what it asks has ended, and asked once for all that need it.
func TestReferenceIsReadOnce(t *testing.T) {
	t.Parallel()
	of := `"tags": {"size": "[reference(resourceId('Contoso.Compute/virtualMachines', 'a')).size]"}`
	r := deployed(t, deploy.Deployer{}, map[string][]reply{
		"PUT a": {making}, "GET a": {making, {status: 200, body: `{"properties": {"provisioningState": "Succeeded", "size": "large"}}`}}, "PUT b": {created}, "PUT c": {created},
	}, machine("a"), machine("b", of), machine("c", of, after("b")))
	r.want(t, deploymentrow.Succeeded)
	for _, name := range []string{"PUT b", "PUT c"} {
		if puts := r.of(name); len(puts) != 1 || !strings.Contains(puts[0].body, `"size":"large"`) {
			t.Errorf("%s: %v", name, puts)
		}
	}
	if n := len(r.of("GET a")); n != 3 {
		t.Errorf("a was asked %d times: %q", n, r.names())
	}
}
