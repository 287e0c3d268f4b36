package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// stepPoints are where a deployment's steps are recorded and sent. Each is struck when it is
// reached for the second time, that of the end when it is for the first.
var stepPoints = []failpoint.Point{
	failpoint.DeployBeginBefore, failpoint.DeployBeginAfter, failpoint.UpstreamSendBefore, failpoint.UpstreamSendAfter,
	failpoint.DeploySettleBefore, failpoint.DeploySettleAfter, failpoint.DeployEndBefore, failpoint.DeployEndAfter,
}

// struckAt is a rule for a blow at a point of a deployment.
func struckAt(at failpoint.Point, action string) string {
	if at == failpoint.DeployEndBefore || at == failpoint.DeployEndAfter {
		return action + ",once"
	}
	return action + ",once,after=1"
}

// Wherever the only gateway is killed, a deployment ends as one that nothing disturbs, and
// no provider gets a PUT twice.
func TestDeploymentIsKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, Extra: batchSettings}})
	for i, at := range stepPoints {
		group := fmt.Sprintf("rg%d", i)
		w.PutGroup(t, group)
		w.Portico.SetPoint(t, at, struckAt(at, "kill"))
		poll := beginDisturbed(t, w, w.Portico, group)
		if !w.Portico.EndsWithin(time.Minute) {
			t.Fatalf("%s: the deployment does not come to it", at)
		}
		w.Portico.Restart(t)
		endsUndisturbed(t, w, w.Portico, group, poll, string(at))
	}
}

// The same with two replicas: one is killed, or its process stands still until the other one
// has brought the deployment to its end, and then goes on itself.
func TestDeploymentIsTakenOverAtEveryPoint(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{Postgres: postgres.CreateDatabase(t, "deployment"), Failpoints: true, Extra: batchSettings},
	})
	for i, at := range stepPoints {
		for _, action := range []string{"kill", "pause:1m"} {
			group, blow := fmt.Sprintf("rg%d-%.4s", i, action), fmt.Sprint(action, " at ", at)
			w.PutGroup(t, group)
			for _, p := range w.Replicas {
				p.SetPoint(t, at, struckAt(at, action))
			}
			poll := beginDisturbed(t, w, w.Portico, group)
			victim, survivor := struck(t, w, at)
			endsUndisturbed(t, w, survivor, group, poll, blow)
			if action == "kill" {
				continue
			}
			victim.Resume(t)
			victim.ClearPoint(t, at)
			victim.Stop(t) // once what it has under way has ended
			onePutEach(t, w, group, blow)
			victim.Restart(t)
		}
	}
}

// struck waits until one replica was struck at a point. It starts it again if it was killed,
// and else stops its process there. No blow is left for the other one.
func struck(t *testing.T, w *harness.World, at failpoint.Point) (victim, survivor *harness.Portico) {
	t.Helper()
	victim = eventually(t, "a blow at "+string(at), func() (*harness.Portico, bool) {
		for _, p := range w.Replicas {
			if p.EndsWithin(time.Millisecond) {
				p.Restart(t)
				return p, true
			}
			if points, err := p.TryPoints(t.Context()); err == nil && points[at].Paused > 0 {
				p.Pause(t)
				return p, true
			}
		}
		return nil, false
	})
	survivor = w.Replicas[1-slices.Index(w.Replicas, victim)]
	if survivor.TryClearPoint(t.Context(), at) != nil { // it was killed too, before the other had its lease
		if !survivor.EndsWithin(time.Minute) {
			t.Fatalf("%s: neither replica answers", at)
		}
		survivor.Restart(t)
	}
	return victim, survivor
}

func beginDisturbed(t *testing.T, w *harness.World, p *harness.Portico, group string) (poll string) {
	t.Helper()
	regions := harness.RegionNames()
	for _, region := range regions[:2] {
		w.Contoso(region).ForgetRequests(t)
	}
	return putDeployment(t, w, p, group+"/d", fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord), 201)
}

// endsUndisturbed holds a deployment to the end of one that nothing disturbed.
func endsUndisturbed(t *testing.T, w *harness.World, p *harness.Portico, group, poll, blow string) {
	t.Helper()
	end, d := deployed(t, w, p, group+"/d", poll)
	if end != "Succeeded" || d.Properties.Outputs["state"].Value != "Succeeded" || len(d.Properties.OutputResources) != 3 {
		t.Errorf("%s: it ended as %s: %+v %s", blow, end, d, d.Properties.Error)
	}
	onePutEach(t, w, group, blow)
}

func onePutEach(t *testing.T, w *harness.World, group, blow string) {
	t.Helper()
	puts := putsOf(t, w, group)
	for _, name := range []string{"a", "b", "c"} {
		if puts[name] != 1 {
			t.Errorf("%s: providers got %d PUTs of %s", blow, puts[name], name)
		}
	}
}

// putsOf counts the PUTs that providers got in a group, by the names of their resources.
func putsOf(t *testing.T, w *harness.World, group string) map[string]int {
	t.Helper()
	puts := map[string]int{}
	for _, region := range harness.RegionNames()[:2] {
		for _, r := range w.Contoso(region).Requests(t) {
			if i := strings.Index(r.Path, "/resourceGroups/"+group+"/"); r.Method == http.MethodPut && i > 0 {
				puts[r.Path[strings.LastIndexByte(r.Path, '/')+1:]]++
			}
		}
	}
	return puts
}
