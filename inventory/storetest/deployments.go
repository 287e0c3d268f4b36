package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
)

func (b *bench) putStep(name deploymentrow.Name, j jobrow.Job, number int, s deploymentrow.Step) error {
	progress, err := b.Deployments.EncryptStep(b.ctx, name, j.ID, number, s)
	if err != nil {
		return err
	}
	return b.Deployments.PutSteps(b.ctx, name, j, func() []deploymentrow.StepUpdate { return []deploymentrow.StepUpdate{progress} })
}

// A deployment runs once under its name, loses its content and its steps at its end, and
// goes with its group; the oldest go where there are too many, and no more may run than
// are allowed.
func testDeployments(t *testing.T, database Database) {
	b := newBench(t, database)
	b.ok(Seed(b.ctx, b.Store))
	b.group("g")
	name := deploymentrow.Name{Subscription: Sub, Group: "G", Name: "D"}
	begin := func(n deploymentrow.Name) (bool, error) {
		_, created, err := b.Deployments.Begin(b.ctx, deploymentrow.Started{
			Name: n, ID: "/subscriptions/" + Sub + "/resourceGroups/G/providers/Microsoft.Resources/deployments/" + n.Name,
			Record: []byte("seen"), Content: []byte("a secret"), Payload: "{}", History: 2, Running: 1, RunningOfCaller: 1,
			ContentOfCaller: deploymentrow.MostContent,
			Operation:       polls.Operation{Token: "token of " + n.Name, TenantID: "t", ObjectID: "o", Until: b.clock.Now().Add(time.Hour)},
		})
		return created, err
	}
	claim := func() jobrow.Job {
		b.Helper()
		jobs, err := b.Jobs.Claim(b.ctx, "me", time.Minute, 1, deploymentrow.Job)
		b.ok(err)
		equal(b, len(jobs), 1)
		return jobs[0]
	}
	end := func(n deploymentrow.Name, j jobrow.Job) {
		b.Helper()
		b.ok(b.Deployments.End(b.ctx, n, j, deploymentrow.Ended{
			State: deploymentrow.Failed, Record: []byte("ended"), Operations: []byte("steps"), Template: []byte("what was asked for"), Payload: "{}",
			Kept: time.Hour,
		}))
	}
	created, err := begin(name)
	b.ok(err)
	equal(b, created, true)
	_, err = begin(name)
	b.is(err, deploymentrow.ErrActive)
	other := name
	other.Name = "other"
	_, err = begin(other)
	b.is(err, deploymentrow.ErrCallerShare)
	b.is(b.Deployments.Delete(b.ctx, name), deploymentrow.ErrActive)
	b.ok(b.Deployments.Delete(b.ctx, other))
	o, err := b.Operations.Operation(b.ctx, Sub, "token of D")
	b.ok(err)

	j := claim()
	equal(b, o.Follow, j.ID)
	content, err := b.Deployments.Content(b.ctx, name, j.ID)
	b.ok(err)
	equal(b, string(content), "a secret")
	b.ok(b.putStep(name, j, 7, deploymentrow.Step{State: 1, Record: []byte("sent")}))
	b.ok(b.putStep(name, j, 7, deploymentrow.Step{State: 3, Record: []byte("done")}))
	lost := j
	lost.Token--
	b.is(b.putStep(name, lost, 7, deploymentrow.Step{}), jobrow.ErrLeaseLost)
	steps, err := b.Deployments.Steps(b.ctx, name, j.ID)
	b.ok(err)
	equal(b, len(steps), 1)
	equal(b, steps[7].State, 3)
	equal(b, string(steps[7].Record), "done")

	j = testGivenUp(b, name, j, claim)

	nested := testNested(b, name, j)

	end(name, j)
	found, err := b.Deployments.Deployment(b.ctx, nested.Name)
	b.ok(err)
	equal(b, found.State, deploymentrow.Failed)
	found, err = b.Deployments.Deployment(b.ctx, name)
	b.ok(err)
	equal(b, found.State, deploymentrow.Failed)
	equal(b, string(found.Record), "ended")
	_, err = b.Deployments.Content(b.ctx, name, j.ID)
	b.is(err, engine.ErrNotFound)
	text, err := b.Deployments.Template(b.ctx, name, j.ID)
	b.ok(err)
	equal(b, string(text), "what was asked for")
	if steps, err = b.Deployments.Steps(b.ctx, name, j.ID); err != nil || len(steps) > 0 {
		b.Fatal(steps, err)
	}
	text, err = b.Deployments.Operations(b.ctx, name, j.ID)
	b.ok(err)
	equal(b, string(text), "steps")

	b.clock.Pass(time.Second)
	created, err = begin(name)
	b.ok(err)
	equal(b, created, false)
	end(name, claim())
	for _, next := range []string{"E", "F"} {
		b.clock.Pass(time.Second)
		n := name
		n.Name = next
		_, err := begin(n)
		b.ok(err)
		end(n, claim())
	}
	list, err := b.Deployments.List(b.ctx, Sub, "g", "", 10, 1<<20)
	b.ok(err)
	if len(list) != 2 || list[0].Name != "e" || list[1].Name != "f" || string(list[1].Record) != "ended" {
		b.Fatalf("%+v", list)
	}
	other.Name = "E"
	b.ok(b.Deployments.Delete(b.ctx, other))
	_, err = b.Deployments.Deployment(b.ctx, other)
	b.is(err, engine.ErrNotFound)
	_, err = begin(name)
	b.ok(err)
	j = claim()
	b.ok(b.nest(b.ctx, nested, j))
	elsewhere := nested
	elsewhere.Name = deploymentrow.Name{Subscription: "elsewhere", Name: "Inner"}
	_, _, err = b.PutSubscription(b.ctx, inventory.Subscription{ID: "elsewhere", TenantID: "t"})
	b.ok(err)
	b.ok(b.nest(b.ctx, elsewhere, j))
	b.ok(b.DeleteGroup(b.ctx, Sub, "g", inventory.DeleteGroupConditions{}))
	_, err = b.Deployments.Deployment(b.ctx, deploymentrow.Name{Subscription: Sub, Group: "g", Name: "f"})
	b.is(err, engine.ErrNotFound)
	b.is(b.nest(b.ctx, nested, j), engine.ErrNotFound)
	b.ok(b.Deployments.Abandon(b.ctx, j))
	for _, n := range []deploymentrow.Nested{nested, elsewhere} {
		found, err = b.Deployments.Deployment(b.ctx, n.Name)
		b.ok(err)
		equal(b, found.State, deploymentrow.Failed)
	}
}

