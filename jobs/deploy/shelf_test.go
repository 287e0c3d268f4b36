package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory/deploymentrow"
	"portico/jobs/deploy"
	"portico/jobs/deploy/deployplan"
)

// A deployment that only waits for its providers gives its job back each time, and is worked
// out once all the same, with what is nested in it and was unknown until it began.
func TestWaitingIsWorkedOutOnce(t *testing.T) {
	t.Parallel()
	const polls = 20
	waits := slices.Repeat([]reply{making}, polls)
	module := `{"type": "Microsoft.Resources/deployments", "apiVersion": "2025-04-01", "name": "x", "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"},
		"parameters": {"name": {"value": "[reference('a').next]"}}, "template": {"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
		"parameters": {"name": {"type": "string"}}, "resources": [` + strings.Replace(machine("b"), `"b"`, `"[parameters('name')]"`, 1) + `]}}}`
	shows := reply{status: 200, body: `{"properties": {"provisioningState": "Succeeded", "next": "b"}}`}
	d := deploy.Deployer{Patience: 1, Limits: deployplan.Limits{Pause: 50 * time.Millisecond}}
	r := deployed(t, d, map[string][]reply{
		"PUT a": {making}, "GET a": append(waits, shows), "PUT b": {making}, "GET b": append(waits, created),
	}, machine("a"), module)
	r.want(t, deploymentrow.Succeeded)
	if n := len(r.of("GET b")); n != polls+1 || len(r.of("PUT a")) != 1 || len(r.of("PUT b")) != 1 {
		t.Errorf("%q", r.names())
	}
	r.workedOut(t, 1, 2) // more, unless the machine is slow
}

// workedOut holds a run to how often its template was worked out, in how many attempts at
// least.
func (r *run) workedOut(t *testing.T, times, attempts float64) {
	t.Helper()
	if n := r.runner.Metric(t, "portico_job_attempts_total", "again"); n < attempts {
		t.Errorf("%v attempts gave the job back, of %v", n, attempts)
	}
	if n := r.runner.Metric(t, "portico_deployment_expansions_total"); n != times {
		t.Errorf("it was worked out %v times, not %v", n, times)
	}
}

// What takes more room than there is stays with its attempt, which is worked out once too.
func TestWhatIsTooLargeToKeepWaits(t *testing.T) {
	t.Parallel()
	large := fmt.Sprintf(`"tags": {"t": [%s1]}`, strings.Repeat("1,", 290_000))
	r := deployed(t, deploy.Deployer{Patience: 1}, map[string][]reply{"PUT a": {making}, "GET a": append(slices.Repeat([]reply{making}, 20), created)}, machine("a", large))
	r.want(t, deploymentrow.Succeeded)
	r.workedOut(t, 1, 0)
}
