package clients

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

// cloud is what the CLI of these tests knows Portico as.
const cloud = "Portico"

// azure is the az CLI with a configuration of its own, and a stand.
type azure struct {
	stand
	program string
	dir     string // where it runs, and keeps its configuration
}

// newAzure makes a stand a cloud of the CLI, which is not signed in yet.
func newAzure(t *testing.T, options harness.WorldOptions) azure {
	t.Helper()
	program, err := exec.LookPath("az")
	if err != nil {
		t.Fatal("no az in PATH: install it, or let test/clients/prepare.sh do it")
	}
	c := azure{stand: newStand(t, options), program: program, dir: t.TempDir()}
	c.do(t, "cloud", "register", "--name", cloud, "--endpoint-resource-manager", c.Portico.URL,
		"--endpoint-active-directory-graph-resource-id", "https://graph.example/")
	c.do(t, "cloud", "set", "--name", cloud)
	return c
}

// signedIn is newAzure with the CLI signed in as the machine's identity.
func signedIn(t *testing.T, options harness.WorldOptions) azure {
	t.Helper()
	c := newAzure(t, options)
	c.do(t, "login", "--identity")
	return c
}

func (c azure) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return run(t, c.dir, []string{
		"AZURE_CONFIG_DIR=" + filepath.Join(c.dir, "config"),
		"AZURE_CORE_COLLECT_TELEMETRY=no",
		"AZURE_CORE_NO_COLOR=yes",
		"REQUESTS_CA_BUNDLE=" + c.Bundle,
		"MSI_ENDPOINT=" + c.Authority + "/msi/token",
	}, c.program, append(args, "--output", "json")...)
}

// do runs a command that must end well, and returns what it printed.
func (c azure) do(t *testing.T, args ...string) string {
	t.Helper()
	o := c.run(t, args...)
	if o.Code != 0 {
		t.Fatalf("az %s: exit status %d\n%s%s", strings.Join(args, " "), o.Code, o.Stdout, o.Stderr)
	}
	return o.Stdout
}

// object is do for commands that print an object.
func (c azure) object(t *testing.T, args ...string) map[string]any {
	t.Helper()
	return decoded[map[string]any](t, c.do(t, args...))
}

// list is do for commands that print a list of objects.
func (c azure) list(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	return decoded[[]map[string]any](t, c.do(t, args...))
}

func decoded[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in what az printed:\n%s", err, text)
	}
	return value
}

// As an application, too, the CLI finds its subscriptions.
func TestAzSignsInAsAnApplication(t *testing.T) {
	t.Parallel()
	c := newAzure(t, harness.WorldOptions{})
	c.do(t, "login", "--service-principal", "--username", clientID, "--password", clientSecret, "--tenant", "adfs")
	found := c.list(t, "account", "list")
	if len(found) != 1 || found[0]["id"] != c.SubscriptionID || found[0]["name"] != "Demo" || found[0]["state"] != "Enabled" {
		t.Errorf("%v", found)
	}
}

func TestAzSignsInAsAMachine(t *testing.T) {
	t.Parallel()
	c := signedIn(t, harness.WorldOptions{})
	if got := c.object(t, "account", "show"); got["id"] != c.SubscriptionID || got["tenantId"] != harness.TenantID {
		t.Errorf("%v", got)
	}
}
