package harness

import (
	"embed"
	"testing"
)

//go:embed templates/*.json
var templates embed.FS

// Template returns a template of test/harness/templates by its name without the suffix:
// network, modules or existing. They stand as a compiler writes them, all their parameters
// have defaults, and existing reads what network makes.
func Template(t testing.TB, name string) string {
	t.Helper()
	text, err := templates.ReadFile("templates/" + name + ".json")
	OK(t, err)
	return string(text)
}
