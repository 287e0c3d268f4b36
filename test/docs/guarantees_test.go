// Package docs holds what the pages for readers are held to.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// named is a test as the page names it: the folder of its package, and its name.
var named = regexp.MustCompile("`([a-z0-9/]+)` ((?:Test|Fuzz)[A-Za-z0-9]+)")

// A promise is worth no more than the test that fails when it is broken.
func TestGuaranteesNameTestsThatExist(t *testing.T) {
	namesTests(t, "docs/guarantees.md", 30)
}

// A defence is no more than the attack that finds it gone.
func TestSecurityNamesTestsThatExist(t *testing.T) {
	namesTests(t, "SECURITY.md", 40)
}

// namesTests holds a page to naming so many tests, all of which there are.
func namesTests(t *testing.T, name string, least int) {
	t.Helper()
	page, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	all := named.FindAllSubmatch(page, -1)
	if len(all) < least {
		t.Fatalf("%s names %d tests", name, len(all))
	}
	for _, match := range all {
		if !defined(t, string(match[1]), string(match[2])) {
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
