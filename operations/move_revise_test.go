package operations_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/inventory"
	"portico/locate"
	"portico/operations"
)

// What cannot move any more when its provider would be told of it is given up at
// once, and both groups are given back: whoever is in the way, and however the
// groups are spelt.
func TestWhatCannotMoveIsGivenUp(t *testing.T) {
	const inTarget = "/subscriptions/" + subscription + "/resourceGroups/Far/providers/Contoso.Compute/virtualMachines/m"
	adopt := func(id, typeName string) func(*bench) {
		return func(b *bench) {
			result, err := b.store.Adopt(b.t.Context(), inventory.Sighting{Resource: inventory.Resource{
				Subscription: subscription, Group: "far", ID: id, Type: typeName, TypeName: typeName, Region: "westus", APIVersion: "2024-01-01",
			}})
			if err != nil || result != inventory.Adopted {
				b.t.Fatal(result, err)
			}
		}
	}
	stray := []*operations.MovingCall{{
		Namespace: "Contoso.Compute", Region: "westus", Version: "2024-01-01",
		Members: []*operations.MovingMember{{ID: machine, Key: strings.ToLower(machine), Type: machines, Stray: true}},
	}}
	for _, c := range []struct {
		name    string
		planned []*operations.MovingCall
		before  func(*bench)
		want    string
	}{
		{"its place is taken", nil, adopt(inTarget, machines), "has a resource of this ID"},
		{"something is below its place", nil, adopt(inTarget+"/disks/d", machines+"/disks"), "has a resource of this ID"},
		{"a stray was forgotten", stray, func(*bench) {}, "was not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t) // it does not take a POST
			b.live()
			for _, name := range []string{"G", "Far"} {
				if _, _, err := b.store.EditGroup(t.Context(), subscription, name, func(*inventory.Group) (*inventory.Group, error) {
					return &inventory.Group{Subscription: subscription, Name: name, Location: "westus"}, nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			job, err := b.store.BeginMove(t.Context(), inventory.MoveOrder{
				Source: inventory.GroupName{Subscription: subscription, Name: "G"}, Target: inventory.GroupName{Subscription: subscription, Name: "Far"},
				Keys: []string{machine},
				Payload: func(source, target inventory.Group) string {
					return operations.MovePayload{
						Source:    inventory.GroupName{Subscription: source.Subscription, Name: source.Name},
						Target:    inventory.GroupName{Subscription: target.Subscription, Name: target.Name},
						Resources: []string{machine}, Path: "/", Correlation: "c", Planned: c.planned != nil, Calls: c.planned,
					}.String()
				},
				Operation: inventory.Operation{Token: "t", Until: time.Now().Add(time.Hour)},
			})
			if err != nil {
				t.Fatal(err)
			}
			c.before(b)
			b.run(b.store, with(inventory.MoveJob, operations.NewMoving(operations.Moving{
				Asker:  locate.Prober{Map: b.region, Upstream: b.client, Store: b.store, Public: b.public, Timeout: 5 * time.Second},
				Sender: "test", Region: "westus", Budget: time.Hour, Limit: time.Hour, SendWithin: time.Second, CallTimeout: time.Second,
				LateWriteWindow: time.Second, Floor: floor, Log: zap.NewNop(),
			}, prometheus.NewRegistry())))
			b.within("its end", func() bool { return b.load(job.ID).State.Ended() })
			ended := b.load(job.ID)
			p, err := operations.ReadMove(ended)
			if err != nil || ended.State != inventory.JobFailed || !strings.Contains(string(p.Fault), c.want) {
				t.Errorf("%v, %v: %s", ended.State, err, p.Fault)
			}
			for _, name := range []string{"g", "far"} {
				if g, err := b.store.Group(t.Context(), subscription, name); err != nil || g.State != inventory.GroupActive {
					t.Errorf("%s is %v, %v", name, g.State, err)
				}
			}
		})
	}
}
