package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// A replica stands still with a step that it has recorded, sent or seen the answer of, until
// the other one has brought the deployment to its end, and then goes on itself: that end is
// one that nothing disturbed, and no provider gets a PUT twice.
func TestDeploymentIsTakenOver(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{Postgres: postgres.CreateDatabase(t, "deployment"), Failpoints: true, Extra: batchSettings},
	})
	for i, at := range []failpoint.Point{failpoint.DeployBeginAfter, failpoint.UpstreamSendAfter, failpoint.DeploySettleBefore} {
		group := fmt.Sprint("rg", i)
		w.PutGroup(t, group)
		for _, p := range w.Replicas {
			p.SetPoint(t, at, "pause:1m,once,after=1") // the second step
		}
		poll := beginDisturbed(t, w, w.Portico, group)
		victim, survivor := struck(t, w, at)
		end, d := deployed(t, w, survivor, group+"/d", poll)
		if end != "Succeeded" || d.Properties.Outputs["state"].Value != "Succeeded" || len(d.Properties.OutputResources) != 3 {
			t.Errorf("%s: it ended as %s: %+v %s", at, end, d, d.Properties.Error)
		}
		onePutEach(t, w, group, at)
		victim.Resume(t)
		victim.ClearPoint(t, at)
		victim.Stop(t) // once what it has under way has ended
		onePutEach(t, w, group, at)
		victim.Restart(t)
	}
}

// struck waits until one replica has come to a point, and stops its process there. The other
// one does not come to it any more.
func struck(t *testing.T, w *harness.World, at failpoint.Point) (victim, survivor *harness.Portico) {
	t.Helper()
	victim = eventually(t, "a blow at "+string(at), func() (*harness.Portico, bool) {
		i := slices.IndexFunc(w.Replicas, func(p *harness.Portico) bool { return p.Points(t)[at].Paused > 0 })
		if i < 0 {
			return nil, false
		}
		return w.Replicas[i], true
	})
	victim.Pause(t)
	survivor = w.Replicas[1-slices.Index(w.Replicas, victim)]
	survivor.ClearPoint(t, at)
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

func onePutEach(t *testing.T, w *harness.World, group string, at failpoint.Point) {
	t.Helper()
	puts := putsOf(t, w, group)
	for _, name := range []string{"a", "b", "c"} {
		if puts[name] != 1 {
			t.Errorf("%s: providers got %d PUTs of %s", at, puts[name], name)
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
