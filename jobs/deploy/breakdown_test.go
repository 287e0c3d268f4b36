package deploy_test

import (
	"encoding/json"
	"path"
	"strings"
	"testing"
	"time"

	"portico/inventory/deploymentrow"
	"portico/inventory/polls"
	"portico/jobs/deploy"
	"portico/jobs/jobstest"
)

// What operators see of a deployment that runs is what is recorded of it: its content, which
// nobody could work out here, is not looked at, nor for the name of its caller.
func TestLooksWorkNothingOut(t *testing.T) {
	t.Parallel()
	b := jobstest.NewProvider(t)
	order := deploy.Order{CallerName: "alice"}
	reference := func(name string) deploy.Reference {
		return deploy.Reference{ID: "/subscriptions/" + jobstest.Subscription + "/resourceGroups/g/providers/C.C/m/" + name, ResourceType: "C.C/m", ResourceName: name}
	}
	record := deploy.Stored{First: []deploy.Reference{reference("a"), reference("alone")}}
	record.Properties.Dependencies = []deploy.Dependency{{Reference: reference("b"), DependsOn: []deploy.Reference{reference("a")}}}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	job, _, err := b.Store.Deployments.Begin(t.Context(), deploymentrow.Started{
		Name: deploymentrow.Name{Subscription: jobstest.Subscription, Group: "g", Name: "d"}, ID: "/subscriptions/" + jobstest.Subscription + "/resourceGroups/g/providers/Microsoft.Resources/deployments/d",
		Record: text, Content: []byte("no order"), Payload: order.Payload(0, 3), History: 800, Running: 1, RunningOfCaller: 1, ContentOfCaller: 1,
		Operation: polls.Operation{Token: "t", Until: time.Now().Add(time.Hour)},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &deploy.Deployer{Store: b.Store}
	if name, err := d.Caller(t.Context(), job); err != nil || name != "alice" {
		t.Errorf("%q, %v", name, err)
	}
	s, err := d.Describe().Breakdown(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, step := range s.Steps {
		steps = append(steps, path.Base(step.ID)+" "+step.State+" "+strings.Join(step.DependsOn, ","))
	}
	if got := strings.Join(steps, "; "); got != "a Waiting ; alone Waiting ; b Waiting "+reference("a").ID {
		t.Error(got)
	}
	for name, says := range map[string]string{"a": "was not sent yet", "b": "was not sent yet", "none": "has no step"} {
		if _, err := d.Describe().GiveUpPart(t.Context(), job, reference(name).ID); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
