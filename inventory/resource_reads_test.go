package inventory

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"portico/inventory/engine"
	"portico/test/harness"
)

// together has n writes run in one transaction, and returns what came of each.
func together[T any](t *testing.T, s *Store, n int, write func(i int) (T, error)) ([]T, []error) {
	t.Helper()
	results, errs := make([]T, n), make([]error, n)
	release, queued := blocked(t, s)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { results[i], errs[i] = write(i) })
	}
	queued(n)
	release()
	wait.Wait()
	return results, errs
}

// What the members of a transaction ask of resources is asked together, and each gets its
// own: of two subscriptions, some there and some not, with several open writes or none.
func TestMembersReadTheirOwnResources(t *testing.T) {
	s := openTest(t, testOptions(t))
	harness.OK(t, s.SeedSubscriptions(t.Context(), []Subscription{{ID: "other", TenantID: "t"}}))
	for _, sub := range []string{"s", "other"} {
		if _, _, err := s.EditGroup(t.Context(), sub, "rg", func(*Group) (*Group, error) { return &Group{}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	write := func(i int) Write {
		w := vmWrite("rg", fmt.Sprint("vm", i))
		w.Subscription = []string{"s", "other"}[i%2]
		return w
	}
	const step = 7
	for round := range 3 {
		tickets, errs := together(t, s, step*(round+1), func(i int) (Ticket, error) { return s.Begin(t.Context(), write(i)) })
		for i, ticket := range tickets {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			row, err := s.Resource(t.Context(), ticket.Subscription, ticket.Key)
			harness.OK(t, err)
			before := round - i/step // writes of the same resource
			if ticket.CreatedRow != (before == 0) || len(ticket.left.open) != before+1 || ticket.Generation != row.Generation {
				t.Errorf("write %d after %d: it created the row: %t; %d are open; its row's generation: %x, want %x",
					i, before, ticket.CreatedRow, len(ticket.left.open), ticket.Generation, row.Generation)
			}
		}
	}
}

// A row that cannot be read is the trouble of those who need it.
func TestARowThatCannotBeReadHarmsNoNeighbour(t *testing.T) {
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	begin := func(i int) (Ticket, error) { return s.Begin(t.Context(), vmWrite("rg", fmt.Sprint("vm", i))) }
	const n, broken = 9, 4
	first, errs := together(t, s, n, begin)
	for _, err := range errs {
		harness.OK(t, err)
	}
	if err := s.write(t.Context(), engine.Flushed, engine.LockSet{}, func(t *tx) error {
		_, err := t.Exec(`UPDATE resources SET details = '{' WHERE subscription = ? AND key = ?`, "s", first[broken].Key)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	second, errs := together(t, s, n, begin)
	for i, err := range errs {
		switch {
		case i == broken && (err == nil || !strings.Contains(err.Error(), "details of")):
			t.Errorf("the write whose row cannot be read: %v", err)
		case i != broken && (err != nil || second[i].CreatedRow || len(second[i].left.open) != 2):
			t.Errorf("write %d: %+v, %v", i, second[i], err)
		}
	}
}
