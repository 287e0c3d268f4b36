package template_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/template"
	"portico/template/document"
)

var update = flag.Bool("update", false, "write the expected plans and faults")

// Each template of testdata/plans has its plan beside it.
func TestPlans(t *testing.T) {
	t.Parallel()
	for _, file := range templates(t, "plans") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			in, faults := read(t, file)
			plan, more, _ := template.Expand(t.Context(), in)
			for _, fault := range append(faults, more...) {
				t.Error(fault)
			}
			if t.Failed() {
				return
			}
			var text bytes.Buffer
			if err := json.Indent(&text, plan.Document().AppendJSON(nil), "", "  "); err != nil {
				t.Fatal(err)
			}
			text.WriteByte('\n')
			expect(t, strings.TrimSuffix(file, ".json")+".plan.json", text.String())
			respectsDependencies(t, plan)
		})
	}
}

// Each template of testdata/faults has its faults beside it: all of them, in order.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, file := range templates(t, "faults") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			in, faults := read(t, file)
			if len(faults) == 0 {
				_, faults, _ = template.Expand(t.Context(), in)
			}
			var text strings.Builder
			for _, fault := range faults {
				text.WriteString(fault.Error() + "\n")
			}
			expect(t, strings.TrimSuffix(file, ".json")+".faults", text.String())
		})
	}
}

// templates are the files of a folder that are neither parameters nor plans.
func templates(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	var kept []string
	for _, file := range files {
		if strings.Count(filepath.Base(file), ".") == 1 {
			kept = append(kept, file)
		}
	}
	return kept
}

// read reads a template, with the parameters beside it where there are any.
func read(t *testing.T, file string) (template.Input, []*document.Fault) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, faults := document.Read(text, document.Relaxed, template.Code)
	if len(faults) > 0 {
		return template.Input{}, faults
	}
	in := input(d.Root)
	if strings.Contains(d.Root.Member("$schema").Text(), "subscription") {
		in.Scope.Group = ""
	}
	if text, err = os.ReadFile(strings.TrimSuffix(file, ".json") + ".parameters.json"); err != nil {
		return in, nil
	}
	if d, faults = document.Read(text, document.Relaxed, template.Code); len(faults) == 0 {
		in.Arguments, faults = template.ReadArguments(d.Root)
	}
	return in, faults
}

func expect(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s (%v) is not what comes out: go test ./template -update\n%s", file, err, got)
	}
}

func respectsDependencies(t *testing.T, plan *template.Plan) {
	t.Helper()
	before := map[*template.Resource]bool{}
	for _, r := range plan.Resources {
		for _, other := range r.DependsOn {
			if !before[other] {
				t.Errorf("%s stands before %s", r.ID, other.ID)
			}
		}
		before[r] = true
	}
}
