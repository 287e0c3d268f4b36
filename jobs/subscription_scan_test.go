package jobs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/inventory"
)

func subscriptionStore(t *testing.T, subscriptions int) *inventory.Store {
	t.Helper()
	store := storeAt(t, filepath.Join(t.TempDir(), "portico.db"))
	var seeds []inventory.Subscription
	for i := range subscriptions {
		seeds = append(seeds, inventory.Subscription{ID: fmt.Sprintf("s%d", i), TenantID: "t"})
	}
	if err := store.SeedSubscriptions(t.Context(), seeds); err != nil {
		t.Fatal(err)
	}
	return store
}

// A scan that is cut short goes on with the subscription at which it was, and
// when it has come to its end it visits none again.
func TestAScanGoesOnWhereItWas(t *testing.T) {
	store := subscriptionStore(t, 4)
	var scan SubscriptionScan
	var visited []string
	short := errors.New("time is over")
	for _, want := range []struct {
		visited []string
		err     error
	}{
		{[]string{"s0", "s1"}, short},
		{[]string{"s1", "s2"}, short},
		{[]string{"s2", "s3"}, short},
		{[]string{"s3"}, nil},
		{nil, nil},
	} {
		visited = nil
		err := scan.Visit(t.Context(), store, func(sub inventory.Subscription) error {
			if visited = append(visited, sub.ID); len(visited) == 2 {
				return short
			}
			return nil
		})
		if !slices.Equal(visited, want.visited) || !errors.Is(err, want.err) {
			t.Fatalf("visited %v, %v; want %v, %v", visited, err, want.visited, want.err)
		}
	}
	if !scan.Ended() {
		t.Error("it has not ended")
	}
}

// A scan whose time is over has not failed: it goes on in the next round.
func TestAScanWithoutTimeGoesOnLater(t *testing.T) {
	store := subscriptionStore(t, 3)
	var scan SubscriptionScan
	for i := range 3 {
		var visited []string
		err := scan.visit(t.Context(), store, 0, func(sub inventory.Subscription) error {
			visited = append(visited, sub.ID)
			return nil
		})
		if want := fmt.Sprint("s", i); err != nil || !slices.Equal(visited, []string{want}) || scan.Ended() != (i == 2) {
			t.Fatalf("visited %v, %v, at the end: %t; want %s", visited, err, scan.Ended(), want)
		}
	}
}

// While the store does not answer, the number of open writes stays as last counted.
func TestGaugesStayWhenTheStoreFails(t *testing.T) {
	store := subscriptionStore(t, 0)
	registry := prometheus.NewRegistry()
	r := NewRunner(Options{Store: store, Lease: time.Second, Log: zap.NewNop(), Metrics: registry})
	r.housekeeper.intents.Set(3)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.housekeeper.measure(t.Context()); err == nil {
		t.Error("a closed store was measured")
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := -1.0
	for _, family := range families {
		if family.GetName() == "portico_index_intents" {
			shown = family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	if shown != 3 {
		t.Errorf("%v", shown)
	}
}
