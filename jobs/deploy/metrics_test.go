package deploy

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"portico/arm"
	"portico/jobs/deploy/deployplan"
)

// A provider's own code is a client's text as good as any: it is no label.
func TestFailuresByCode(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	began := time.Unix(1000, 0)
	for _, fault := range []*arm.Error{{Code: "SkuOfMine"}, {Code: arm.ScopeLocked}, nil} {
		m.endStep(deployplan.Failed, &stepRecord{Began: began, Ended: began.Add(time.Second), Fault: fault})
	}
	m.endStep(deployplan.Ended, &stepRecord{})
	m.end(arm.NewError(arm.DeploymentFailed), time.Minute)
	m.end(nil, time.Minute)
	want := `# HELP portico_deployment_failures_total Steps of deployments that failed, by ARM's error code; other: a code of the provider.
# TYPE portico_deployment_failures_total counter
portico_deployment_failures_total{code="ScopeLocked"} 1
portico_deployment_failures_total{code="other"} 2
# HELP portico_deployment_steps_total Steps of deployments that ended, by outcome: Succeeded, Failed, Ended (a step they depend on failed), Canceled. Deletions of complete mode do not count.
# TYPE portico_deployment_steps_total counter
portico_deployment_steps_total{end="Ended"} 1
portico_deployment_steps_total{end="Failed"} 3
# HELP portico_deployments_total Deployments that ended, by outcome: Succeeded, or the error code.
# TYPE portico_deployments_total counter
portico_deployments_total{end="DeploymentFailed"} 1
portico_deployments_total{end="Succeeded"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "portico_deployment_failures_total", "portico_deployment_steps_total", "portico_deployments_total"); err != nil {
		t.Error(err)
	}
}
