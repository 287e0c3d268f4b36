package deploy_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"portico/inventory/deploymentrow"
	"portico/jobs/deploy"
)

// unregistered needs the registration of some namespaces, until ended says so.
func unregistered(ended func() bool, namespaces ...string) func(context.Context, string, string) (bool, error) {
	return func(_ context.Context, _, namespace string) (bool, error) {
		return !ended() && slices.Contains(namespaces, namespace), nil
	}
}

func never() bool { return false }

func workspace(name string, more ...string) string {
	return strings.Replace(machine(name, more...), "Contoso.Compute/virtualMachines", "Contoso.Insight/workspaces", 1)
}

// Namespaces are registered before the first step, each once.
func TestNamespacesAreRegisteredFirst(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d := deploy.Deployer{Unregistered: unregistered(func() bool { return asked.Add(1) > 2 }, "Contoso.Compute", "Contoso.Insight")}
	r := deployed(t, d, map[string][]reply{"POST register": {{status: 200}}, "PUT a": {created}, "PUT b": {created}, "PUT w": {created}}, machine("a"), machine("b", after("a")), workspace("w", after("b")))
	r.want(t, deploymentrow.Succeeded)
	if want := []string{"POST register", "POST register", "PUT a", "PUT b", "PUT w"}; !slices.Equal(r.names(), want) {
		t.Errorf("%q", r.names())
	}
}

// A step whose namespace may not be registered fails for that; others go on.
func TestRegistrationIsRefused(t *testing.T) {
	t.Parallel()
	denied := reply{status: http.StatusForbidden, body: `{"error": {"code": "AuthorizationFailed", "message": "no Contoso.Insight/register/action"}}`}
	r := deployed(t, deploy.Deployer{Unregistered: unregistered(never, "Contoso.Insight")}, map[string][]reply{"POST register": {denied}, "PUT a": {created}}, machine("a"), workspace("w"), machine("b", `"dependsOn": ["w"]`))
	r.want(t, deploymentrow.Failed, "AuthorizationFailed", "Contoso.Insight/register/action", "/workspaces/w")
	if len(r.of("PUT a")) != 1 || len(r.of("PUT w"))+len(r.of("PUT b")) > 0 {
		t.Errorf("%q", r.names())
	}
	if o := r.operations["w"]; o.Properties.StatusCode != "Forbidden" {
		t.Errorf("%+v", o)
	}
}

// A registration that gets no answer is tried again.
func TestRegistrationGetsNoAnswer(t *testing.T) {
	t.Parallel()
	r := deployed(t, deploy.Deployer{Unregistered: unregistered(never, "Contoso.Insight")}, map[string][]reply{"POST register": {noAnswer, noAnswer, {status: 503, body: `{}`}, {status: 200}}, "PUT w": {created}}, workspace("w"))
	r.want(t, deploymentrow.Succeeded)
	if n := len(r.of("POST register")); n != 4 {
		t.Errorf("%q", r.names())
	}
}
