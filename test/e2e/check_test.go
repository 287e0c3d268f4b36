package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

const goodConfig = `server: {publicURL: "http://127.0.0.1:8080", region: westus}
auth: {mode: none}
store: {driver: sqlite, dsn: portico.db}
regions:
  - {name: westus, displayName: West US}
  - {name: eastus, displayName: East US}
providers:
  - namespace: Contoso.Compute
    registration: automatic
    endpoints:
      westus: ["http://127.0.0.1:8101"]
      global: ["http://127.0.0.1:8100"]
    endpointTemplate: https://{region}.{subservice}.contoso.example
    resourceTypes:
      - {name: virtualMachines, kind: tracked, subservice: compute, apiVersions: ["2024-01-01"]}
      - {name: virtualMachines/disks, kind: tracked, subservice: compute, apiVersions: ["2024-01-01"]}
subscriptions:
  - {id: 00000000-0000-0000-0000-000000000001, tenantId: 00000000-0000-0000-0000-0000000000aa, displayName: Demo, state: Enabled, covered: true}
`

func TestCheckGood(t *testing.T) {
	t.Parallel()
	p := check(t, goodConfig)
	if code := p.ExitCode(t); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, p.Stdout(), p.Stderr())
	}
	// The table says for each type and region where its requests go.
	for _, row := range [][]string{
		{"Contoso.Compute", "virtualMachines", "tracked", "regional", "westus", "http://127.0.0.1:8101"},
		{"Contoso.Compute", "virtualMachines", "tracked", "regional", "eastus", "https://eastus.compute.contoso.example"},
		{"Contoso.Compute", "virtualMachines/disks", "tracked", "regional", "eastus", "https://eastus.compute.contoso.example"},
	} {
		if !hasRow(p.Stdout(), row) {
			t.Errorf("no row %v in\n%s", row, p.Stdout())
		}
	}
}

func TestCheckBad(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name     string
		old, new string
		line     string
		says     string
	}{
		{"unknown key", "auth: {mode: none}", "auth: {mode: none, magic: yes}", "portico.yaml:2:", "magic"},
		{"unlisted enum value", "mode: none", "mode: perhaps", "portico.yaml:2:", "tokens"},
		{"path in an endpoint", "8101\"", "8101/path\"", "portico.yaml:11:", "path"},
		{"port 0", "127.0.0.1:8100", "127.0.0.1:0", "portico.yaml:12:", "port"},
		{"nested type without its parent", "name: virtualMachines/disks", "name: machines/disks", "portico.yaml:16:", "machines"},
		{"reserved word", "name: virtualMachines/disks", "name: virtualMachines/providers", "portico.yaml:16:", "reserved"},
		{"not YAML", "auth: {mode: none}", "auth: {mode: none", "portico.yaml:", ""},
	} {
		t.Run(fault.name, func(t *testing.T) {
			p := check(t, strings.Replace(goodConfig, fault.old, fault.new, 1))
			if code := p.ExitCode(t); code != 1 {
				t.Errorf("exit code %d", code)
			}
			said := p.Stdout() + p.Stderr()
			if !lineWith(said, fault.line, fault.says) {
				t.Errorf("no line with %q and %q in\n%s", fault.line, fault.says, said)
			}
		})
	}
}

// All faults are reported at once.
func TestCheckReportsEveryFault(t *testing.T) {
	t.Parallel()
	text := strings.Replace(goodConfig, "127.0.0.1:8100", "user:secret@127.0.0.1:8100", 1)
	text = strings.Replace(text, "state: Enabled", "state: Sleeping", 1)
	p := check(t, text)
	if code := p.ExitCode(t); code != 1 {
		t.Errorf("exit code %d", code)
	}
	said := p.Stdout() + p.Stderr()
	for _, line := range []string{"portico.yaml:12:", "portico.yaml:18:"} {
		if !lineWith(said, line, "") {
			t.Errorf("no line with %q in\n%s", line, said)
		}
	}
	if strings.Contains(said, "secret") {
		t.Errorf("the credentials are repeated:\n%s", said)
	}
}

// The service refuses what check refuses, and says the same.
func TestServeRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeConfig(t, dir, strings.Replace(goodConfig, "mode: none", "mode: perhaps", 1))
	p := harness.Start(t, "portico serve", dir, harness.Build(t).Portico, "serve", "--config", file)
	if code := p.ExitCode(t); code == 0 {
		t.Error("exit code 0")
	}
	if said := p.Stdout() + p.Stderr(); !lineWith(said, "portico.yaml:2:", "tokens") {
		t.Errorf("no line with the fault in\n%s", said)
	}
}

// The configurations that are shipped are good ones.
func TestCheckShippedConfigurations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../configs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configurations: %v", err)
	}
	for _, file := range files {
		p := harness.Start(t, "portico check", ".", harness.Build(t).Portico, "check", "--config", file)
		if code := p.ExitCode(t); code != 0 {
			t.Errorf("%s: exit code %d\n%s%s", file, code, p.Stdout(), p.Stderr())
		}
	}
}

func check(t *testing.T, text string) *harness.Process {
	t.Helper()
	dir := t.TempDir()
	return harness.Start(t, "portico check", dir, harness.Build(t).Portico, "check", "--config", writeConfig(t, dir, text))
}

func writeConfig(t *testing.T, dir, text string) string {
	t.Helper()
	file := filepath.Join(dir, "portico.yaml")
	harness.OK(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func hasRow(table string, columns []string) bool {
	for line := range strings.Lines(table) {
		words := map[string]bool{}
		for word := range strings.FieldsSeq(line) {
			words[word] = true
		}
		found := 0
		for _, column := range columns {
			if words[column] {
				found++
			}
		}
		if found == len(columns) {
			return true
		}
	}
	return false
}

func lineWith(text string, parts ...string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}
	return false
}
