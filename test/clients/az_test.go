package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

// azure is the az CLI with a configuration of its own, and a stand.
type azure struct {
	stand
	program string
	dir     string // where it runs, and keeps its configuration
	roles   bool   // its commands about roles are mended, see az/sitecustomize.py
}

// newAzure starts a stand for a CLI that does not know it yet.
func newAzure(t *testing.T, options harness.WorldOptions) azure {
	t.Helper()
	program := harness.Installed(t, "az")
	return azure{stand: newStand(t, options), program: program, dir: t.TempDir()}
}

// signedIn is a CLI that knows Portico as its cloud, and has signed in as the
// identity of the machine.
func signedIn(t *testing.T, options harness.WorldOptions) azure {
	t.Helper()
	c := newAzure(t, options)
	c.register(t)
	c.do(t, "login", "--identity")
	return c
}

// register makes Portico the CLI's cloud, by nothing but its address.
func (c azure) register(t *testing.T) {
	t.Helper()
	c.do(t, "cloud", "register", "--name", "Portico", "--endpoint-resource-manager", c.Portico.URL)
	c.do(t, "cloud", "set", "--name", "Portico")
}

// beside is the CLI in a folder of its own, signed in as before: two at a time
// would get in each other's way.
func (c azure) beside(t *testing.T) azure {
	t.Helper()
	from := c.dir
	c.dir = t.TempDir()
	harness.OK(t, os.CopyFS(c.dir, os.DirFS(from)))
	return c
}

func (c azure) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return c.runWith(t, nil, args...)
}

func (c azure) runWith(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	return run(t, c.dir, append(c.variables(), env...), c.program, append(args, "--output", "json")...)
}

// mending is the folder of what az needs for commands about roles, where it is to have
// that.
func (c azure) mending() string {
	folder, err := filepath.Abs("az")
	if err != nil || !c.roles {
		return ""
	}
	return folder
}

// variables are those that the CLI needs here.
func (c azure) variables() []string {
	return []string{
		"PYTHONPATH=" + c.mending(),
		"AZURE_CONFIG_DIR=" + c.dir,
		"AZURE_CORE_COLLECT_TELEMETRY=no",
		"AZURE_CORE_NO_COLOR=yes",
		"REQUESTS_CA_BUNDLE=" + c.Bundle,
		"SSL_CERT_FILE=" + c.Bundle, // what it fetches without the library that reads the other
		"MSI_ENDPOINT=" + c.Authority + "/msi/token",
	}
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

// found is what an account list shows of the world's only subscription.
const found = `[["Demo","` + harness.SubscriptionID + `","Enabled","` + harness.TenantID + `",true]]`

func TestAzSignsIn(t *testing.T) {
	t.Parallel()
	t.Run("as a machine", func(t *testing.T) {
		t.Parallel()
		c := signedIn(t, harness.WorldOptions{})
		c.play(t,
			step{command: `account list --query [].[name,id,state,tenantId,isDefault]`, prints: found},
			step{command: `account show --query [name,homeTenantId,environmentName]`, prints: `["Demo","` + harness.TenantID + `","Portico"]`},
			step{command: `account set --subscription Demo`},
			step{command: `account get-access-token --query [subscription,tokenType]`, prints: `["` + harness.SubscriptionID + `","Bearer"]`},
			step{
				command: `account list-locations --query [].[name,displayName,regionalDisplayName,type,metadata.regionType,metadata.pairedRegion[].name]`,
				prints:  `[["westus","West US","West US","Region","Physical",["eastus"]],["eastus","East US","East US","Region","Physical",["westus"]],["northeurope","North Europe","North Europe","Region","Physical",[]]]`,
			},
		)
	})
	t.Run("as an application", func(t *testing.T) {
		t.Parallel()
		c := newAzure(t, harness.WorldOptions{})
		c.register(t)
		c.do(t, "login", "--service-principal", "--username", clientID, "--password", clientSecret, "--tenant", "adfs")
		c.play(t, step{command: `account list --query [].[name,id,state]`, prints: `[["Demo","` + harness.SubscriptionID + `","Enabled"]]`})
	})
	t.Run("to the clouds that Portico tells of", func(t *testing.T) {
		t.Parallel()
		c := newAzure(t, harness.WorldOptions{})
		env := []string{"ARM_CLOUD_METADATA_URL=" + c.Portico.URL + "/metadata/endpoints?api-version=2019-05-01"}
		for _, row := range []struct{ command, prints string }{
			{`cloud list --query [].[name,isActive]`, `[["Portico test",true]]`},
			{`login --identity --query [].[name,id,state,tenantId,isDefault]`, found},
			{
				`cloud show --query endpoints.[resourceManager,activeDirectory,activeDirectoryResourceId]`,
				`["` + c.Portico.URL + `","` + c.Authority + `","` + audience + `"]`,
			},
			{`group list`, `[]`},
		} {
			o := c.runWith(t, env, strings.Fields(row.command)...)
			if got := compact(t, o.Stdout); o.Code != 0 || got != row.prints {
				t.Fatalf("az %s: exit status %d, printed %s, want %s\n%s", row.command, o.Code, got, row.prints, o.Stderr)
			}
		}
	})
}

func decoded[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in what az printed:\n%s", err, text)
	}
	return value
}
