package move_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/jobs"
	"portico/jobs/jobstest"
	"portico/jobs/move"
)

// allowed is a caller that may do everything but one thing: an action, a space, a scope.
type allowed string

func (a allowed) CheckPrincipal(_ context.Context, _ access.Principal, action, scope string) error {
	if string(a) != action+" "+scope {
		return nil
	}
	return arm.NewError(arm.AuthorizationFailed, "ann", "a", action, scope)
}

// What its caller may not have moved any more is not moved: no provider is told, and the
// groups are given back.
func TestMoveWithoutARight(t *testing.T) {
	const group = "Microsoft.Resources/subscriptions/resourceGroups/"
	const in = " /subscriptions/" + jobstest.Subscription + "/resourceGroups/"
	for _, missing := range []string{"moveResources/action" + in + "g", "write" + in + "h", "Contoso.Compute/virtualMachines/read " + jobstest.Machine} {
		for _, validate := range []bool{false, true} {
			kind, right := inventory.MoveJob, missing
			if !strings.HasPrefix(right, "Contoso") {
				right = group + right
			}
			if validate {
				kind, right = inventory.ValidateMoveJob, strings.Replace(right, "moveResources", "validateMoveResources", 1)
			}
			t.Run(kind+" "+right, func(t *testing.T) {
				t.Parallel()
				var calls atomic.Int64
				provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					calls.Add(1)
					w.WriteHeader(http.StatusNoContent)
				}))
				t.Cleanup(provider.Close)
				b := jobstest.NewCompute(t, provider.URL, `{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"], capabilities: {move: true}}`)
				b.Group("g")
				b.Group("h")
				b.Live()
				source, target := inventory.GroupName{Subscription: jobstest.Subscription, Name: "g"}, inventory.GroupName{Subscription: jobstest.Subscription, Name: "h"}
				job, err := b.Store.Moves.Begin(t.Context(), inventory.MoveRequest{
					Source: source, Target: target, Keys: []string{jobstest.Machine}, Validate: validate,
					Payload: func(inventory.Group, inventory.Group) string {
						return move.Payload{Source: source, Target: target, Resources: []string{jobstest.Machine}, Path: "/", Commission: jobs.Commission{Correlation: "c"}}.String()
					},
					Operation: polls.Operation{Token: "t", Until: time.Now().Add(time.Hour)},
				})
				if err != nil {
					t.Fatal(err)
				}
				mover := &move.Mover{
					Prober: b.Prober(b.Store), Sender: "test", Region: "westus", Budget: time.Hour, Limit: time.Hour, SendWithin: time.Second, CallTimeout: time.Second,
					LateWriteWindow: time.Second, Floor: jobstest.Floor, Authorizer: allowed(right), Log: zap.NewNop(),
				}
				b.Run(b.Store, map[string]jobs.Kind{inventory.MoveJob: mover, inventory.ValidateMoveJob: move.Validator{Mover: mover}})
				b.Within("its end", func() bool { return b.Load(job.ID).State.Ended() })
				ended := b.Load(job.ID)
				p, err := move.ReadPayload(ended)
				if err != nil || ended.State != jobrow.Failed || !strings.Contains(string(p.Fault), "AuthorizationFailed") {
					t.Errorf("%v, %v: %s", ended.State, err, p.Fault)
				}
				if n := calls.Load(); n != 0 {
					t.Errorf("the provider got %d calls", n)
				}
				for _, name := range []string{"g", "h"} {
					if g, err := b.Store.Group(t.Context(), jobstest.Subscription, name); err != nil || g.State != index.GroupActive {
						t.Errorf("%s is %v, %v", name, g.State, err)
					}
				}
			})
		}
	}
}