// What a subscription has under way is bounded, in number and content, and so is each caller's
// part of it, with the deployments that its own have begun in other subscriptions.
func testDeploymentsOfCallers(t *testing.T, database Database) {
	b := newBench(t, database)
	b.ok(Seed(b.ctx, b.Store))
	_, _, err := b.PutSubscription(b.ctx, inventory.Subscription{ID: "elsewhere", TenantID: "t"})
	b.ok(err)
	begin := func(caller, sub, name string, size int) error {
		_, _, err := b.Deployments.Begin(b.ctx, deploymentrow.Started{
			Name: deploymentrow.Name{Subscription: sub, Name: name}, ID: name, Record: []byte("seen"), Content: make([]byte, size), Payload: "{}",
			History: 10, Running: 5,
			Caller: caller, RunningOfCaller: 2, ContentOfCaller: 16 << 20,
			Operation: polls.Operation{Token: "token of " + name, TenantID: "t", ObjectID: "o", Until: b.clock.Now().Add(time.Hour)},
		})
		return err
	}
	b.ok(begin("alice", Sub, "large", 15<<20))
	b.is(begin("alice", Sub, "too large", 2<<20), deploymentrow.ErrCallerShare)
	b.ok(begin("bob", Sub, "bob's", 20<<20)) // the first one of a caller
	b.ok(begin("alice", Sub, "second", 1))
	b.is(begin("alice", Sub, "third", 1), deploymentrow.ErrCallerShare)
	b.is(begin("bob", Sub, "bob's second", 1), deploymentrow.ErrCallerShare)
	b.ok(begin("dave", Sub, "dave's", 1))
	b.ok(begin("dave", Sub, "dave's second", 1))
	b.is(begin("carol", Sub, "one too many", 1), deploymentrow.ErrTooMany)

	jobs, err := b.Jobs.Claim(b.ctx, "me", time.Minute, 10, deploymentrow.Job)
	b.ok(err)
	equal(b, len(jobs), 5)
	for _, j := range jobs {
		parent := deploymentrow.Parent{Name: deploymentrow.Name{Subscription: Sub, Name: j.Subject}}
		b.ok(b.nest(b.ctx, deploymentrow.Nested{
			Name: deploymentrow.Name{Subscription: "elsewhere", Name: "in " + j.Subject}, Parent: parent, Record: []byte("seen"), History: 10,
		}, j))
	}
	b.is(begin("alice", "elsewhere", "beside two", 1), deploymentrow.ErrCallerShare)
	b.is(begin("carol", "elsewhere", "beside five", 1), deploymentrow.ErrTooMany)
	for _, j := range jobs {
		b.ok(b.Deployments.End(b.ctx, deploymentrow.Name{Subscription: Sub, Name: j.Subject}, j,
			deploymentrow.Ended{State: deploymentrow.Succeeded, Record: []byte("ended"), Kept: time.Hour}))
	}
	b.ok(begin("alice", "elsewhere", "beside none", 1))
	b.ok(begin("alice", Sub, "third", 1))
}

