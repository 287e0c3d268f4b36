package deploy_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"portico/inventory/deploymentrow"
	"portico/jobs"
	"portico/jobs/deploy"
	"portico/jobs/deploy/deployplan"
	"portico/jobs/jobstest"
	"portico/template/document"
)

const ofA = `"tags": {"of": "[reference(resourceId('Contoso.Compute/virtualMachines', 'a')).x]"}`

var page = reply{status: 200, body: "<html>A page of a proxy</html>"}

// A refusal that is no JSON is the error as it is.
func TestRefusalsThatAreNoJSON(t *testing.T) {
	t.Parallel()
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{status: 403, body: page.body}}}, machine("a"))
	r.want(t, deploymentrow.Failed, "InvalidProviderResponse", "A page of a proxy")
	r = deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{status: 403}}}, machine("a"))
	r.want(t, deploymentrow.Failed, "The provider answered Forbidden.")
}

// An answer that a template reads is asked for again if none comes, or one that may be another
// one later, within the budget of a step.
func TestAnswersThatComeLater(t *testing.T) {
	t.Parallel()
	away := reply{status: 503, body: `{"error": {"code": "NotNow", "message": "the region is down"}}`}
	finished := reply{status: 200, body: `{"properties": {"provisioningState": "Succeeded", "x": "at last"}}`}
	asked := []reply{page, away, noAnswer, {status: 200, body: `{"properties"`}, {status: 429, body: away.body, header: "X-Ms-Failure-Cause: gateway"}, finished}
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {created}, "GET a": slices.Clone(asked), "PUT b": {created}}, machine("a"), machine("b", ofA))
	r.want(t, deploymentrow.Succeeded)
	if puts := r.of("PUT b"); len(puts) != 1 || !strings.Contains(puts[0].body, "at last") {
		t.Errorf("%q", r.names())
	}
	deep := reply{status: 200, body: `{"properties": {"x": ` + nested(document.MaxDepth) + `}}`}
	for said, last := range map[string]reply{"gave no answer that is valid JSON": page, "the region is down": away, "the document nests deeper than 100 levels": deep} {
		r := deployed(t, deploy.Deployer{Limits: deployplan.Limits{Budget: 4 * jobstest.Floor}}, map[string][]reply{"PUT a": {created}, "GET a": {last}}, machine("a"), machine("b", ofA))
		r.want(t, deploymentrow.Failed, said, "/virtualMachines/b")
		if len(r.of("PUT b")) > 0 {
			t.Errorf("%q", r.names())
		}
	}
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// What holds an answer nests no deeper than values may: that fails what needs it.
func TestAnswersThatNestTooDeep(t *testing.T) {
	t.Parallel()
	shows := reply{status: 200, body: `{"properties": {"provisioningState": "Succeeded", "x": ` + nested(document.MaxDepth-2) + `}}`}
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {created}, "GET a": {shows}}, machine("a"),
		machine("b", `"tags": {"of": "[createArray(reference(resourceId('Contoso.Compute/virtualMachines', 'a')).x)]"}`))
	r.want(t, deploymentrow.Failed, "InvalidTemplate", "nests deeper than 100 levels", "/virtualMachines/b")
}

// interrupted ends its first attempt when the template has asked for an answer.
type interrupted struct {
	*deploy.Deployer
	asked chan struct{}
	first sync.Once
}

func (i *interrupted) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	attempt, end := context.WithCancel(ctx)
	defer end()
	i.first.Do(func() {
		go func() {
			<-i.asked
			end()
		}()
	})
	return i.Deployer.Run(attempt, claim)
}

// An attempt that ends while it works a value out fails nothing: its successor goes on.
func TestAttemptEndsWhileItWorksAValueOut(t *testing.T) {
	t.Parallel()
	shows := reply{status: 200, body: `{"properties": {"provisioningState": "Succeeded", "x": "y"}}`}
	asked := make(chan struct{})
	r := deployedBy(t, func(d *deploy.Deployer) jobs.Kind {
		sender, once := d.Sender, sync.Once{}
		d.Sender = func(caller json.RawMessage) (deploy.Sender, error) {
			send, err := sender(caller)
			return func(ctx context.Context, c deploy.Call) (deploy.Response, error) {
				if c.Method == http.MethodGet {
					once.Do(func() {
						close(asked)
						<-ctx.Done()
					})
				}
				return send(ctx, c)
			}, err
		}
		return &interrupted{Deployer: d, asked: asked}
	}, map[string][]reply{"PUT a": {created}, "GET a": {shows}, "PUT b": {created}}, machine("a"), machine("b", `"tags": {"of": "[join(map(range(0, 9000), lambda('i', reference(resourceId('Contoso.Compute/virtualMachines', 'a')).x)), '')]"}`))
	r.want(t, deploymentrow.Succeeded)
	if puts := r.of("PUT b"); len(puts) != 1 || !strings.Contains(puts[0].body, "yyyyyyyyy") {
		t.Errorf("%q", r.names())
	}
}

// The whole error of a refusal is that of its step, also of an operation that was accepted and
// of an answer that a template reads.
func TestWholeErrors(t *testing.T) {
	t.Parallel()
	const members = `"target":"properties.size","details":[{"code":"Inner","message":"n","details":[{"code":"Inmost","message":"o","target":"t"}]}],"additionalInfo":[{"type":"T","info":{"a":[1]}}],"innererror":{"b":null},"trace":"c"`
	refusal := `{"error":{"code":"Refused","message":"m",` + members + `}}`
	status := func(body string) []reply { return []reply{{status: 200, body: body}} }
	for name, replies := range map[string]map[string][]reply{
		"at once":      {"PUT b": {{status: 400, body: refusal}}},
		"by a status":  {"PUT b": {{status: 201, body: making.body, header: "Azure-AsyncOperation: http://x/poll"}}, "GET poll": status(`{"status":"Failed",` + refusal[1:])},
		"by a result":  {"PUT b": {{status: 202, header: "Location: http://x/poll"}}, "GET poll": {{status: 409, body: refusal}}},
		"by an answer": {"GET a": {{status: 403, body: refusal}}},
	} {
		replies["PUT a"] = []reply{created}
		if replies["GET a"] == nil {
			replies["GET a"] = status(created.body[:len(created.body)-2] + `, "x": "1"}}`)
		}
		r := deployed(t, deploy.Deployer{}, replies, machine("a"), machine("b", ofA))
		r.want(t, deploymentrow.Failed, members)
		if message := r.operations["b"].Properties.StatusMessage; name != "by an answer" {
			if text, err := json.Marshal(message); err != nil || !strings.Contains(string(text), members) {
				t.Errorf("%s: %s %v", name, text, err)
			}
		}
		if got := r.record.Properties; got.OutputResources == nil || got.Outputs != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
