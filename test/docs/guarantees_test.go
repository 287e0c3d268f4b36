// Package docs tests the pages for readers.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named matches a test on the page: the folder of its package, and its name.
var named = regexp.MustCompile("`([a-z0-9/]+)` ((?:Test|Fuzz)[A-Za-z0-9]+)")

// Each promise names a test that exists.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	promises, _, _ := strings.Cut(guarantees(t), attacks)
	namesTests(t, promises, 30)
}

// Each defence names a test that exists.
func TestAttacksNameTestsThatExist(t *testing.T) {
	_, rest, _ := strings.Cut(guarantees(t), attacks)
	namesTests(t, rest, 40)
}

// attacks is the heading of the table of attacks.
const attacks = "\n## Attacks\n"

func guarantees(t *testing.T) string {
	t.Helper()
	text, _ := readNamed(t, "docs/guarantees.md")
	return text
}

// namesTests fails if the text names fewer tests than least, or one that does not exist.
func namesTests(t *testing.T, text string, least int) {
	t.Helper()
	all := named.FindAllStringSubmatch(text, -1)
	if len(all) < least {
		t.Fatalf("%d tests are named, of %d at least", len(all), least)
	}
	for _, match := range all {
		if !defined(t, match[1], match[2]) {
			t.Errorf("there is no %s in %s", match[2], match[1])
		}
	}
}

func defined(t *testing.T, folder, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests: %v", folder, err)
	}
	definition := regexp.MustCompile(`(?m)^func ` + test + `\([tf] \*testing\.[TF]\)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if definition.Match(text) {
			return true
		}
	}
	return false
}