// The deployments that are kept are bounded in bytes, and so is what one read of them has.
func testHistoryOfLargeDeployments(t *testing.T, database Database) {
	b := newBench(t, database)
	b.ok(Seed(b.ctx, b.Store))
	const large = 30 << 20
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		b.clock.Pass(time.Second)
		n := deploymentrow.Name{Subscription: Sub, Name: name}
		j, _, err := b.Deployments.Begin(b.ctx, deploymentrow.Started{
			Name: n, ID: name, Record: []byte("seen"), Content: []byte("content"), Payload: "{}", History: 10, Running: 1, RunningOfCaller: 1,
			ContentOfCaller: 1,
			Operation:       polls.Operation{Token: "token of " + name, TenantID: "t", ObjectID: "o", Until: b.clock.Now().Add(time.Hour)},
		})
		b.ok(err)
		jobs, err := b.Jobs.Claim(b.ctx, "me", time.Minute, 1, deploymentrow.Job)
		b.ok(err)
		equal(b, jobs[0].ID, j.ID)
		b.ok(b.Deployments.End(b.ctx, n, jobs[0],
			deploymentrow.Ended{State: deploymentrow.Succeeded, Record: make([]byte, large/2), Template: make([]byte, large/2), Kept: time.Hour}))
	}
	var names []string
	for after := ""; ; {
		page, err := b.Deployments.List(b.ctx, Sub, "", after, 10, large)
		b.ok(err)
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			names, after = append(names, d.Name), d.Name
		}
		if len(page) > 2 {
			t.Errorf("%d deployments of %d bytes in one read of %d", len(page), large/2, large)
		}
	}
	equal(b, fmt.Sprint(names), "[b c d e f]")
}

// The content of what a subscription has under way is bounded.
func testLargeDeployments(t *testing.T, database Database) {
	b := newBench(t, database)
	b.ok(Seed(b.ctx, b.Store))
	begin := func(name string, size int) error {
		_, _, err := b.Deployments.Begin(b.ctx, deploymentrow.Started{
			Name: deploymentrow.Name{Subscription: Sub, Name: name}, Record: []byte("seen"), Content: make([]byte, size), Payload: "{}", History: 10,
			Running: 10, RunningOfCaller: 10, ContentOfCaller: 2 * deploymentrow.MostContent,
			Operation: polls.Operation{Token: "token of " + name, TenantID: "t", ObjectID: "o", Until: b.clock.Now().Add(time.Hour)},
		})
		return err
	}
	b.ok(begin("half", 33<<20))
	b.is(begin("more than the rest", 32<<20), deploymentrow.ErrTooMany)
	b.ok(begin("less than the rest", 30<<20))
}

