package version

import (
	"os"
	"regexp"
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
