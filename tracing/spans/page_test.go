package spans

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of spans in docs/operations.md anew")

// The page for operators lists all spans.
func TestPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "operations.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- Written by a test: go test ./tracing/spans -run TestPage -update -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("docs/operations.md has no place for the list")
	}
	var list strings.Builder
	list.WriteString("| span | role | what it measures | attributes |\n|---|---|---|---|\n")
	for _, d := range Kinds() {
		var names []string
		for _, a := range d.Attributes {
			names = append(names, "`"+string(a)+"`")
		}
		fmt.Fprintf(&list, "| `%s` | %s | %s | %s |\n", d.Name, d.Role, d.Meaning, strings.Join(names, ", "))
	}
	want := before + begin + list.String() + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Error("docs/operations.md does not list the spans that there are: go test ./tracing/spans -run TestPage -update")
	}
}
