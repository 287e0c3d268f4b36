package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"portico/test/harness"
)

// injectFaults injects each fault of a schedule once its share of the writes is
// sent, and undoes it: when injectFaults returns, everything runs.
func (r *run) injectFaults(ctx context.Context, t *testing.T, faults []fault) {
	for _, f := range faults {
		for float64(r.writes.Load()) < f.at*float64(r.total) && ctx.Err() == nil {
			pause(ctx, 20*time.Millisecond)
		}
		if ctx.Err() != nil {
			t.Errorf("no time is left for: %v", f)
			return
		}
		if f.aimed {
			f.of = r.aim(ctx, f)
		}
		t.Logf("%8v  %v", r.clock().Round(time.Millisecond), f)
		r.count.fault(f.kind.String())
		r.do(ctx, t, f)
	}
}

// aimBound is how long a fault waits for a group's deletion.
const aimBound = 4 * time.Second

// aim makes a client delete a group and returns the gateway that is deleting it, to
// be killed. If there is none within aimBound, it returns the fault's own choice.
func (r *run) aim(ctx context.Context, f fault) (of int) {
	ctx, cancel := context.WithTimeout(ctx, aimBound)
	defer cancel()
	for n := 0; ctx.Err() == nil; n++ {
		if n%25 == 0 {
			r.groupDeleteWanted.Store(true)
		}
		pause(ctx, 20*time.Millisecond)
		for i, g := range r.site.gateways {
			if !deletes(ctx, g) {
				continue
			}
			r.count.fault("kill a gateway in the midst of a group's deletion")
			if f.kind == pauseAndKill { // which kills the next one
				i += len(r.site.gateways) - 1
			}
			return i
		}
	}
	return f.of
}

// inDeletion matches the metric of a gateway that is deleting a group.
var inDeletion = regexp.MustCompile(`(?m)^portico_group_delete_resources\{[^}]*\} [1-9]`)

func deletes(ctx context.Context, g *harness.Portico) bool {
	a, err := g.TryAdmin(ctx, harness.Request{Method: http.MethodGet, Path: "/metrics"})
	return err == nil && inDeletion.Match(a.Body)
}

func (r *run) do(ctx context.Context, t *testing.T, f fault) {
	s := r.site
	gateway := s.gateways[f.of%len(s.gateways)]
	other := s.gateways[(f.of+1)%len(s.gateways)]
	if slices.Contains([]kind{restartStore, crashStore, pauseStore, failOver, failAtPoint}, f.kind) {
		r.consumer.storeAway()
	}
	switch f.kind {
	case killGateway:
		gateway.Kill(t)
		gateway.Restart(t)
	case killGateways:
		gateway.Kill(t)
		other.Kill(t)
		other.Restart(t)
		gateway.Restart(t)
	case pauseGateway:
		gateway.Pause(t)
		pause(ctx, f.hold)
		gateway.Resume(t)
	case pauseAndKill:
		gateway.Pause(t)
		pause(ctx, f.hold/2)
		other.Kill(t)
		other.Restart(t)
		pause(ctx, f.hold/2)
		gateway.Resume(t)
	case killRegion:
		region := s.regions[f.of%len(harness.RegionNames())]
		region.Kill(t)
		pause(ctx, f.hold/8)
		region.Restart(t)
	case restartStore:
		s.primary.Restart(t, false)
	case crashStore:
		s.primary.Restart(t, true)
	case pauseStore:
		s.primary.Pause(t)
		pause(ctx, f.hold)
		s.primary.Resume(t)
	case failOver:
		s.primary.Kill(t)
		s.standby.Promote(t)
		s.primary = s.standby
	case killAtPoint, pauseAtPoint, failAtPoint:
		r.atPoint(ctx, t, f, gateway)
	case kinds:
	}
}

// misbehaviour chooses a fault for a provider: refuse a call, carry it out but spoil
// or delay the answer, or carry it out late.
func misbehaviour(random *rand.Rand) (name, argument string) {
	upTo := func(most time.Duration) string {
		return time.Duration(random.Int64N(int64(most))).Round(time.Millisecond).String()
	}
	all := [][2]string{
		{"status", "503"}, {"throttle", "1"}, {"reset-before", ""}, {"reset-after", ""}, {"stall", ""},
		{"cut-request", ""}, {"cut-answer", ""},
		{"delay", upTo(callTimeout / 2)}, {"delay", longestDelay.String()},
		{"slow", upTo(callTimeout / 2)}, {"slow", longestDelay.String()},
		{"late", upTo(latest)}, {"late", upTo(latest / 4)},
	}
	chosen := all[random.IntN(len(all))]
	return chosen[0], chosen[1]
}

// misbehave makes providers misbehave until ctx ends. One time in three a provider
// answers a GET late, so that writes overtake the answer.
func (r *run) misbehave(ctx context.Context, t *testing.T, random *rand.Rand) {
	methods := []string{http.MethodPut, http.MethodPut, http.MethodDelete, http.MethodDelete, http.MethodPatch, http.MethodGet, ""}
	odd := chosenOddities()
	for ctx.Err() == nil {
		pause(ctx, time.Duration(random.Int64N(int64(4*r.pace))))
		if len(odd) > 0 && random.IntN(3) == 0 {
			r.beOdd(ctx, odd[random.IntN(len(odd))], random)
			continue
		}
		name, argument := misbehaviour(random)
		method := methods[random.IntN(len(methods))]
		if random.IntN(3) == 0 {
			method, name, argument = http.MethodGet, "slow", time.Duration(random.Int64N(int64(askTimeout))).Round(time.Millisecond).String()
		}
		region, path := r.site.regions[random.IntN(len(harness.RegionNames()))], ""
		if random.IntN(8) == 0 { // what is told of subscriptions, to the global endpoint, too
			id := subscriptions[random.IntN(len(subscriptions))]
			region, path = r.site.regions[random.IntN(len(r.site.regions))], "/subscriptions/"+id
			if method = http.MethodPut; id != subscriptions[0] && random.IntN(4) == 0 {
				name, argument = "status", "202" // it is not done
			}
		}
		text := name
		if argument != "" {
			text += "=" + argument
		}
		body := fmt.Sprintf(`{"method":%q,"pathContains":%q,"fault":%q,"count":%d}`, method, path, text, 1+random.IntN(2))
		a, err := region.Call(ctx, harness.Request{Method: http.MethodPost, Path: "/contoso/faults", Body: body})
		switch {
		case err != nil: // it is down
		case a.Status != http.StatusCreated:
			t.Errorf("a fault was refused: %d %s", a.Status, a.Body)
			return
		default:
			r.count.fault("provider: " + name)
		}
	}
}
