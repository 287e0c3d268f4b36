package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// unstickCommand runs `portico unstick` against a gateway, and returns what it says.
func unstickCommand(t *testing.T, p *harness.Portico, exit int, args ...string) (says string) {
	t.Helper()
	says, code := tryUnstick(t, p, args...)
	if code != exit {
		t.Fatalf("%q: exit code %d, want %d\n%s", args, code, exit, says)
	}
	return says
}

func tryUnstick(t *testing.T, p *harness.Portico, args ...string) (says string, exit int) {
	t.Helper()
	c := harness.Start(t, "portico unstick", t.TempDir(), harness.Build(t).Portico, append([]string{"unstick", "--admin", p.AdminURL}, args...)...)
	exit = c.ExitCode(t)
	return c.Stdout() + c.Stderr(), exit
}

// refuses has a provider refuse what an operator would wait for.
func refuses(t *testing.T, c *harness.Contoso, method, path string) {
	t.Helper()
	c.Do(t, harness.Request{
		Method: http.MethodPost, Path: "/contoso/faults",
		Body: fmt.Sprintf(`{"method":%q,"pathContains":%q,"fault":"status=500","count":-1}`, method, path),
	}).Want(t, 201)
}

// A provider that answers nothing any more: an operator asks it again, gives up the
// deletion of a group, and forgets a resource, by the command.
func TestUnstickByCommand(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: deletionSettings}})
	p := w.Portico
	w.PutGroup(t, "rg")
	vm := w.ResourcePath("rg", machines+"vm")
	create(t, p, vm, "westus")

	unstickCommand(t, p, 1, vm)
	unstickCommand(t, p, 1, vm, "--ask", "--forget")
	if says := unstickCommand(t, p, 1, vm, "--forget", "--reason", "gone"); !strings.Contains(says, "--yes") {
		t.Errorf("without --yes: %s", says)
	}
	if says := unstickCommand(t, p, 1, vm, "--forget", "--yes", "--reason", "gone"); !strings.Contains(says, "ask first") {
		t.Errorf("what is alive: %s", says)
	}
	for _, unknown := range []string{w.ResourcePath("rg", machines+"none"), "-.00000000000000000000000000000000", "nonsense"} {
		unstickCommand(t, p, 1, unknown, "--ask")
	}

	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		refuses(t, w.Contoso("westus"), method, "virtualMachines/vm")
	}
	p.Do(t, harness.Request{Method: http.MethodPut, Path: vm + "?api-version=" + harness.Version, Body: body("westus")}).Want(t, 500)
	var done struct{ Step, Target, Outcome string }
	if err := json.Unmarshal([]byte(unstickCommand(t, p, 0, vm, "--ask", "-o", "json")), &done); err != nil || done.Step != "ask" || done.Target != vm || done.Outcome == "" {
		t.Errorf("%v: %+v", err, done)
	}

	result, _ := ownOperation(t, p.Do(t, harness.Request{Method: http.MethodDelete, Path: w.GroupPath("rg") + ownVersion}).Want(t, 202))
	unstickCommand(t, p, 0, result, "--ask")
	unstickCommand(t, p, 0, w.GroupPath("rg"), "--give-up")
	soon(t, "the group is given back", func() bool {
		var group struct {
			Properties struct{ ProvisioningState string }
		}
		err := json.Unmarshal(p.Do(t, harness.Request{Path: w.GroupPath("rg") + ownVersion}).Want(t, 200).Body, &group)
		return err == nil && group.Properties.ProvisioningState == "Succeeded"
	})

	said := ""
	defer func() { t.Log(said) }()
	soon(t, "the resource is forgotten", func() bool {
		text, exit := tryUnstick(t, p, vm, "--forget", "--yes", "--reason", "its region burnt down")
		said = text
		return exit == 0
	})
	if list := p.Do(t, harness.Request{Path: w.GroupPath("rg") + "/resources" + ownVersion}).Want(t, 200); strings.Contains(string(list.Body), "virtualMachines/vm") {
		t.Errorf("it is listed: %s", list.Body)
	}
	unstickCommand(t, p, 1, vm, "--forget", "--yes", "--reason", "its region burnt down")
	if !strings.Contains(p.Logs(), "its region burnt down") {
		t.Error("the audit log has no line of it")
	}
	unstickCommand(t, p, 1, vm, "--fence", "--forget", "--yes", "--reason", "none")
}
