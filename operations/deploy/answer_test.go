package deploy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"portico/inventory/deployments"
	"portico/jobs/jobstest"
	"portico/operations/deploy"
	"portico/operations/deploy/plan"
)

const ofA = `"tags": {"of": "[reference(resourceId('Contoso.Compute/virtualMachines', 'a')).x]"}`

var page = reply{status: 200, body: "<html>A page of a proxy</html>"}

// A refusal that is no JSON is the error as it is.
func TestRefusalsThatAreNoJSON(t *testing.T) {
	t.Parallel()
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{status: 403, body: page.body}}}, machine("a"))
	r.want(t, deployments.Failed, "InvalidProviderResponse", "A page of a proxy")
	r = deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {{status: 403}}}, machine("a"))
	r.want(t, deployments.Failed, "The provider answered Forbidden.")
}

// An answer that a template reads is asked for again if none comes, or one that may be another
// one later, within the budget of a step.
func TestAnswersThatComeLater(t *testing.T) {
	t.Parallel()
	away := reply{status: 503, body: `{"error": {"code": "NotNow", "message": "the region is down"}}`}
	finished := reply{status: 200, body: `{"properties": {"provisioningState": "Succeeded", "x": "at last"}}`}
	asked := []reply{page, away, noAnswer, {status: 200, body: `{"properties"`}, {status: 429, body: away.body, header: "X-Ms-Failure-Cause: gateway"}, finished}
	r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": {created}, "GET a": slices.Clone(asked), "PUT b": {created}}, machine("a"), machine("b", ofA))
	r.want(t, deployments.Succeeded)
	if puts := r.of("PUT b"); len(puts) != 1 || !strings.Contains(puts[0].body, "at last") {
		t.Errorf("%q", r.names())
	}
	for said, last := range map[string]reply{"gave no answer that is valid JSON": page, "the region is down": away} {
		r := deployed(t, deploy.Deployer{Limits: plan.Limits{Budget: 4 * jobstest.Floor}}, map[string][]reply{"PUT a": {created}, "GET a": {last}}, machine("a"), machine("b", ofA))
		r.want(t, deployments.Failed, said, "/virtualMachines/b")
		if len(r.of("PUT b")) > 0 {
			t.Errorf("%q", r.names())
		}
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
		r.want(t, deployments.Failed, members)
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
