package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// moveFaults are what providers do to the calls that move something, while
// gateways die.
var moveFaults = []string{
	"async=location", "async=azure-async-only", "async=azure-async", "async=no-url", "async-fails=location", "reset-before", "reset-after", "throttle=1",
	"status=503", "status=409", "late=1s", "late=2500ms", "delay=800ms", "delay=3500ms", "halfway", "slow=700ms",
}

// A move outlives the gateways that work on it: whichever is killed or stopped,
// at whatever step, afterwards every resource is in exactly one group, in the
// index as at its provider.
func TestMoveOutlivesItsReplicas(t *testing.T) {
	t.Parallel()
	const moves, kills = 14, 16
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	postgres := harness.StartPostgres(t)
	w := movers(t, harness.WorldOptions{Replicas: 2, Config: harness.Config{Postgres: postgres.CreateDatabase(t, "moves"), Extra: moveSettings}})
	groups := []string{
		group(t, w, harness.SubscriptionID, "one"), group(t, w, otherSubscription, "two"), group(t, w, harness.SubscriptionID, "three"),
	}
	resources := oneOfEach()
	for i := range 20 {
		resources[fmt.Sprintf("Contoso.Compute/virtualMachines/more-%02d", i)] = harness.RegionNames()[i%3]
	}
	ids := makeIn(t, w, groups[0], resources)
	for _, id := range ids {
		if strings.Contains(id, "/more-") {
			w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: id + "/disks/d?api-version=" + harness.Version, Body: `{}`}).Want(t, 201)
		}
	}
	stop := make(chan struct{})
	var striking sync.WaitGroup
	striking.Go(func() { strike(t, w, rand.New(rand.NewPCG(seed, 2)), kills, stop) })
	fates := map[int]int{}
	for n := 0; n < moves || fates[204] == 0 && n < 3*moves; n++ { // faults and empty groups can take all of a few
		from := random.IntN(len(groups))
		to := (from + 1 + random.IntN(len(groups)-1)) % len(groups)
		for _, region := range append(harness.RegionNames(), "global") {
			if random.IntN(3) > 0 {
				moveMisbehaves(t, w, region, moveFaults[random.IntN(len(moveFaults))], 1)
			}
		}
		var some []string
		for _, id := range topLevel(holdings(t, w, groups[from])) {
			if random.IntN(4) > 0 {
				some = append(some, id)
			}
		}
		if len(some) == 0 {
			continue
		}
		if a, ok := moveThrough(t, w, moveRequest("moveResources", groups[from], groups[to], some...)); ok {
			fates[a.Status]++
			if a.Status != 204 && a.ErrorCode() != "ResourceMoveFailed" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	}
	close(stop)
	striking.Wait()
	behave(t, w)
	t.Logf("moves by status: %v", fates)
	if fates[204] == 0 {
		t.Error("nothing moved")
	}
	for _, p := range w.Replicas {
		places := map[string]string{}
		for i, group := range groups {
			agree(t, w, p, group, groups[(i+1)%len(groups)])
			for _, id := range holdings(t, w, group) {
				name := id[len(group):]
				if places[name] != "" {
					t.Errorf("%s is in %s and in %s", name, places[name], group)
				}
				places[name] = group
			}
		}
		if want := len(ids) + 20; len(places) != want {
			t.Errorf("%d resources, want %d", len(places), want)
		}
		for name, group := range places {
			for _, in := range groups {
				want := 404
				if in == group {
					want = 200
				}
				p.Do(t, harness.Request{Path: in + name + "?api-version=" + harness.Version}).Want(t, want)
			}
		}
	}
	for _, group := range groups {
		w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: group + ownVersion}).Want(t, 200, 202)
		soon(t, "the group goes", func() bool { return w.Portico.Do(t, harness.Request{Path: group + ownVersion}).Status == 404 })
		if left := holdings(t, w, group); len(left) != 0 {
			t.Errorf("%v", left)
		}
	}
}

// topLevel are the ids of resources below which others lie.
func topLevel(ids []string) []string {
	return slices.DeleteFunc(ids, func(id string) bool { return strings.Count(id, "/") > 8 })
}

// strike kills or pauses gateways, one at a time.
func strike(t *testing.T, w *harness.World, random *rand.Rand, kills int, stop <-chan struct{}) {
	for range kills {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(300+random.IntN(1500)) * time.Millisecond):
		}
		p := w.Replicas[random.IntN(len(w.Replicas))]
		switch random.IntN(3) {
		case 0: // for longer than a lease, or the time to send
			p.Pause(t)
			time.Sleep(time.Duration(500+random.IntN(3000)) * time.Millisecond)
			p.Resume(t)
		default:
			p.Kill(t)
			p.Restart(t)
		}
	}
}

// moveThrough begins a move by whichever gateway is there, and polls it to its end
// likewise. ok is false where no one knows whether it began.
func moveThrough(t *testing.T, w *harness.World, r harness.Request) (a harness.Answer, ok bool) {
	t.Helper()
	call := func(r harness.Request) (harness.Answer, bool) {
		for bound := time.Now().Add(time.Minute); time.Now().Before(bound); time.Sleep(100 * time.Millisecond) {
			for _, p := range w.Replicas {
				a, err := p.Try(t.Context(), r)
				if err == nil && a.Status < 500 {
					return a, true
				}
				if r.Method == http.MethodPost {
					return a, false
				}
			}
		}
		t.Errorf("%s: no gateway answers", r.Path)
		return a, false
	}
	if a, ok = call(r); !ok || a.Status != http.StatusAccepted {
		if ok && a.ErrorCode() != "ResourcesBeingMoved" && a.ErrorCode() != "ResourceNotFound" && a.ErrorCode() != "RequestConflict" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		time.Sleep(time.Second) // one that began all the same is under way
		return a, false
	}
	location := strings.TrimPrefix(a.Header.Get("Location"), w.Portico.URL)
	for bound := time.Now().Add(3 * time.Minute); time.Now().Before(bound); time.Sleep(50 * time.Millisecond) {
		if a, ok = call(harness.Request{Path: location}); !ok || a.Status != http.StatusAccepted {
			return a, ok
		}
	}
	t.Errorf("the move does not end")
	return a, false
}
