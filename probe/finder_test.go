package probe

import (
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/tracing"
)

// A provider learns for whom it is asked, by the words of a client's own call.
func TestSearchIsOnBehalfOfItsCaller(t *testing.T) {
	w := newWorld(t)
	w.holds[machine] = "eastus"
	caller := Caller{
		Principal: access.Principal{AnyTenant: true, ObjectID: "o"},
		Identity:  tracing.Identity{Correlation: "c", Routing: "r"},
		Client:    tracing.Client{Address: netip.MustParseAddr("192.0.2.1"), Forwarded: "192.0.2.1, 192.0.2.2"},
	}
	if err := w.finder().Find(t.Context(), caller, w.sought()); err != nil {
		t.Fatal(err)
	}
	row, err := w.store.Resource(t.Context(), subscription, machine)
	if err != nil || row.Region != "eastus" || row.APIVersion != "2025-01-01" || len(w.calls) != 2 {
		t.Errorf("%+v %v after %d calls", row, err, len(w.calls))
	}
	for _, call := range w.calls {
		for name, want := range map[string]string{
			"X-Ms-Client-Tenant-Id": "t", "X-Ms-Client-Object-Id": "o", "X-Ms-Correlation-Request-Id": "c", "X-Ms-Routing-Request-Id": "r",
			"X-Ms-Client-Ip-Address": "192.0.2.1", "X-Forwarded-For": "192.0.2.1, 192.0.2.2", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "portico.example",
			"Referer": "https://portico.example" + machine + "?api-version=2025-01-01",
		} {
			if got := call.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

func TestSearchesAreShared(t *testing.T) {
	w := newWorld(t)
	w.holds[machine] = "eastus"
	f, sought, caller := w.finder(), w.sought(), Caller{Share: "192.0.2.1"}
	key := caller.Share + " " + sought.Key
	running := &search{done: make(chan struct{})}
	f.searches[key] = running
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if err := f.Find(t.Context(), caller, sought); !errors.Is(err, errBrokenOff) {
				t.Errorf("%v", err)
			}
		})
	}
	running.err = errBrokenOff
	close(running.done)
	wait.Wait()
	if len(w.calls) != 0 {
		t.Errorf("%d calls", len(w.calls))
	}
	// It is not shared with others, and leaves nothing behind.
	if err := f.Find(t.Context(), Caller{}, sought); err != nil || len(w.calls) != 2 {
		t.Errorf("%v after %d calls", err, len(w.calls))
	}
	if delete(f.searches, key); len(f.searches) != 0 {
		t.Error("a search is left behind")
	}
}

// To those who wait for it, a search that panicked has not found that there is
// nothing.
func TestSearchThatBreaksOff(t *testing.T) {
	w := newWorld(t)
	f, sought := w.finder(), w.sought()
	sought.Endpoints[0] = nil
	running := &search{done: make(chan struct{})}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a search without an endpoint was made")
			}
		}()
		f.run(t.Context(), "", running, Caller{}, sought)
	}()
	<-running.done
	if !errors.Is(running.err, errBrokenOff) {
		t.Errorf("it ended with %v", running.err)
	}
}

func TestSearchesAreThrottled(t *testing.T) {
	w := newWorld(t)
	f, sought := w.finder(), w.sought()
	f.rates[subscription] = rate.NewLimiter(rate.Every(30*time.Second), 1)
	if err := f.Find(t.Context(), Caller{}, sought); err != nil {
		t.Fatal(err)
	}
	w.calls = nil
	fault, ok := errors.AsType[*arm.Error](f.Find(t.Context(), Caller{}, sought))
	if !ok || fault.Status != http.StatusTooManyRequests || fault.Code != "SubscriptionRequestsThrottled" || fault.RetryAfter != 30*time.Second ||
		fault.Message != "Number of requests for subscription '"+subscription+"' and operation 'GET/CONTOSO.COMPUTE/VIRTUALMACHINES' exceeded the backend storage limit. Please try again after '30' seconds." {
		t.Errorf("%+v", fault)
	}
	if len(w.calls) != 0 {
		t.Errorf("%d calls", len(w.calls))
	}
}

// What was deleted while it was seen is searched for once more.
func TestDiscoveryThatIsOvertaken(t *testing.T) {
	w := newWorld(t)
	w.holds[machine] = "eastus"
	f, sought := w.finder(), w.sought()
	if err := f.Find(t.Context(), Caller{}, sought); err != nil {
		t.Fatal(err)
	}
	stale := inventory.Discovery{ListedSince: w.store.Now(), Resource: inventory.Resource{
		Subscription: subscription, Group: "g", ID: machine, Type: sought.Type.Key, TypeName: sought.Type.FullName, Region: "eastus",
	}}
	ticket, err := w.store.Begin(t.Context(), inventory.Write{
		Kind: index.Delete, Subscription: subscription, Group: "g", Key: machine, ID: machine, Type: sought.Type.Key, TypeName: sought.Type.FullName, Region: "eastus",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Settle(t.Context(), ticket, inventory.WriteResult{Outcome: index.Gone}); err != nil {
		t.Fatal(err)
	}
	if again, err := f.adopt(t.Context(), sought, []inventory.Discovery{stale}); err != nil || !again {
		t.Errorf("%v %v", again, err)
	}
	if row, err := w.store.Resource(t.Context(), subscription, machine); !errors.Is(err, inventory.ErrNotFound) {
		t.Errorf("a stale discovery brought it back: %+v %v", row, err)
	}
}
