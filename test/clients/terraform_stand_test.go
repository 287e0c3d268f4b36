package clients

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// terraformTypes are the resource types of the map that the provider of these
// tests knows, with the api-versions that it calls.
const terraformTypes = `  - namespace: Microsoft.ManagedIdentity
    registration: required
    endpoints: %[1]s
    resourceTypes:
      - {name: userAssignedIdentities, kind: tracked, apiVersions: ["2024-11-30"], capabilities: {tags: true, etags: true}}
      - {name: userAssignedIdentities/federatedIdentityCredentials, kind: proxyOnly, apiVersions: ["2024-11-30"]}
  - namespace: Microsoft.PowerBIDedicated
    registration: automatic
    endpoints: %[1]s
    resourceTypes:
      - {name: capacities, kind: tracked, apiVersions: ["2021-01-01"], capabilities: {tags: true, etags: true}}`

// terraformCloud is what the provider has to be told of a cloud, and does not use.
const terraformCloud = `  graphEndpoint: https://graph.example/
  suffixes: {storage: storage.example, keyVaultDns: vault.example}`

// terraform is the program, with a stand whose regions serve these types too.
type terraform struct {
	stand
	program string
	env     []string
	regions map[string]*harness.Contoso
}

// newTerraform starts the stand; others may call there too, without a role.
func newTerraform(t *testing.T, others ...harness.Token) terraform {
	t.Helper()
	regions, endpoints := map[string]*harness.Contoso{}, map[string]string{}
	var written []string
	for _, region := range append(harness.RegionNames(), "global") {
		regions[region] = harness.StartContoso(t, region, harness.ContosoOptions{Args: []string{
			"--type", "Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30",
			"--type", "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials@2024-11-30",
			"--type", "Microsoft.PowerBIDedicated/capacities@2021-01-01",
		}})
		endpoints[region] = regions[region].URL
		written = append(written, fmt.Sprintf("%s: [%q]", region, endpoints[region]))
	}
	c := terraformAt(t, newStand(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: endpoints,
		Metadata:  terraformCloud,
		Tokens:    others,
		Owners:    []string{objectID},
		Providers: fmt.Sprintf(terraformTypes, "{"+strings.Join(written, ", ")+"}"),
	}}), clientID, clientSecret)
	c.regions = regions
	return c
}

// terraformAt is the program that works at a stand, as an application.
func terraformAt(t *testing.T, s stand, application, secret string) terraform {
	t.Helper()
	program, settings := terraformProgram(t)
	c := terraform{stand: s, program: program}
	c.env = slices.Concat(settings, []string{
		"SSL_CERT_FILE=" + c.Bundle,
		"ARM_METADATA_HOSTNAME=" + strings.TrimPrefix(c.Portico.URL, "https://"),
		"ARM_TENANT_ID=" + harness.TenantID, "ARM_SUBSCRIPTION_ID=" + c.SubscriptionID,
		"ARM_CLIENT_ID=" + application, "ARM_CLIENT_SECRET=" + secret,
	})
	return c
}

// terraformProgram is the program, and the variables by which it uses the provider built
// here.
func terraformProgram(t *testing.T) (program string, settings []string) {
	t.Helper()
	programs, err := filepath.Abs("../../.bin")
	harness.OK(t, err)
	program = filepath.Join(programs, "tofu")
	for _, built := range []string{program, filepath.Join(programs, "terraform-provider-azurerm")} {
		if _, err := os.Stat(built); err != nil {
			t.Fatalf("%v: let test/clients/terraform.sh build it", err)
		}
	}
	file := filepath.Join(t.TempDir(), "settings")
	writeFile(t, file, fmt.Sprintf(`provider_installation {
  dev_overrides { "hashicorp/azurerm" = %q }
}
`, programs))
	return program, []string{"TF_CLI_CONFIG_FILE=" + file, "TF_IN_AUTOMATION=1", "TF_INPUT=0"}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	harness.OK(t, os.WriteFile(file, []byte(text), 0o600))
}

// configuration makes a folder with one.
func configuration(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "main.tf"), text)
	return dir
}

// ends runs a command in a configuration's folder, expects its exit status, and
// returns all that it said, on one line: the program breaks lines as it likes.
func (c terraform) ends(t *testing.T, dir string, status int, args ...string) string {
	t.Helper()
	o := run(t, dir, c.env, c.program, append(args, "-no-color")...)
	said := o.Stdout + o.Stderr
	if o.Code != status {
		t.Fatalf("%s: exit status %d, want %d\n%s", strings.Join(args, " "), o.Code, status, said)
	}
	return strings.Join(strings.Fields(strings.NewReplacer("│", "", "╷", "", "╵", "").Replace(said)), " ")
}

// apply makes the world what the configuration says, and plans again: then
// nothing is left to do.
func (c terraform) apply(t *testing.T, dir string, args ...string) {
	t.Helper()
	c.ends(t, dir, 0, append([]string{"apply", "-auto-approve"}, args...)...)
	c.ends(t, dir, 0, append([]string{"plan", "-detailed-exitcode"}, args...)...)
}

// outputs are the configuration's.
func (c terraform) outputs(t *testing.T, dir string) map[string]any {
	t.Helper()
	said := run(t, dir, c.env, c.program, "output", "-json", "-no-color")
	var outputs map[string]struct{ Value any }
	if err := json.Unmarshal([]byte(said.Stdout), &outputs); err != nil {
		t.Fatalf("%v in what tofu printed:\n%s", err, said.Stdout)
	}
	found := map[string]any{}
	for name, output := range outputs {
		found[name] = output.Value
	}
	return found
}

// slow has the next writes of a method in a region become operations.
func (c terraform) slow(t *testing.T, region, method, mode string) {
	t.Helper()
	c.regions[region].Do(t, harness.Request{
		Method: http.MethodPost, Path: "/contoso/faults",
		Body: fmt.Sprintf(`{"method":%q,"pathContains":"/capacities/","fault":"async=%s"}`, method, mode),
	}).Want(t, 201)
}
