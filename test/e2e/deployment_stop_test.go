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

// Wherever a deployment is canceled, nothing further is sent. What has left is seen to its
// end, of which the deployment says so.
func TestDeploymentIsCanceledAtEveryPoint(t *testing.T) {
	t.Parallel()
	// Only being canceled ends the lease of what stands still at its point, however slow the
	// machine.
	settings := strings.Replace(batchSettings, "jobs: {lease: 1s}", "jobs: {lease: 5m}", 1)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, Extra: settings}})
	cancel := func(name string) harness.Answer {
		return w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, name) + "/cancel?api-version=2021-04-01"})
	}
	for i, c := range []struct {
		at      failpoint.Point
		created []string // in their order
	}{
		{failpoint.DeployBeginBefore, nil}, {failpoint.DeployBeginAfter, []string{"a"}}, {failpoint.DeploySettleBefore, []string{"a"}},
		{failpoint.DeployEndBefore, []string{"a", "b", "c"}},
	} {
		group := fmt.Sprintf("rg%d", i)
		w.PutGroup(t, group)
		w.Portico.SetPoint(t, c.at, "pause:1m,once")
		poll := beginDisturbed(t, w, w.Portico, group)
		soon(t, "the deployment to come to "+string(c.at), func() bool { return w.Portico.Points(t)[c.at].Paused > 0 })
		cancel(group+"/d").Want(t, 204)
		w.Portico.ClearPoint(t, c.at)
		end, d := deployed(t, w, w.Portico, group+"/d", poll)
		var created []string
		for _, r := range d.Properties.OutputResources {
			created = append(created, r.ID[strings.LastIndexByte(r.ID, '/')+1:])
		}
		slices.Sort(created)
		if end != "Canceled" || !strings.Contains(string(d.Properties.Error), "DeploymentCanceled") || !slices.Equal(created, c.created) {
			t.Errorf("%s: %s, with %q: %s", c.at, end, created, d.Properties.Error)
		}
		if a := w.Portico.Do(t, harness.Request{Path: poll}).Want(t, 200); !strings.Contains(string(a.Body), "DeploymentCanceled") {
			t.Errorf("%s: %s", c.at, a.Body)
		}
		puts := putsOf(t, w, group)
		for _, name := range []string{"a", "b", "c"} {
			if want := slices.Contains(c.created, name); puts[name] > 1 || want != (puts[name] == 1) {
				t.Errorf("%s: providers got %d PUTs of %s", c.at, puts[name], name)
			}
		}
		cancel(group+"/d").WantError(t, 409, "DeploymentNotRunning")
	}
	cancel("rg0/none").WantError(t, 404, "DeploymentNotFound")
}

// A step whose caller has lost the right to it meanwhile fails there, and says so; also where
// the caller has lost all rights.
func TestDeploymentWhoseCallerLosesARight(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Failpoints: true, Extra: batchSettings, Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID},
	}})
	for i, left := range []string{"reads", "nothing"} {
		group := "of-who-" + left
		w.PutGroup(t, group)
		if left == "reads" {
			role(t, w.Portico, w.GroupPath(group), "00000000-0000-0000-0000-0000000000e9", readerRole)
		}
		assigned := role(t, w.Portico, w.GroupPath(group), fmt.Sprintf("00000000-0000-0000-0000-0000000000e%d", i), contributorRole)
		w.Portico.SetPoint(t, failpoint.DeployBeginBefore, "pause:1m,once,after=1")
		regions := harness.RegionNames()
		begin := harness.Request{
			Method: http.MethodPut, Path: deploymentPath(w, group+"/d") + "?api-version=2021-04-01", Body: fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord), Header: as(dora),
		}
		harness.Await(t, roleBound, "dora deploys", func() bool { return w.Portico.Do(t, begin).Status == 201 })
		soon(t, "the second step", func() bool { return w.Portico.Points(t)[failpoint.DeployBeginBefore].Paused > 0 })
		w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: assigned}).Want(t, 200)
		probe := harness.Request{Method: http.MethodPut, Path: w.ResourcePath(group, "Contoso.Compute/virtualMachines/x") + "?api-version=" + harness.Version, Body: `{"location": "nowhere"}`, Header: as(dora)}
		harness.Await(t, roleBound, "dora may not write", func() bool { return w.Portico.Do(t, probe).Status == 403 })
		w.Portico.ClearPoint(t, failpoint.DeployBeginBefore)
		d := eventually(t, "the end of a deployment", func() (d deployment, over bool) {
			d = nestedDeployment(t, w, group, "d")
			return d, d.Properties.ProvisioningState != "Running" && d.Properties.ProvisioningState != "Accepted"
		})
		if fault := string(d.Properties.Error); d.Properties.ProvisioningState != "Failed" || !strings.Contains(fault, "AuthorizationFailed") || !strings.Contains(fault, "Contoso.Compute/virtualMachines/write") || !strings.Contains(fault, "virtualMachines/b") {
			t.Errorf("left with %s: %s", left, fault)
		}
		wantOperations(t, w, group, "d", "virtualMachines a: Succeeded", "virtualMachines b: Failed")
	}
}
