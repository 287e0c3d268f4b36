package inventory

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"testing"

	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

// someone is who calls, as an access token says it.
var someone = events.Cause{
	TenantID: "00000000-0000-0000-0000-00000000000a", ObjectID: "00000000-0000-0000-0000-00000000000b", AppID: "00000000-0000-0000-0000-00000000000c",
	Name: "someone@contoso.com", Issuer: "https://login.contoso.com/00000000-0000-0000-0000-00000000000a/v2.0", Address: "192.0.2.100",
	Correlation: "00000000-0000-0000-0000-00000000000d", Request: "00000000-0000-0000-0000-00000000000e", Method: http.MethodPut,
	URI: "/subscriptions/s/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/vm-00-00",
}

// cost is what writes have taken of the store.
type cost struct{ statements, allocations, logged int }

// costOf returns what n writes take that share a transaction.
func costOf(t *testing.T, s *Store, log string, n int, write func(i int) error) cost {
	t.Helper()
	logged := func() int {
		info, err := os.Stat(log)
		harness.OK(t, err)
		return int(info.Size())
	}
	var before, after runtime.MemStats
	statements, bytes := s.Stats().Statements, logged()
	runtime.ReadMemStats(&before)
	_, errs := together(t, s, n, func(i int) (any, error) { return nil, write(i) })
	runtime.ReadMemStats(&after)
	for _, err := range errs {
		harness.OK(t, err)
	}
	return cost{int(s.Stats().Statements - statements), int(after.Mallocs - before.Mallocs), logged() - bytes}
}

// What a create and an update cost SQLite, with their events, where 64 share a transaction:
// figures that do not depend on the machine.
func TestWhatWritesCost(t *testing.T) {
	o := testOptions(t)
	s := openTest(t, o)
	makeGroup(t, s, "rg")
	var off int
	harness.OK(t, s.write(t.Context(), engine.Flushed, engine.LockSet{}, func(tx *tx) error { return tx.One("PRAGMA wal_autocheckpoint = 0")(&off) }))
	ctx := events.With(t.Context(), &someone)
	const n = 64
	var tickets [n]Ticket
	begin := func(ctx context.Context, round int) func(i int) error {
		return func(i int) (err error) {
			w := vmWrite("rg", fmt.Sprintf("vm-%02d-%02d", round, i))
			tickets[i], err = s.Begin(ctx, w)
			return err
		}
	}
	settle := func(status int) func(i int) error {
		return func(i int) error {
			_, err := s.Settle(ctx, tickets[i], WriteResult{Outcome: index.Succeeded, Status: status, ProvisioningState: "Succeeded"})
			return err
		}
	}
	for round := range 3 { // the first ones prepare statements, and split pages
		for _, c := range []struct {
			name string
			do   func(i int) error
			each int // statements of each
			// Of each, at most; the detector of races allocates, too.
			allocations, bytes float64
		}{
			{"create", begin(ctx, round), 2, 105, 4700},
			{"answer to a create", settle(http.StatusCreated), 2, 78, 2900},
			{"update", begin(ctx, round), 2, 120, 2100},
			{"answer to an update", settle(http.StatusOK), 2, 78, 2900},
		} {
			spent := costOf(t, s, o.DSN+"-wal", n, c.do)
			each := func(of int) float64 { return float64(of) / n }
			t.Logf("%s: %.2f statements, %.1f allocations, %.0f bytes", c.name, each(spent.statements), each(spent.allocations), each(spent.logged))
			if round == 0 {
				continue
			}
			const shared = 12 // statements, also of the write that held the others up
			if spent.statements > c.each*n+shared {
				t.Errorf("%s: %d statements for %d, want %d of each and at most %d that they share", c.name, spent.statements, n, c.each, shared)
			}
			if each(spent.allocations) > c.allocations || each(spent.logged) > c.bytes {
				t.Errorf("%s: %.1f allocations and %.0f bytes of the log, want at most %v and %v", c.name, each(spent.allocations), each(spent.logged), c.allocations, c.bytes)
			}
		}
	}
}
