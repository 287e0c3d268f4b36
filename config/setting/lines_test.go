package setting

import (
	"fmt"
	"strings"
	"testing"

	"portico/config/rule"
	"portico/config/yamltree"
)

// The lines of a list cost as much for each item as those of a short one: what they are
// named by is looked for once.
func TestLinesOfALongList(t *testing.T) {
	const items = 300
	text := "shops:\n" + strings.Repeat("- {name: same}\n", items/2)
	for i := range items / 2 {
		text += fmt.Sprintf("- {name: shop%d}\n", i)
	}
	report := new(yamltree.Report)
	tree := report.Parse("x.yaml", []byte(text))
	created := 0
	list := Mappings("shops", "Who sells.", func(s *shop) []*Setting {
		created++
		return []*Setting{Required("name", &s.name, rule.Identifier(), "The shop's name.")}
	}, func(*Object, shop) {})
	if lines := Lines(tree, []*Setting{list}); len(lines) != items || created > 2*items {
		t.Errorf("%d lines of %d items, and their rows were made %d times", len(lines), items, created)
	}
}
