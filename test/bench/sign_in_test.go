package bench

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/harness"
)

// What signing in by an issuer's token, and being judged by an assigned role, cost: the
// processor time of a warm read beside that of a gateway that knows its callers by static
// tokens and lets them do everything, and of one that asks nobody who they are; by turns
// in one run.
func BenchmarkSignedIn(b *testing.B) {
	const contributor = "/providers/Microsoft.Authorization/roleDefinitions/b24988ac-6180-42a0-ab88-20f7382dd24c"
	owner := harness.Token{Raw: "owner-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a1", Name: "owner"}
	issuer := harness.NewIssuer(b)
	open := harness.NewWorld(b, harness.WorldOptions{})
	known := harness.NewWorld(b, harness.WorldOptions{Config: harness.Config{Tokens: []harness.Token{owner}, Owners: []string{}, Auth: "  roles: ignored"}})
	guarded := harness.NewWorld(b, harness.WorldOptions{Config: harness.Config{
		Tokens: []harness.Token{owner}, Owners: []string{owner.ObjectID}, Auth: issuer.Auth("", ""),
	}})
	for _, w := range []*harness.World{open, known, guarded} {
		w.PutGroup(b, "rg")
		w.PutResource(b, "rg", "Contoso.Compute/virtualMachines/vm", `{"location":"westus"}`)
	}
	assignment := guarded.SubscriptionPath() + "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000e?api-version=2022-04-01"
	guarded.Portico.Do(b, harness.Request{Method: http.MethodPut, Path: assignment, Body: `{"properties":{"roleDefinitionId":"` +
		guarded.SubscriptionPath() + contributor + `","principalId":"` + harness.IssuedTo + `","principalType":"ServicePrincipal"}}`}).Want(b, 201)
	guarded.Portico.Token = issuer.Token(b)

	const callers, each = 8, 500
	// cost reads the resource many times and returns the gateway's time for one of them.
	cost := func(w *harness.World) time.Duration {
		vm := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm") + "?api-version=" + harness.Version
		before, err := peers.CPU(w.Portico.Pid())
		if err != nil {
			b.Fatal(err)
		}
		var reading sync.WaitGroup
		for range callers {
			reading.Go(func() {
				for range each {
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					a, err := w.Portico.Try(ctx, harness.Request{Path: vm})
					cancel()
					if err != nil || a.Status != http.StatusOK {
						b.Error(a.Status, err)
						return
					}
				}
			})
		}
		reading.Wait()
		after, err := peers.CPU(w.Portico.Pid())
		if err != nil {
			b.Fatal(err)
		}
		return (after - before) / (callers * each)
	}
	for _, w := range []*harness.World{open, known, guarded} {
		cost(w)
	}
	var ofOpen, ofKnown, ofGuarded time.Duration
	for b.Loop() {
		ofOpen += cost(open)
		ofKnown += cost(known)
		ofGuarded += cost(guarded)
	}
	b.ReportMetric(float64(ofGuarded)/float64(ofKnown), "x-known")
	b.ReportMetric(float64(ofGuarded)/float64(ofOpen), "x-open")
	b.ReportMetric(float64(ofOpen.Microseconds())/float64(b.N), "µs-open")
}
