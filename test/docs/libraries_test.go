package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"portico/test/harness"
)

// The page has a line for each library in go.mod, and for no other.
func TestLibrariesAreNamed(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(root + "/" + name)
		harness.OK(t, err)
		return string(text)
	}
	_, page, _ := strings.Cut(read("docs/architecture.md"), "| library | for |\n")
	page, _, _ = strings.Cut(page, "\n\n")
	page = strings.ReplaceAll(page, "…/", "go.opentelemetry.io/")
	named := map[string]bool{}
	for _, row := range strings.Split(page, "\n")[1:] {
		libraries := strings.TrimSpace(strings.Split(row, "|")[1])
		for name := range strings.SplitSeq(libraries, ", ") {
			named[name] = true
		}
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(read("go.mod"), -1)
	if len(direct) == 0 {
		t.Fatal("go.mod names no library")
	}
	for _, match := range direct {
		if !named[match[1]] {
			t.Errorf("docs/architecture.md does not say what %s is for", match[1])
		}
		delete(named, match[1])
	}
	for name := range named {
		t.Errorf("docs/architecture.md names %s, which go.mod does not require", name)
	}
}