// testNested: nested deployments of the one of a name, which a job runs, count as deployments
// of their scope, and not as further ones under way. The one that it returns has not ended.
func testNested(b *bench, parent deploymentrow.Name, j jobrow.Job) deploymentrow.Nested {
	b.Helper()
	b.group("other")
	nested := deploymentrow.Nested{
		Name: deploymentrow.Name{Subscription: Sub, Group: "Other", Name: "Inner"}, Parent: deploymentrow.Parent{Name: parent}, Record: []byte("seen"), History: 2,
	}
	_, err := b.Deployments.TryNested(b.ctx, nested) // before there is a parent
	b.ok(err)
	_, err = b.Deployments.Deployment(b.ctx, nested.Name)
	b.is(err, engine.ErrNotFound)
	b.ok(b.nest(b.ctx, nested, j))
	b.ok(b.nest(b.ctx, nested, j)) // as after a takeover
	found, err := b.Deployments.Deployment(b.ctx, nested.Name)
	b.ok(err)
	equal(b, found.State, deploymentrow.Running)
	equal(b, found.Job, j.ID)
	b.is(b.Deployments.Delete(b.ctx, nested.Name), deploymentrow.ErrActive)

	itself, missing, lost := nested, nested, j
	itself.Name, missing.Group = parent, "missing"
	lost.Token--
	b.is(b.nest(b.ctx, itself, j), deploymentrow.ErrActive)
	b.is(b.nest(b.ctx, missing, j), index.ErrGroupNotFound)
	b.is(b.nest(b.ctx, nested, lost), jobrow.ErrLeaseLost)
	ended := deploymentrow.Ended{State: deploymentrow.Succeeded, Record: []byte("ended"), Operations: []byte("steps")}
	b.is(b.Deployments.EndNested(b.ctx, nested.Name, lost, ended), jobrow.ErrLeaseLost)

	b.ok(b.Deployments.EndNested(b.ctx, nested.Name, j, ended))
	found, err = b.Deployments.Deployment(b.ctx, nested.Name)
	b.ok(err)
	equal(b, found.State, deploymentrow.Succeeded)
	equal(b, string(found.Record), "ended")
	text, err := b.Deployments.Operations(b.ctx, nested.Name, j.ID)
	b.ok(err)
	equal(b, string(text), "steps")
	ended.State = deploymentrow.Failed
	b.ok(b.Deployments.EndNested(b.ctx, nested.Name, j, ended)) // and it stays as it has ended
	b.ok(b.nest(b.ctx, nested, j))
	b.ok(b.DeleteGroup(b.ctx, Sub, "other", inventory.DeleteGroupConditions{}))
	b.ok(b.Deployments.EndNested(b.ctx, nested.Name, j, ended)) // it went with its group
	b.group("other")
	for _, name := range []string{"x", "y", "z"} {
		nested.Name.Name = name
		b.clock.Pass(time.Second)
		b.ok(b.nest(b.ctx, nested, j))
		b.ok(b.Deployments.EndNested(b.ctx, nested.Name, j, ended))
	}
	list, err := b.Deployments.List(b.ctx, Sub, "other", "", 10, 1<<20)
	b.ok(err)
	equal(b, len(list), 2)
	b.ok(b.nest(b.ctx, nested, j))
	return nested
}

// nest begins a nested deployment for a job.
func (b *bench) nest(ctx context.Context, n deploymentrow.Nested, j jobrow.Job) error {
	n.Parent.Job = j
	_, err := b.Deployments.BeginNested(ctx, n)
	return err
}

// testGivenUp: a step that ends without the holder of the job ends once, and the holder, who
// may know of another end, records nothing any more. It returns the job as its next holder has it.
func testGivenUp(b *bench, name deploymentrow.Name, j jobrow.Job, claim func() jobrow.Job) jobrow.Job {
	b.Helper()
	b.ok(b.putStep(name, j, 8, deploymentrow.Step{State: 2, Record: []byte("accepted")}))
	giveUp := func(ctx context.Context, of deploymentrow.Name, before uint8) error {
		return b.Deployments.GiveUpStep(ctx, of, j.ID, 8, before, deploymentrow.Step{State: 4, Record: []byte("given up")}, "it was given up")
	}
	missing := name
	missing.Name = "missing"
	b.is(giveUp(b.ctx, missing, 2), engine.ErrNotFound)
	b.is(giveUp(b.ctx, name, 1), jobrow.ErrLeaseLost)
	b.ok(giveUp(engine.Rehearse(b.ctx), name, 2))
	b.ok(b.putStep(name, j, 8, deploymentrow.Step{State: 2, Record: []byte("goes on")}))
	b.ok(giveUp(b.ctx, name, 2))
	b.is(giveUp(b.ctx, name, 2), jobrow.ErrLeaseLost)
	b.is(b.putStep(name, j, 8, deploymentrow.Step{State: 3, Record: []byte("done")}), jobrow.ErrLeaseLost)
	next := claim()
	equal(b, next.ID, j.ID)
	steps, err := b.Deployments.Steps(b.ctx, name, j.ID)
	b.ok(err)
	equal(b, string(steps[8].Record), "given up")
	equal(b, steps[8].State, 4)
	history, err := b.Jobs.History(b.ctx, Sub, j.ID)
	b.ok(err)
	equal(b, history[0].Outcome, "changed")
	equal(b, history[0].Did, "it was given up")
	return next
}
