package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Reports name cases by their ids, and are compared over versions of the suite. So an id
// that was once released stays, and is never given to another rule: it is added to
// testdata/ids.txt, and stays there.
func TestIDsAreStable(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "ids.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	released := strings.Fields(string(text))
	if !slices.IsSorted(released) || len(slices.Compact(slices.Clone(released))) != len(released) {
		t.Errorf("%s is not sorted, or names an id twice", file)
	}
	var ids []string
	for _, c := range All() {
		ids = append(ids, c.ID)
	}
	for _, id := range released {
		if !slices.Contains(ids, id) {
			t.Errorf("the case %s was released, and is no more", id)
		}
	}
	for _, id := range ids {
		if !slices.Contains(released, id) {
			t.Errorf("the case %s is not in %s", id, file)
		}
	}
}

func TestCasesSayWhatTheyHold(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z0-9-]+/[a-z0-9]+(-[a-z0-9]+)*$`)
	var profiles []Profile
	for _, p := range Profiles() {
		profiles = append(profiles, p.Name)
	}
	seen := map[string]bool{}
	for _, c := range All() {
		if !form.MatchString(c.ID) || seen[c.ID] {
			t.Errorf("the id %q is not family/what, or there twice", c.ID)
		}
		seen[c.ID] = true
		if c.Section == "" || c.Rule == "" || strings.HasSuffix(c.Rule, ".") || !slices.Contains(profiles, c.Profile) || c.Run == nil {
			t.Errorf("the case %s lacks its section, rule or profile: %q, %q, %q", c.ID, c.Section, c.Rule, c.Profile)
		}
	}
}
