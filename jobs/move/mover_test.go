package move_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/jobs"
	"portico/jobs/jobstest"
	"portico/jobs/move"
	"portico/jobs/move/moveplan"
)

// What cannot move any more when its provider would be told of it is given up at
// once, and both groups are given back: whoever is in the way, and however the
// groups are spelt.
func TestWhatCannotMoveIsGivenUp(t *testing.T) {
	const inTarget = "/subscriptions/" + jobstest.Subscription + "/resourceGroups/Far/providers/Contoso.Compute/virtualMachines/m"
	adopt := func(id, typeName string) func(*jobstest.Provider) {
		return func(b *jobstest.Provider) {
			result, err := b.Store.Adopt(b.T.Context(), inventory.Discovery{Resource: inventory.Resource{
				Subscription: jobstest.Subscription, Group: "far", ID: id, Type: typeName, TypeName: typeName, Region: "westus", APIVersion: "2024-01-01",
			}})
			if err != nil || result != inventory.Adopted {
				b.T.Fatal(result, err)
			}
		}
	}
	stray := []*moveplan.Call{{
		Namespace: "Contoso.Compute", Region: "westus", Version: "2024-01-01",
		Resources: []*moveplan.Resource{{ID: jobstest.Machine, Key: strings.ToLower(jobstest.Machine), Type: jobstest.Machines, Stray: true}},
	}}
	for _, c := range []struct {
		name    string
		planned []*moveplan.Call
		before  func(*jobstest.Provider)
		want    string
	}{
		{"its place is taken", nil, adopt(inTarget, jobstest.Machines), "has a resource of this ID"},
		{"something is below its place", nil, adopt(inTarget+"/disks/d", jobstest.Machines+"/disks"), "has a resource of this ID"},
		{"a stray was forgotten", stray, func(*jobstest.Provider) {}, "was not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := jobstest.NewProvider(t) // it does not take a POST
			b.Live()
			for _, name := range []string{"G", "Far"} {
				b.Group(name)
			}
			job, err := b.Store.Moves.Begin(t.Context(), inventory.MoveRequest{
				Source: inventory.GroupName{Subscription: jobstest.Subscription, Name: "G"}, Target: inventory.GroupName{Subscription: jobstest.Subscription, Name: "Far"},
				Keys: []string{jobstest.Machine},
				Payload: func(source, target inventory.Group) string {
					return move.Payload{
						Source:    inventory.GroupName{Subscription: source.Subscription, Name: source.Name},
						Target:    inventory.GroupName{Subscription: target.Subscription, Name: target.Name},
						Resources: []string{jobstest.Machine}, Path: "/", Commission: jobs.Commission{Correlation: "c"}, Planned: c.planned != nil, Calls: c.planned,
					}.String()
				},
				Operation: polls.Operation{Token: "t", Until: time.Now().Add(time.Hour)},
			})
			if err != nil {
				t.Fatal(err)
			}
			c.before(b)
			b.Run(b.Store, map[string]jobs.Kind{inventory.MoveJob: &move.Mover{
				Prober: b.Prober(b.Store),
				Sender: "test", Region: "westus", Budget: time.Hour, Limit: time.Hour, SendWithin: time.Second, CallTimeout: time.Second,
				LateWriteWindow: time.Second, Floor: jobstest.Floor, Authorizer: allowed(""), Log: zap.NewNop(),
			}})
			b.Within("its end", func() bool { return b.Load(job.ID).State.Ended() })
			ended := b.Load(job.ID)
			p, err := move.ReadPayload(ended)
			if err != nil || ended.State != jobrow.Failed || !strings.Contains(string(p.Fault), c.want) {
				t.Errorf("%v, %v: %s", ended.State, err, p.Fault)
			}
			for _, name := range []string{"g", "far"} {
				if g, err := b.Store.Group(t.Context(), jobstest.Subscription, name); err != nil || g.State != index.GroupActive {
					t.Errorf("%s is %v, %v", name, g.State, err)
				}
			}
		})
	}
}
