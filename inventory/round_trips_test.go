package inventory

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/access"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/memory"
	"portico/test/harness"
)

// What a transaction costs on a server that is far away: one round trip that
// locks and reads, one that writes, and the commit, however many writes, groups
// and namespaces there are.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "fsync=off")
	trips := harness.StartRoundTrips(t, cluster.Address)
	s := openPostgres(t, strings.Replace(cluster.CreateDatabase(t, "portico"), cluster.Address, trips.Address, 1), 2)
	groups, names := []string{"rg1", "rg2"}, []string{"a", "b", "c"}
	for _, group := range groups {
		makeGroup(t, s, group)
	}
	for _, namespace := range []string{"n1", "n2"} {
		if _, err := s.Register(t.Context(), RegistrationChange{Subscription: "s", Namespace: namespace, Targets: []NotificationTarget{{Namespace: namespace, Region: "westus"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, group := range groups {
		createdIn(t, s, group, "parent")
	}
	for round := range 2 { // the first one creates
		var started, settled int
		tickets := make([]Ticket, 0, len(groups)*len(names))
		started = tripsOf(t, s, trips, func(do func(func() error)) {
			var mu sync.Mutex
			for i, group := range groups {
				for _, name := range names {
					do(func() error {
						w := vmWrite(group, "parent")
						w.Parent = w.Key
						w.ID, w.Type = w.ID+"/disks/"+name, w.Type+"/disks"
						w.Key, w.Namespace = w.ID, []string{"n1", "n2"}[i]
						ticket, err := s.Begin(t.Context(), w)
						mu.Lock()
						defer mu.Unlock()
						tickets = append(tickets, ticket)
						return err
					})
				}
			}
		})
		settled = tripsOf(t, s, trips, func(do func(func() error)) {
			for _, ticket := range tickets {
				do(func() error {
					_, err := s.Settle(t.Context(), ticket, WriteResult{Outcome: index.Succeeded, Status: http.StatusOK})
					return err
				})
			}
		})
		if started != 2 || settled != 1 {
			t.Errorf("round %d: %d writes began in %d round trips, and ended in %d", round, len(tickets), started, settled)
		}
	}
	// What is assigned at a resource goes with it, without another round trip.
	harness.OK(t, assignTest(t.Context(), s, "rg1", groupScope("s", "rg1")))
	for _, gone := range [][]string{names[:1], names[1:]} {
		var tickets []Ticket
		for _, name := range gone {
			w := vmWrite("rg2", "parent")
			w.Kind, w.Parent = index.Delete, w.Key
			w.ID, w.Type = w.ID+"/disks/"+name, w.Type+"/disks"
			w.Key, w.Namespace = w.ID, "n2"
			ticket, err := s.Begin(t.Context(), w)
			harness.OK(t, err)
			tickets = append(tickets, ticket)
		}
		if ended := tripsOf(t, s, trips, func(do func(func() error)) {
			for _, ticket := range tickets {
				do(func() error {
					result, err := s.Settle(t.Context(), ticket, WriteResult{Outcome: index.Gone, Status: http.StatusNoContent})
					if err == nil && !result.Settled {
						t.Error("a DELETE is not settled")
					}
					return err
				})
			}
		}); ended != 1 {
			t.Errorf("%d deletes ended in %d round trips", len(gone), ended)
		}
	}
}

// Which regions a list asks is one question, however many there are, and also where
// the subscription holds something in each.
func TestRegionsAreOneRoundTrip(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "fsync=off")
	trips := harness.StartRoundTrips(t, cluster.Address)
	s := openPostgres(t, strings.Replace(cluster.CreateDatabase(t, "portico"), cluster.Address, trips.Address, 1), 2)
	makeGroup(t, s, "rg")
	var given []string
	for i := range 50 {
		given = append(given, fmt.Sprintf("region%02d", i))
		if i%2 > 0 {
			continue
		}
		w := vmWrite("rg", given[i])
		w.Region = given[i]
		if _, err := s.Begin(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		harness.OK(t, s.Coverage.Cover(t.Context(), "s", w.Type, w.Region, s.Now()))
	}
	for group, want := range map[string]int{"": 50, "rg": 50, "other": 25} {
		trips.Take()
		regions, _, err := s.Coverage.MayHold(t.Context(), "s", group, "contoso.compute/virtualmachines", given)
		if n := harness.InSequence(trips.Take()); err != nil || len(regions) != want || n != 1 {
			t.Errorf("group %q: %d regions in %d round trips: %v", group, len(regions), n, err)
		}
	}
}

// However many requests find memory out of date after a pause, for whatever they look up:
// they wait for one question together.
func TestBurstAfterAPauseIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "fsync=off")
	trips := harness.StartRoundTrips(t, cluster.Address)
	var now atomic.Int64
	now.Store(time.Now().UnixMicro())
	o := testOptions(t)
	o.Driver, o.DSN, o.Connections = engine.Postgres, strings.Replace(cluster.CreateDatabase(t, "portico"), cluster.Address, trips.Address, 1), 8
	o.Now, o.ScopeEntries = func() time.Time { return time.UnixMicro(now.Load()) }, 1000
	s := openTest(t, o)
	makeGroup(t, s, "rg")
	if _, err := s.Register(t.Context(), RegistrationChange{Subscription: "s", Namespace: "n"}); err != nil {
		t.Fatal(err)
	}
	m, at := s.Scopes, o.Now()
	ask := func() bool {
		_, knowsSubscription, err := m.Subscription(t.Context(), "s", at)
		_, knowsGroup, failure := m.Group(t.Context(), "s", "rg", at)
		err = errors.Join(err, failure)
		_, knowsRegistration, failure := m.Registration(t.Context(), "s", "n", at)
		err = errors.Join(err, failure)
		_, knowsGrants, failure := m.GrantsAt(t.Context(), "t", "s", access.Principal{ObjectID: "o"}, "/", at)
		if err = errors.Join(err, failure); err != nil {
			t.Error(err)
		}
		return knowsSubscription && knowsGroup && knowsRegistration && knowsGrants
	}
	if err := m.Ask(t.Context()); err != nil { // of its own changes
		t.Fatal(err)
	}
	if ask() {
		t.Fatal("memory knows what no one has read")
	}
	for _, pause := range []time.Duration{memory.Bound + time.Microsecond, memory.Window / 2} {
		at = at.Add(pause)
		now.Store(at.UnixMicro())
		trips.Take()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if !ask() {
					t.Error("the store was asked for what memory holds")
				}
			})
		}
		all.Wait()
		if taken := trips.Take(); len(taken) != 1 {
			t.Errorf("100 requests after %v took %d round trips: %v", pause, len(taken), taken)
		}
	}
}

// tripsOf returns how many round trips several writes take that share a
// transaction.
func tripsOf(t *testing.T, s *Store, trips *harness.RoundTrips, writes func(do func(func() error))) int {
	t.Helper()
	release, queued := blocked(t, s)
	trips.Take()
	var wait sync.WaitGroup
	n := 0
	writes(func(write func() error) {
		n++
		wait.Go(func() {
			if err := write(); err != nil {
				t.Error(err)
			}
		})
	})
	queued(n)
	release()
	wait.Wait()
	const ofBlocker = 1
	return harness.InSequence(trips.Take()) - ofBlocker
}
