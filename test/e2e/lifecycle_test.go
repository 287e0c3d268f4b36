package e2e

import (
	"context"
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

// providerStates are clients' states as providers know them.
var providerStates = map[string]string{"Enabled": "Registered", "PastDue": "Registered", "Warned": "Warned", "Disabled": "Suspended", "Deleted": "Deleted"}

func allRegionNames() []string { return append(harness.RegionNames(), "global") }

// registrar changes subscriptions through whichever gateway answers.
type registrar struct {
	w    *harness.World
	rand *rand.Rand
	n    int
}

// insist makes a call until some gateway answers it with one of the statuses.
func (r *registrar) insist(ctx context.Context, t *testing.T, call harness.Request, admin bool, statuses ...int) {
	last := ""
	for ctx.Err() == nil {
		p := r.w.Replicas[r.rand.IntN(len(r.w.Replicas))]
		bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
		send := p.Try
		if admin {
			send = p.TryAdmin
		}
		a, err := send(bounded, call)
		cancel()
		if err == nil && slices.Contains(statuses, a.Status) {
			return
		}
		last = fmt.Sprint(err, a.Status, string(a.Body))
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s %s: %s", call.Method, call.Path, last)
}

// put changes a subscription; each version has an offer of its own.
func (r *registrar) put(ctx context.Context, t *testing.T, id, state string) {
	r.n++
	r.insist(ctx, t, harness.Request{
		Method: http.MethodPut, Path: "/admin/subscriptions/" + id,
		Body: fmt.Sprintf(`{"tenantId":%q,"state":%q,"offerId":"v%d"}`, harness.TenantID, state, r.n),
	}, true, 200, 201)
}

func subscriptionID(i int) string { return fmt.Sprintf("00000000-0000-0000-0000-0000000001%02d", i) }

// Whichever gateway dies, or stands still beyond its leases, at whatever step:
// in the end every endpoint knows the newest state of every subscription.
func TestEveryProviderIsNotifiedOfTheNewestState(t *testing.T) {
	t.Parallel()
	const subscriptions, rounds = 4, 6
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{
			Postgres: postgres.CreateDatabase(t, "notices"), ComputeRegistration: "required",
			Extra: strings.Replace(replicaSettings, "askTimeout: 10s", "askTimeout: 500ms", 1),
		},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var kept [subscriptions]int // versions that had to be told
	var changes sync.WaitGroup
	stop := make(chan struct{})
	// In any order, and some of them lost or late.
	for _, fault := range []string{"delay=150ms", "status=503", "reset-after", "delay=300ms", "status=202", "reset-before", "status=429"} {
		misbehave(t, w, "PUT", "/subscriptions/00000000-0000-0000-0000-0000000001", fault, 6)
	}
	misbehave(t, w, "PUT", "/subscriptions/00000000-0000-0000-0000-0000000001", "delay=60ms", -1)
	for i := range subscriptions {
		id, r := subscriptionID(i), &registrar{w: w, rand: rand.New(rand.NewPCG(seed, uint64(i)+2))}
		changes.Go(func() {
			for {
				r.put(ctx, t, id, []string{"Enabled", "PastDue", "Warned", "Disabled"}[r.rand.IntN(4)])
				if r.rand.IntN(3) == 0 {
					r.put(ctx, t, id, "Enabled")
					route := []string{"register", "unregister"}[r.rand.IntN(2)]
					r.insist(ctx, t, harness.Request{
						Method: http.MethodPost, Path: "/subscriptions/" + id + "/providers/Contoso.Compute/" + route + "?api-version=2021-04-01",
					}, false, 200)
				}
				kept[i] = r.n
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(r.rand.IntN(60)) * time.Millisecond):
				}
			}
		})
	}
	for i := range rounds {
		victim := w.Replicas[i%2]
		time.Sleep(time.Duration(300+random.IntN(700)) * time.Millisecond)
		if i%3 == 2 {
			victim.Pause(t)
			time.Sleep(2500 * time.Millisecond) // beyond the lease
			victim.Resume(t)
			continue
		}
		victim.Kill(t)
		victim.Restart(t)
	}
	close(stop)
	changes.Wait()
	behave(t, w)
	// A request that a paused gateway had received takes effect after its client gave it up, and
	// then there is something to tell again.
	var wrong []string
	reported := 0
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(wrong, "\n"))
		}
	}()
	soon(t, "every endpoint knows the newest", func() bool {
		wrong, reported = nil, 0
		for i := range subscriptions {
			faults, notices := unknown(t, w, subscriptionID(i))
			wrong, reported = append(wrong, faults...), reported+notices
		}
		return len(wrong) == 0 && openJobs(t, w.Portico, "notice") == 0
	})
	t.Logf("%v versions, %d notices taken", kept, reported)

	// And then one goes, with what is in it.
	id, r := subscriptionID(0), &registrar{w: w, rand: random, n: 100000}
	r.put(ctx, t, id, "Enabled")
	group := "/subscriptions/" + id + "/resourceGroups/rg"
	r.insist(ctx, t, harness.Request{Method: http.MethodPut, Path: group + "?api-version=2021-04-01", Body: `{"location":"westus"}`}, false, 200, 201)
	workspace := harness.Request{Method: http.MethodPut, Path: group + "/providers/Contoso.Insight/workspaces/ws?api-version=" + harness.Version, Body: `{"location":"eastus"}`}
	soon(t, "its providers take writes", func() bool { return openJobs(t, w.Portico, "notice") == 0 })
	r.insist(ctx, t, workspace, false, 201, 200)
	r.put(ctx, t, id, "Deleted")
	w.Replicas[0].Kill(t)
	w.Replicas[0].Restart(t)
	soon(t, "it is erased", func() bool {
		return strings.Contains(string(w.Portico.Admin(t, harness.Request{Path: "/admin/subscriptions/" + id}).Want(t, 200).Body), `"erased":true`)
	})
	for _, region := range allRegionNames() {
		for _, held := range w.Contoso(region).Resources(t) {
			if strings.HasPrefix(held, "/subscriptions/"+id) {
				t.Errorf("%s still holds %s", region, held)
			}
		}
		for namespace, state := range w.Contoso(region).Notifications(t)[id].Namespaces {
			if state != "Deleted" {
				t.Errorf("%s of %s knows the deleted subscription as %s", namespace, region, state)
			}
		}
	}
	r.put(ctx, t, id, "Enabled")
	w.Portico.Do(t, harness.Request{Path: group + "?api-version=2021-04-01"}).WantError(t, 404, "ResourceGroupNotFound")
}

