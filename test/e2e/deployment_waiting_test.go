package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

const expansions = "portico_deployment_expansions_total"

// A replica works a deployment out once, however often it gives the job back until the provider
// is to be polled again; one that takes over from a killed one works it out once more, and
// operators' looks do not count.
func TestDeploymentThatWaitsIsWorkedOutOnce(t *testing.T) {
	t.Parallel()
	settings := strings.Replace(batchSettings, "retryAfterMin: 1s, retryAfterMax: 1s", "retryAfterMin: 6s, retryAfterMax: 6s", 1)
	for name, config := range map[string]harness.WorldOptions{
		"sqlite":   {Config: harness.Config{Extra: settings}},
		"postgres": {Replicas: 2, Config: harness.Config{Extra: settings}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if config.Replicas > 1 {
				config.Config.Postgres = harness.StartPostgres(t).CreateDatabase(t, "waiting")
			}
			w := harness.NewWorld(t, config)
			misbehave(t, w, "PUT", "/virtualMachines/b", "async=azure-async,6,20s", -1)
			w.PutGroup(t, "rg")
			regions := harness.RegionNames()
			poll := putDeployment(t, w, w.Portico, "d", fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord), 201)
			victim := eventually(t, "a replica that gave the job back twice", func() (*harness.Portico, bool) {
				for _, j := range w.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=deployment"}).Values(t) {
					if steps := stepsShown(t, w, j["id"].(string)); !strings.HasSuffix(steps["c"].DependsOn[0], "/b") {
						t.Errorf("%+v", steps)
					}
				}
				i := slices.IndexFunc(w.Replicas, func(p *harness.Portico) bool {
					return metric(t, p, "portico_job_attempts_total", `kind="deployment",outcome="again"`) >= 2
				})
				return w.Replicas[max(i, 0)], i >= 0
			})
			if n := victim.Metric(t, expansions); n != 1 {
				t.Errorf("it was worked out %v times", n)
			}
			victim.Kill(t)
			survivor := victim
			if len(w.Replicas) > 1 {
				survivor = w.Replicas[1-slices.Index(w.Replicas, victim)]
			} else {
				victim.Restart(t)
			}
			if end, d := deployed(t, w, survivor, "d", poll); end != "Succeeded" || d.Properties.Outputs["state"].Value != "Succeeded" {
				t.Errorf("it ended as %s: %s", end, d.Properties.Error)
			}
			if n := survivor.Metric(t, expansions); n != 1 {
				t.Errorf("whoever took it over worked it out %v times", n)
			}
			onePutEach(t, w, "rg", "")
		})
	}
}
