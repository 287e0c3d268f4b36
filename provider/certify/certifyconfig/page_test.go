package certifyconfig

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"portico/provider/certify/contract"
)

var update = flag.Bool("update", false, "write the generated parts of docs/certify.md")

const page = "../../../docs/certify.md"

// The page's reference is what the rows say, and its table of profiles what the suite has.
func TestPage(t *testing.T) {
	var settings, profiles strings.Builder
	WriteReference(&settings)
	profiles.WriteString("\n| | |\n|---|---|\n")
	for _, p := range contract.Profiles() {
		fmt.Fprintf(&profiles, "| `%s` | %s |\n", p.Name, p.About)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, part := range map[string]string{"settings": settings.String(), "profiles": profiles.String()} {
		begin, end := "<!-- "+name+": go test ./provider/certify/certifyconfig -run TestPage -update -->\n", "\n<!-- end of "+name+" -->"
		before, rest, begins := strings.Cut(want, begin)
		_, after, ends := strings.Cut(rest, end)
		if !begins || !ends {
			t.Fatalf("the page has no part %s", name)
		}
		want = before + begin + part + end + after
	}
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Error("docs/certify.md is not what the rows say: go test ./provider/certify/certifyconfig -run TestPage -update")
	}
}

// The page's files are right.
func TestFilesOfThePageAreRight(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml certify.yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Fatal("there are none")
	}
	for _, block := range blocks {
		load(t, string(block[1]))
	}
}

// Every member that a description may have has a row, and so a place in the reference.
func TestEveryMemberHasARow(t *testing.T) {
	var reference strings.Builder
	WriteReference(&reference)
	for _, of := range []any{contract.Provider{}, contract.Type{}, contract.Exercise{}, contract.Refused{}, contract.Action{}, contract.LongRun{}, contract.CreatedFor{}, contract.Asynchrony{}, contract.Pattern{}, contract.Place{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if name := field.Tag.Get("yaml"); field.IsExported() && !strings.Contains(reference.String(), "."+name+"`** — ") {
				t.Errorf("%s of %T has no row", field.Name, of)
			}
		}
	}
}
