package api

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const page = "../../../docs/admin.md"

// The page for people who write tools lists the operations and the problems that there are.
func TestPageListsTheOperations(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var operations, problems strings.Builder
	operations.WriteString("| request | what it does | carries | is answered by |\n|---|---|---|---|\n")
	for _, o := range Operations() {
		fmt.Fprintf(&operations, "| `%s %s`%s | %s | %s | %s |\n", o.Method, o.Path, parametersOf(o), o.Summary, typeOf(o.Content), typeOf(o.Answer))
	}
	problems.WriteString("| code | severity | what it means |\n|---|---|---|\n")
	seen := map[string]bool{}
	for _, k := range ProblemKinds() {
		if seen[k.Code] || k.Code == "" || !slices.Contains([]string{Critical, Warning, Planned}, k.Severity) {
			t.Errorf("%+v", k)
		}
		seen[k.Code] = true
		fmt.Fprintf(&problems, "| `%s` | %s | %s |\n", k.Code, k.Severity, k.Meaning)
	}
	want := between(t, between(t, string(text), "operations", operations.String()), "problems", problems.String())
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("docs/admin.md is out of date: go test ./gateway/admin/api -update")
	}
}

// between puts a table in its place on the page.
func between(t *testing.T, text, name, table string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("the page has no place for %s", name)
	}
	return before + begin + table + end + after
}

func parametersOf(o Operation) string {
	var names []string
	for _, p := range o.Query {
		names = append(names, "`"+p.Name+"`")
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func typeOf(value any) string {
	if value == nil {
		return ""
	}
	return "`" + nameOf(reflect.TypeOf(value)) + "`"
}
