package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
)

// Whatever ends a deployment, nested or not, has one event of that in its transaction, which
// names who began it; so has what deletes its record. What is done again has none.
func testDeploymentEvents(t *testing.T, database Database) {
	b := newBench(t, database)
	b.ok(Seed(b.ctx, b.Store))
	for _, group := range []string{"g", "other"} {
		b.group(group)
	}
	_, _, err := b.PutSubscription(b.ctx, inventory.Subscription{ID: "elsewhere", TenantID: "t"})
	b.ok(err)
	name := func(group, name string) deploymentrow.Name {
		return deploymentrow.Name{Subscription: Sub, Group: group, Name: name}
	}
	id := func(n deploymentrow.Name) string {
		scope := "/subscriptions/" + n.Subscription
		if n.Group != "" {
			scope += "/resourceGroups/" + n.Group
		}
		return scope + "/providers/Microsoft.Resources/deployments/" + n.Name
	}
	by := func(who string) context.Context {
		return events.With(b.ctx, &events.Cause{ObjectID: who, Correlation: "of " + who, Request: "request of " + who})
	}
	operation := polls.Operation{TenantID: "t", ObjectID: "o", Until: b.clock.Now().Add(time.Hour)}
	begin := func(who string, n deploymentrow.Name, history int) jobrow.Job {
		b.Helper()
		b.clock.Pass(time.Second)
		operation.Token = "token of " + n.Name + who
		_, _, err := b.Deployments.Begin(by(who), deploymentrow.Started{
			Name: n, ID: id(n), Record: []byte("seen"), Content: []byte("content"), Payload: "{}", History: history, Running: 9, RunningOfCaller: 9,
			ContentOfCaller: deploymentrow.MostContent, Operation: operation,
		})
		b.ok(err)
		jobs, err := b.Jobs.Claim(b.ctx, "me", time.Minute, 1, deploymentrow.Job)
		b.ok(err)
		return jobs[0]
	}
	ended := func(state deploymentrow.State, why *arm.Error) deploymentrow.Ended {
		return deploymentrow.Ended{State: state, Error: why, Record: []byte("ended"), Operations: []byte("steps"), Payload: "{}", Kept: time.Hour}
	}
	nest := func(who string, parent, n deploymentrow.Name, j jobrow.Job) {
		b.Helper()
		b.ok(b.nest(by(who), deploymentrow.Nested{Name: n, ID: id(n), Parent: deploymentrow.Parent{Name: parent}, Record: []byte("seen"), History: 9}, j))
	}
	last := int64(len(b.eventsAfter(0)))
	wants := func(what string, want ...string) {
		b.Helper()
		var said []string
		for _, e := range b.eventsAfter(last) {
			last = e.Number
			if !strings.HasPrefix(e.Action, "Microsoft.Resources/deployments/") {
				continue
			}
			line := fmt.Sprint(e.Resource[strings.LastIndexByte(e.Resource, '/')+1:], " ",
				strings.TrimPrefix(e.Action, "Microsoft.Resources/deployments/"), " ", e.Status, " ", e.Cause.ObjectID)
			if e.Error != nil {
				line += " " + string(e.Error.Code)
			}
			if exists, known := e.Exists(); known {
				line += fmt.Sprint(" ", exists)
			}
			said = append(said, line)
			if e.Cause.ObjectID != "" && (e.Cause.Correlation != "of "+e.Cause.ObjectID || e.Cause.Request != "request of "+e.Cause.ObjectID) ||
				e.Key != arm.Fold(e.Resource) || e.Origin != events.Decided {
				b.Errorf("%s: %+v", what, e)
			}
		}
		if slices.Sort(said); !slices.Equal(said, want) {
			b.Errorf("%s: the events are\n%s, want\n%s", what, strings.Join(said, "\n"), strings.Join(want, "\n"))
		}
	}
	outer, inner, far := name("g", "Outer"), name("other", "Inner"), deploymentrow.Name{Subscription: "elsewhere", Name: "Far"}

	j := begin("ann", outer, 9)
	nest("ann", outer, inner, j)
	nest("ann", outer, inner, j) // as after a takeover
	wants("a beginning", "Inner write Accepted ann", "Outer write Accepted ann")
	b.ok(b.Deployments.EndNested(by("no one"), inner, j, ended(deploymentrow.Succeeded, nil)))
	b.ok(b.Deployments.EndNested(by("no one"), inner, j, ended(deploymentrow.Succeeded, nil)))
	b.ok(b.Deployments.End(by("no one"), outer, j, ended(deploymentrow.Succeeded, nil)))
	b.is(b.Deployments.End(by("no one"), outer, j, ended(deploymentrow.Succeeded, nil)), jobrow.ErrLeaseLost)
	wants("an end", "Inner write Succeeded ann true", "Outer write Succeeded ann true")

	j = begin("bob", outer, 9)
	nest("bob", outer, inner, j)
	nest("bob", outer, far, j)
	b.ok(b.Deployments.End(b.ctx, outer, j, ended(deploymentrow.Failed, arm.NewError(arm.DeploymentFailed))))
	wants("a failure with all that has not ended", "Far write Accepted bob", "Far write Failed bob DeploymentFailed true", "Inner write Accepted bob",
		"Inner write Failed bob DeploymentFailed true", "Outer write Accepted bob", "Outer write Failed bob DeploymentFailed true")
	text, err := b.Deployments.Operations(b.ctx, inner, j.ID)
	if err != nil || len(text) > 0 {
		b.Errorf("operations of what was abandoned: %q %v", text, err)
	}

	j = begin("ann", outer, 9)
	b.ok(b.CancelJob(by("bob"), Sub, j.ID))
	b.ok(b.CancelJob(by("cora"), Sub, j.ID))
	jobs, err := b.Jobs.Claim(b.ctx, "me", time.Minute, 1, deploymentrow.Job)
	b.ok(err)
	b.ok(b.Deployments.End(b.ctx, outer, jobs[0], ended(deploymentrow.Canceled, arm.NewError(arm.DeploymentCanceled, "Outer"))))
	b.is(b.CancelJob(by("bob"), Sub, j.ID), jobrow.ErrEnded)
	wants("a cancellation", "Outer cancel/action Succeeded bob", "Outer write Accepted ann", "Outer write Canceled ann DeploymentCanceled true")

	for range 2 {
		b.ok(b.Deployments.Delete(by("cora"), outer))
	}
	wants("a deletion", "Outer delete Succeeded cora false")
	b.ok(b.Deployments.End(b.ctx, outer, begin("ann", outer, 9), ended(deploymentrow.Succeeded, nil)))
	j = begin("bob", name("g", "Next"), 1)
	wants("too many records", "Next write Accepted bob", "Outer write Accepted ann", "Outer write Succeeded ann true", "outer delete Succeeded  false")

	nest("bob", name("g", "Next"), inner, j)
	nest("bob", name("g", "Next"), name("g", "Sibling"), j)
	b.ok(b.DeleteGroup(by("cora"), Sub, "g", inventory.DeleteGroupConditions{}))
	wants("a deleted group", "Inner write Accepted bob", "Next write Failed bob DeploymentFailed false", "Sibling write Accepted bob",
		"Sibling write Failed bob DeploymentFailed false")
	b.ok(b.Deployments.Abandon(b.ctx, j))
	b.ok(b.Deployments.Abandon(b.ctx, j))
	b.ok(b.Deployments.End(b.ctx, name("g", "Next"), j, ended(deploymentrow.Succeeded, nil)))
	wants("what the group's deletion leaves", "Inner write Failed bob DeploymentFailed true")
}
