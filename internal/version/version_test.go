package version

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// What is packaged has the version of the program.
func TestThereIsOneVersion(t *testing.T) {
	const root = "../../"
	for file, pattern := range map[string]string{
		"deploy/chart/Chart.yaml": `(?m)^(?:version|appVersion): (.*)$`,
		"deploy/Dockerfile":       `(?m)^LABEL org\.opencontainers\.image\.version="(.*)"$`,
		"CHANGELOG.md":            `(?s)\A.*?\n## (?:Unreleased: )?([0-9][0-9.]*)`, // the newest
	} {
		text, err := os.ReadFile(root + file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s has no version", file)
		}
		for _, match := range found {
			if match[1] != Number {
				t.Errorf("%s: version %s, want %s", file, match[1], Number)
			}
		}
	}
}

// What is released under a tag has the tag's version.
func TestTheTagIsTheVersion(t *testing.T) {
	_ = os.Getenv("PORTICO_INPUTS") // the go command keeps a result for as long as this says the same
	tags, err := exec.CommandContext(t.Context(), "git", "tag", "--points-at", "HEAD", "--list", "v*").Output()
	if err != nil {
		t.Skip("this is not a clone of the repository: ", err)
	}
	for tag := range strings.FieldsSeq(string(tags)) {
		if tag != "v"+Number {
			t.Errorf("the commit's tag is %s, and its version %s", tag, Number)
		}
	}
}
