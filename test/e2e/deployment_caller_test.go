package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// lostCaller is what the error of a deployment says whose caller the configuration has lost.
const lostCaller = "is no longer known"

// callerWorld has the owners alice, dora and the issuer's caller, who each deploy.
func callerWorld(t *testing.T, issuer *harness.Issuer) *harness.World {
	t.Helper()
	return harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Failpoints: true, Extra: batchSettings, Tokens: []harness.Token{alice, dora}, Server: unwatched,
		Auth: issuer.Auth(", clockSkew: 0s", ""), Owners: []string{alice.ObjectID, dora.ObjectID, harness.IssuedTo},
	}})
}

// beginThree begins a deployment of three machines, each after the one before.
func beginThree(t *testing.T, w *harness.World, group string, by harness.Token) {
	t.Helper()
	w.PutGroup(t, group)
	regions := harness.RegionNames()
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: deploymentPath(w, group+"/d") + "?api-version=2021-04-01", Body: fmt.Sprintf(threeMachines, regions[0], regions[1], hiddenWord), Header: as(by),
	}).Want(t, 201)
}

// A deployment sends nothing further once the configuration has lost its caller, or what made
// it an owner, and says so: whether it goes on, or is taken over after a restart.
func TestDeploymentWhoseCallerIsKnownNoMore(t *testing.T) {
	t.Parallel()
	issuer := harness.NewIssuer(t)
	w := callerWorld(t, issuer)
	all := w.Portico.Text(t, w.Config)
	without := func(change func(*harness.Config)) string {
		c := w.Config
		change(&c)
		return w.Portico.Text(t, c)
	}
	use := func(text string) {
		t.Helper()
		w.Portico.Write(t, text)
		reload(t, w.Portico).Want(t, 200)
	}
	issued := harness.Token{Raw: issuer.Token(t)}
	for _, c := range []struct {
		name, text, code, says string
		by                     harness.Token
		restarts               bool
	}{
		{"token", without(func(c *harness.Config) { c.Tokens = []harness.Token{alice} }), "InvalidAuthenticationToken", lostCaller, dora, false},
		{"restart", without(func(c *harness.Config) { c.Tokens = []harness.Token{alice} }), "InvalidAuthenticationToken", lostCaller, dora, true},
		{"issuer", without(func(c *harness.Config) { c.Auth = "" }), "InvalidAuthenticationToken", lostCaller, issued, false},
		{"owner", without(func(c *harness.Config) { c.Owners = []string{alice.ObjectID, harness.IssuedTo} }), "SubscriptionNotFound", harness.SubscriptionID, dora, false},
	} {
		group := "of-" + c.name
		w.Portico.SetPoint(t, failpoint.DeployBeginBefore, "pause:1m,once,after=1")
		beginThree(t, w, group, c.by)
		soon(t, "the second step", func() bool { return w.Portico.Points(t)[failpoint.DeployBeginBefore].Paused > 0 })
		if c.restarts {
			w.Portico.Kill(t)
			w.Portico.Write(t, c.text)
			w.Portico.Restart(t)
		} else {
			use(c.text)
			w.Portico.ClearPoint(t, failpoint.DeployBeginBefore)
		}
		end, d := endOf(t, w, group+"/d")
		if fault := string(d.Properties.Error); end != "Failed" || !strings.Contains(fault, c.code) || !strings.Contains(fault, c.says) {
			t.Errorf("%s: %s: %s", c.name, end, fault)
		}
		wantOperations(t, w, group, "d", "virtualMachines a: Succeeded", "virtualMachines b: Failed")
		if puts := putsOf(t, w, group); puts["b"]+puts["c"] > 0 {
			t.Errorf("%s: providers got %v", c.name, puts)
		}
		use(all)
	}
}

// What a deployment asks of its providers stops as well: a step that waits for one fails.
func TestDeploymentWhoseCallerIsLostWhileAStepWaits(t *testing.T) {
	t.Parallel()
	w := callerWorld(t, harness.NewIssuer(t))
	misbehave(t, w, "PUT", "/virtualMachines/a", "async-endless=azure-async", -1)
	beginThree(t, w, "rg", dora)
	soon(t, "the first step", func() bool { return putsOf(t, w, "rg")["a"] > 0 })
	c := w.Config
	c.Tokens = []harness.Token{alice}
	w.Portico.Write(t, w.Portico.Text(t, c))
	reload(t, w.Portico).Want(t, 200)
	if end, d := endOf(t, w, "d"); end != "Failed" || !strings.Contains(string(d.Properties.Error), lostCaller) {
		t.Errorf("%s: %s", end, d.Properties.Error)
	}
	wantOperations(t, w, "rg", "d", "virtualMachines a: Failed")
}

// Nor does a deployment begin a nested one for a caller that the configuration has lost.
func TestNestedDeploymentWhoseCallerIsKnownNoMore(t *testing.T) {
	t.Parallel()
	w := callerWorld(t, harness.NewIssuer(t))
	w.PutGroup(t, "rg")
	const template = `{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": [`
	w.Portico.SetPoint(t, failpoint.DeploySettleBefore, "pause:1m,once")
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: deploymentPath(w, "d") + "?api-version=2021-04-01", Header: as(dora), Body: `{"properties": {"mode": "Incremental", "template": ` + template +
		`{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "` + harness.RegionNames()[0] + `"},
		{"type": "Microsoft.Resources/deployments", "apiVersion": "2021-04-01", "name": "inner", "dependsOn": ["a"], "properties": {"mode": "Incremental", "template": ` + template + `]}}}]}}}`}).Want(t, 201)
	soon(t, "the first step", func() bool { return w.Portico.Points(t)[failpoint.DeploySettleBefore].Paused > 0 })
	c := w.Config
	c.Tokens = []harness.Token{alice}
	w.Portico.Write(t, w.Portico.Text(t, c))
	reload(t, w.Portico).Want(t, 200)
	w.Portico.ClearPoint(t, failpoint.DeploySettleBefore)
	if end, d := endOf(t, w, "d"); end != "Failed" || !strings.Contains(string(d.Properties.Error), lostCaller) {
		t.Errorf("%s: %s", end, d.Properties.Error)
	}
	w.Portico.Do(t, harness.Request{Path: deploymentPath(w, "inner") + "?api-version=2021-04-01"}).WantError(t, 404, "DeploymentNotFound")
}

// A deployment may take longer than the token lives by which it began, as in Azure.
func TestDeploymentOutlastsItsToken(t *testing.T) {
	t.Parallel()
	issuer := harness.NewIssuer(t)
	w := callerWorld(t, issuer)
	w.Portico.SetPoint(t, failpoint.DeployBeginBefore, "pause:1m,once,after=1")
	short := harness.Token{Raw: issuer.Token(t, "exp", time.Now().Add(15*time.Second).Unix())}
	beginThree(t, w, "rg", short)
	soon(t, "the end of the token", func() bool {
		return w.Portico.Do(t, harness.Request{Path: w.SubscriptionPath() + version, Header: as(short)}).Status == http.StatusUnauthorized
	})
	soon(t, "the second step", func() bool { return w.Portico.Points(t)[failpoint.DeployBeginBefore].Paused > 0 })
	w.Portico.ClearPoint(t, failpoint.DeployBeginBefore)
	if end, d := endOf(t, w, "d"); end != "Succeeded" {
		t.Errorf("%s: %s", end, d.Properties.Error)
	}
}
