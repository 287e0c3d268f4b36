package deploy_test

import (
	"slices"
	"testing"
	"time"

	"portico/inventory/deploymentrow"
	"portico/jobs/deploy"
	"portico/jobs/deploy/deployplan"
)

const onlyIfNotExists = `"@options": {"onlyIfNotExists": []}`

func shown(status int, state string) reply {
	return reply{status: status, body: `{"properties": {"provisioningState": "` + state + `"}}`}
}

func (r *run) wantCalls(t *testing.T, made int, calls ...string) {
	t.Helper()
	if got := r.names(); !slices.Equal(got, calls) {
		t.Errorf("%q", got)
	}
	if n := len(r.record.Properties.OutputResources); n != made {
		t.Errorf("it has made %d resources, and %d were expected", n, made)
	}
}

// What may exist is asked for first. What exists is never sent, whatever its state; of what is
// under way the end is awaited. Nothing but an absence of the resource itself has it sent.
func TestResourceThatMayExist(t *testing.T) {
	t.Parallel()
	away := reply{status: 503, body: `{"error": {"code": "NotNow", "message": "the region is down"}}`}
	for name, c := range map[string]struct {
		replies map[string][]reply
		state   deploymentrow.State
		made    int
		calls   []string
	}{
		"absent":                     {map[string][]reply{"PUT a": {created}}, deploymentrow.Succeeded, 1, []string{"GET a", "PUT a"}},
		"there":                      {map[string][]reply{"GET a": {shown(200, "Succeeded")}}, deploymentrow.Succeeded, 0, []string{"GET a"}},
		"there, and failed":          {map[string][]reply{"GET a": {shown(200, "Failed")}}, deploymentrow.Succeeded, 0, []string{"GET a"}},
		"being made by someone else": {map[string][]reply{"GET a": {shown(200, "Creating"), shown(200, "Creating"), shown(200, "Succeeded")}}, deploymentrow.Succeeded, 0, []string{"GET a", "GET a", "GET a"}},
		"not to be read":             {map[string][]reply{"GET a": {{status: 403, body: `{"error": {"code": "AuthorizationFailed", "message": "no"}}`}}}, deploymentrow.Failed, 0, []string{"GET a"}},
		"a 404 of something else":    {map[string][]reply{"GET a": {{status: 404, body: `{"error": {"code": "ResourceGroupNotFound", "message": "no"}}`}}}, deploymentrow.Failed, 0, []string{"GET a"}},
		"a page, then absent":        {map[string][]reply{"GET a": {{status: 200, body: "<html>"}, away, {}, {status: 404, body: `{"error": {"code": "ResourceNotFound", "message": "a"}}`}}, "PUT a": {created}}, deploymentrow.Succeeded, 1, []string{"GET a", "GET a", "GET a", "GET a", "PUT a"}},
		"made by a PUT that failed":  {map[string][]reply{"GET a": {{status: 404, body: `{"error": {"code": "ResourceNotFound", "message": "a"}}`}, shown(200, "Succeeded")}, "PUT a": {away}}, deploymentrow.Succeeded, 1, []string{"GET a", "PUT a", "GET a"}},
		"a PUT without an answer":    {map[string][]reply{"GET a": {{status: 404, body: `{"error": {"code": "ResourceNotFound", "message": "a"}}`}, shown(200, "Creating"), shown(200, "Succeeded")}, "PUT a": {noAnswer}}, deploymentrow.Succeeded, 1, []string{"GET a", "PUT a", "GET a", "GET a"}},
		"a PUT that makes a failed one": {map[string][]reply{"GET a": {{status: 404, body: `{"error": {"code": "ResourceNotFound", "message": "a"}}`}, shown(200, "Failed")}, "PUT a": {noAnswer}}, deploymentrow.Failed, 0,
			[]string{"GET a", "PUT a", "GET a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := deployed(t, deploy.Deployer{}, c.replies, machine("a", onlyIfNotExists))
			r.want(t, c.state)
			r.wantCalls(t, c.made, c.calls...)
		})
	}
	lost := deployed(t, deploy.Deployer{CallLimit: 300 * time.Millisecond}, map[string][]reply{
		"GET a": {{status: 404, body: `{"error": {"code": "ResourceNotFound", "message": "a"}}`}}, "PUT a": {noAnswer, created},
	}, machine("a", onlyIfNotExists))
	lost.want(t, deploymentrow.Succeeded)
	if puts := lost.of("PUT a"); len(puts) != 2 || puts[1].at.Before(puts[0].ends) {
		t.Errorf("%q", lost.names())
	}
}

// A resource is sent again after the errors that its options name, as often as they say, also if
// its operation fails; within the budget of transient failures.
func TestResourceIsSentAgainAfterErrors(t *testing.T) {
	t.Parallel()
	const options = `"@options": {"retryOn": [["NotYet", "NorNow"], 2]}`
	not := reply{status: 404, body: `{"error": {"code": "notyet", "message": "the principal is not known"}}`}
	nor := reply{status: 409, body: `{"error": {"code": "NorNow", "message": "nor now"}}`}
	never := reply{status: 409, body: `{"error": {"code": "Never", "message": "never"}}`}
	for name, c := range map[string]struct {
		puts  []reply
		state deploymentrow.State
		says  []string
		calls []string
	}{
		"twice":         {[]reply{not, nor, created}, deploymentrow.Succeeded, nil, []string{"PUT a", "PUT a", "PUT a"}},
		"three times":   {[]reply{nor, nor, not, created}, deploymentrow.Failed, []string{"notyet", "the principal"}, []string{"PUT a", "PUT a", "PUT a"}},
		"another error": {[]reply{not, never, created}, deploymentrow.Failed, []string{"Never"}, []string{"PUT a", "PUT a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := deployed(t, deploy.Deployer{}, map[string][]reply{"PUT a": c.puts}, machine("a", options))
			r.want(t, c.state, c.says...)
			if got := r.names(); !slices.Equal(got, c.calls) {
				t.Errorf("%q", got)
			}
			if c.state == deploymentrow.Succeeded && r.operations["a"].Properties.StatusMessage != nil {
				t.Errorf("%+v", r.operations)
			}
		})
	}
	r := deployed(t, deploy.Deployer{Limits: deployplan.Limits{Budget: 1}}, map[string][]reply{"PUT a": {not, not, created}}, machine("a", options))
	r.want(t, deploymentrow.Failed, "notyet")

	const at = "Azure-AsyncOperation: https://portico.example/subscriptions/00000000-0000-0000-0000-000000000001/providers/Contoso.Compute/operations/o?t=1"
	r = deployed(t, deploy.Deployer{}, map[string][]reply{
		"PUT a": {{status: 201, body: making.body, header: at}, created}, "GET o": {{status: 200, body: `{"status": "Failed", "error": {"code": "NotYet", "message": "no room"}}`}},
	}, machine("a", options))
	r.want(t, deploymentrow.Succeeded)
	if got := r.names(); !slices.Equal(got, []string{"PUT a", "GET o", "PUT a"}) {
		t.Errorf("%q", got)
	}
}