// openJobs counts the jobs of a kind that have not ended.
func openJobs(t *testing.T, p *harness.Portico, kind string) (open int) {
	t.Helper()
	for _, job := range p.Admin(t, harness.Request{Path: "/admin/jobs?kind=" + kind}).Want(t, 200).Values(t) {
		if state := job["state"]; state != "Done" && state != "Failed" {
			open++
		}
	}
	return open
}

// unknown describes the endpoints that do not know the newest of a subscription, and counts the
// notices that all of them took.
func unknown(t *testing.T, w *harness.World, id string) (faults []string, notices int) {
	t.Helper()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	now := w.Portico.Admin(t, harness.Request{Path: "/admin/subscriptions/" + id}).Want(t, 200).JSON(t)
	state, offer := providerStates[now["state"].(string)], now["offerId"].(string)
	registration := w.Portico.Do(t, harness.Request{Path: "/subscriptions/" + id + "/providers/Contoso.Compute?api-version=2021-04-01"}).Want(t, 200).JSON(t)["registrationState"]
	for _, region := range allRegionNames() {
		notifications := w.Contoso(region).Notifications(t)[id]
		notices += len(notifications.Journal)
		if got := notifications.Notices["contoso.insight"]; got.State != state || got.Properties.QuotaID != offer {
			fault("%s: %s knows %+v, want %s %s; it was told %+v", id, region, got, state, offer, notifications.Journal)
		}
		got := notifications.Notices["contoso.compute"]
		switch registration {
		case "Registered":
			if got.State != state || got.Properties.QuotaID != offer {
				fault("%s: %s, registered, knows %+v, want %s %s; it was told %+v", id, region, got, state, offer, notifications.Journal)
			}
		case "Unregistered":
			if got.State != "Unregistered" {
				fault("%s: %s, unregistered, knows %+v; it was told %+v", id, region, got, notifications.Journal)
			}
		case "NotRegistered":
			if got.State != "" {
				fault("%s: %s, which never registered, was told %+v", id, region, got)
			}
		default:
			fault("%s is left %v", id, registration)
		}
	}
	return faults, notices
}

// A create and the end of its registration, through two gateways at once: one of
// them is refused, and no resource stands where no one may write.
func TestUnregisterAgainstCreate(t *testing.T) {
	t.Parallel()
	const rounds = 30
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{Postgres: postgres.CreateDatabase(t, "unregister"), InsightRegistration: "required", Extra: patient(replicaSettings)},
	})
	w.PutGroup(t, "rg")
	change := func(route string) harness.Request {
		return harness.Request{Method: http.MethodPost, Path: w.SubscriptionPath() + "/providers/Contoso.Insight/" + route + "?api-version=2021-04-01"}
	}
	won := map[string]int{}
	for i := range rounds {
		creates, ends := w.Replicas[i%2], w.Replicas[(i+1)%2]
		ends.Do(t, change("register")).Want(t, 200)
		id := w.ResourcePath("rg", fmt.Sprintf("Contoso.Insight/workspaces/ws%d", i))
		at := id + "?api-version=" + harness.Version
		lead := time.Duration(rand.IntN(8)-4) * time.Millisecond
		var created, ended harness.Answer
		var errs [2]error
		var both sync.WaitGroup
		both.Go(func() {
			time.Sleep(max(0, lead))
			created, errs[0] = creates.Try(t.Context(), harness.Request{Method: http.MethodPut, Path: at, Body: body("eastus")})
		})
		both.Go(func() {
			time.Sleep(max(0, -lead))
			ended, errs[1] = ends.Try(t.Context(), change("unregister"))
		})
		both.Wait()
		if errs[0] != nil || errs[1] != nil {
			t.Fatal(errs)
		}
		state := w.Portico.Do(t, harness.Request{Path: w.SubscriptionPath() + "/providers/Contoso.Insight?api-version=2021-04-01"}).Want(t, 200).JSON(t)["registrationState"]
		won[fmt.Sprint(state)]++
		switch state {
		case "Unregistered":
			ended.Want(t, 200)
			created.WantError(t, 409, "MissingSubscriptionRegistration")
			w.WantOnlyIn(t, "", id)
		case "Registered":
			ended.WantError(t, 409, "CannotUnregisterNamespaceWithResources")
			created.Want(t, 201)
			creates.Do(t, harness.Request{Method: http.MethodDelete, Path: at}).Want(t, 200)
		default:
			t.Fatalf("the registration is left %v", state)
		}
	}
	t.Logf("%v", won)
}
