package config

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"portico/regions"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGood loads each testdata/good/*.yaml and compares its table and warnings
// with the .table file beside it.
func TestGood(t *testing.T) {
	for _, path := range cases(t, "testdata/good/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := Load(path)
			if err != nil {
				t.Fatalf("faults:\n%v", err)
			}
			var got bytes.Buffer
			writeRoutes(t, &got, c.Map)
			for _, w := range c.Warnings {
				got.WriteString("warning: " + w.Error() + "\n")
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".table", got.String())
		})
	}
}

// writeRoutes writes how a map resolves: a line for each type in each of its regions.
func writeRoutes(t *testing.T, to io.Writer, m *regions.Map) {
	t.Helper()
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAMESPACE\tTYPE\tKIND\tROUTING\tREGION\tENDPOINTS\tAPI-VERSIONS")
	for _, p := range m.Providers() {
		for _, rt := range p.Types() {
			for _, region := range rt.EffectiveRegions() {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Namespace, rt.Name, rt.Kind, rt.Routing,
					region, rt.Endpoint(region), strings.Join(rt.APIVersions, ","))
			}
		}
	}
	must(t, table.Flush())
}

// TestBad loads each testdata/bad/*.yaml and compares its faults with the
// .faults file beside it.
func TestBad(t *testing.T) {
	for _, path := range cases(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, err := Load(path)
			if err == nil || c != nil {
				t.Fatalf("Load returned %v and %v, want faults alone", c, err)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".faults", err.Error()+"\n")
		})
	}
}

// TestShipped holds the sample configurations to what they promise: no fault
// and no warning.
func TestShipped(t *testing.T) {
	for _, path := range cases(t, "../configs/*.yaml") {
		c, err := Load(path)
		if err != nil {
			t.Errorf("faults:\n%v", err)
		} else if len(c.Warnings) > 0 {
			t.Errorf("warnings:\n%v", Faults(c.Warnings))
		}
	}
}

func cases(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no cases (%v)", pattern, err)
	}
	return paths
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update and read it", err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
