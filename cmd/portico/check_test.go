package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/cmd/portico/operator"
	"portico/config"
)

// Programs read what check finds, each list also when it is empty. A fault is an exit status
// of 1, a warning only with --strict.
func TestCheckForPrograms(t *testing.T) {
	const good = "server: {publicURL: \"http://127.0.0.1:8080\", region: westus}\nregions: [{name: westus}]\n"
	served := good + "providers:\n- namespace: A.B\n  registration: automatic\n  endpoints: {global: [\"http://127.0.0.1:1\"], westus: [\"http://127.0.0.1:2\"]}\n" +
		"  resourceTypes: [{name: things, kind: tracked, apiVersions: [\"2024-01-01\"]}]\n"
	file := filepath.Join(t.TempDir(), "portico.yaml")
	for _, c := range []struct {
		name, text       string
		faults, warnings int
		strict           bool
		refused          bool
	}{
		{"nothing", served, 0, 0, true, false},
		{"a warning", good, 0, 1, false, false},
		{"a warning that counts", good, 0, 1, true, true},
		{"two faults", served + "batch: {immediate: none}\nindex: {askTimeout: -1s}\n", 2, 0, false, true},
		{"not YAML", served + "]", 1, 0, false, true},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		command := root(&stdout, &stderr)
		command.SetArgs([]string{"check", "-o", "json", "--config", file})
		if c.strict {
			command.SetArgs([]string{"check", "-o", "json", "--strict", "--config", file})
		}
		err := command.ExecuteContext(t.Context())
		var found map[string]config.Faults
		if wrong := json.Unmarshal(stdout.Bytes(), &found); wrong != nil || found["faults"] == nil || found["warnings"] == nil {
			t.Fatalf("%s: %v: %s", c.name, wrong, stdout.String())
		}
		if len(found["faults"]) != c.faults || len(found["warnings"]) != c.warnings || errors.Is(err, operator.ErrReported) != c.refused {
			t.Errorf("%s: %v, %s", c.name, err, stdout.String())
		}
		for _, f := range append(found["faults"], found["warnings"]...) {
			if f.File != file || f.What == "" || !strings.Contains(stderr.String(), f.Error()) {
				t.Errorf("%s: %+v, and on standard error %s", c.name, f, stderr.String())
			}
		}
	}
}
