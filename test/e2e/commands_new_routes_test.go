package e2e

import (
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// What is known of regions, providers, resources, locks and roles is shown by a command
// each; and status says what is wrong as soon as a region is away.
func TestCommandsShowWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: "health: {probe: {interval: 500ms}}\n"}})
	o := commander{}
	show := func(exit int, args ...string) string {
		t.Helper()
		stdout, _ := o.run(t, exit, append(args, "--config", w.Portico.ConfigFile)...)
		return stdout
	}
	wants := func(text string, all ...string) {
		t.Helper()
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
	w.PutGroup(t, "rg")
	id := w.ResourcePath("rg", machines+"one")
	create(t, w.Portico, id, "eastus")
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.GroupPath("rg") + "/providers/Microsoft.Authorization/locks/keep?api-version=2016-09-01",
		Body: `{"properties":{"level":"CanNotDelete","notes":"not now"}}`,
	}).Want(t, 200, 201)

	wants(show(0, "status"), "Portico ", "1 replica", w.Portico.AdminURL)
	wants(show(0, "regions"), "westus", "eastus", "northeurope", "global", "Contoso.Compute", w.Contoso("eastus").URL)
	wants(show(0, "providers"), "Contoso.Compute", "virtualMachines/disks", "tracked")
	wants(show(0, "resources", "list", "--subscription", w.SubscriptionID), id, "eastus")
	wants(show(0, "resources", "list", "--subscription", w.SubscriptionID, "--region", "westus"), "The index has no such resource.")
	wants(show(0, "why", id), "one is in eastus, ", "CanNotDelete not now", "Contoso.Compute/virtualMachines/write Succeeded")
	wants(show(0, "locks", "--subscription", w.SubscriptionID), "keep", "CanNotDelete", w.GroupPath("rg"))
	wants(show(0, "roles", "list", "--subscription", w.SubscriptionID), "No role is assigned.")
	wants(show(0, "configuration"), "server.region", "westus")
	wants(show(0, "configuration", "history", "-o", "wide"), "GENERATION", "taken")
	wants(show(0, "changes", "--since", "10m"), "virtualMachines/write", id)
	wants(show(0, "changes", "--limit", "2"), "locks/write")
	wants(show(0, "retire", "eastus", "--dry-run"), "1 resource is there: portico resources list --region eastus")
	if _, says := o.run(t, 1, "retire", "eastsu", "--dry-run", "--config", w.Portico.ConfigFile); !strings.Contains(says, "eastus, ") {
		t.Errorf("a region that is misspelt: %s", says)
	}
	completed, _ := o.run(t, 0, "__complete", "resources", "list", "--config", w.Portico.ConfigFile, "--region", "")
	wants(completed, "eastus", "northeurope")

	w.Contoso("eastus").Kill(t)
	soon(t, "status to say that the region is down", func() bool {
		w.Portico.Do(t, harness.Request{Path: id + "?api-version=" + harness.Version})
		p := o.start(t, "status", "--config", w.Portico.ConfigFile)
		return p.ExitCode(t) == 1 && strings.Contains(p.Stdout(), "eastus")
	})
	wants(show(0, "regions"), "down")
	wants(show(0, "errors"), "BadGatewayConnection", w.SubscriptionID)
	wants(show(0, "errors", "--by-subscription"), "NAME", "FAILURES", w.SubscriptionID, "Demo")
}

// Who names the public listener is told so, whether or not that wants a token.
func TestCommandsTellThePublicListener(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]harness.Config{"open": {}, "with tokens": {Tokens: []harness.Token{alice}, Owners: []string{alice.ObjectID}}} {
		w := harness.NewWorld(t, harness.WorldOptions{Config: config})
		_, says := commander{}.run(t, 1, "regions", "--admin", w.Portico.URL)
		if !strings.Contains(says, "not its admin listener") || !strings.Contains(says, "8081") || strings.Contains(says, "token") {
			t.Errorf("%s: %s", name, says)
		}
	}
}
