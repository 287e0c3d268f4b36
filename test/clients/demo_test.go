package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"portico/test/harness"
)

// The pages show what az and Terraform do at `make demo`: these tests paste the pages' own
// blocks into a shell, with free addresses in place of the demo's usual ones.

// startDemo starts what `make demo` starts, in a new folder, and returns that folder and the
// gateway's address.
func startDemo(t *testing.T) (dir, address string) {
	t.Helper()
	dir, address = t.TempDir(), harness.FreeAddress(t)
	demo := harness.Start(t, "portico demo", dir, harness.Build(t).Portico, "demo", "--listen", address,
		"--admin", harness.FreeAddress(t), "--sign-in", harness.FreeAddress(t))
	demo.WaitLine(t, "curl")
	t.Cleanup(func() { demo.Stop(t, syscall.SIGINT) })
	return dir, address
}

// block is the block of a page in a language that begins like this, with the address in
// place of the demo's.
func block(t *testing.T, page, language, begin, address string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	harness.OK(t, err)
	_, rest, found := strings.Cut(string(text), "```"+language+"\n"+begin)
	rest, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no block that begins with %q", page, begin)
	}
	return strings.ReplaceAll(begin+rest, "127.0.0.1:8080", address)
}

// paste gives a block to a shell in the demo's folder, and returns what it prints.
func paste(t *testing.T, dir, text string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runBound)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-e", "-c", text)
	shell.Dir, shell.Env = dir, environment(env)
	var stderr strings.Builder
	shell.Stderr = &stderr
	printed, err := shell.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s%s", err, text, printed, stderr.String())
	}
	return string(printed)
}

// az prints what README.md says that it prints.
func TestAzAtTheDemo(t *testing.T) {
	t.Parallel()
	harness.Installed(t, "az")
	dir, address := startDemo(t)
	text := block(t, "README.md", "sh", "export REQUESTS_CA_BUNDLE", address)
	var shown []string
	for line := range strings.Lines(text) {
		if answer, is := strings.CutPrefix(line, "# "); is {
			shown = append(shown, strings.TrimSpace(answer))
		}
	}
	var printed []string
	for line := range strings.Lines(paste(t, dir, text, "AZURE_CORE_COLLECT_TELEMETRY=no")) {
		printed = append(printed, strings.TrimSpace(line))
	}
	if got, want := strings.Join(printed, "\n"), strings.Join(shown, "\n"); got != want || len(shown) == 0 {
		t.Errorf("az printed\n%s\nREADME.md shows\n%s", got, want)
	}
}

// Terraform creates the group of docs/clients.md, and finds nothing left to do. The
// provider is the one that was built for these tests, which needs no init.
func TestTerraformAtTheDemo(t *testing.T) {
	t.Parallel()
	program, settings := terraformProgram(t)
	dir, address := startDemo(t)
	writeFile(t, filepath.Join(dir, "main.tf"), block(t, "docs/clients.md", "hcl", `provider "azurerm"`, address))
	text := block(t, "docs/clients.md", "sh", "export SSL_CERT_FILE", address) + "terraform plan -detailed-exitcode\n"
	text = strings.NewReplacer("terraform init\n", "", "terraform ", program+" ").Replace(text)
	said := paste(t, dir, text, append(settings, "TF_CLI_ARGS=-no-color")...)
	if !strings.Contains(said, "1 added, 0 changed, 0 destroyed") || !strings.Contains(said, "No changes.") {
		t.Errorf("Terraform said\n%s", said)
	}
}
