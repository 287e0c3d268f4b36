package setting

import (
	"fmt"
	"strings"

	"portico/config/yamltree"
)

// WriteReference writes a section of Markdown for each row: what the setting is, its default, valid
// values, and its description.
func WriteReference(b *strings.Builder, rows []*Setting) {
	for _, section := range rows {
		fmt.Fprintf(b, "\n### %s\n\n%s\n", section.key, section.entry(false))
		section.writeBelow(b, section.key, section.restartAll())
	}
}

// writeBelow writes the settings below a setting. [] follows the path of a list.
func (s *Setting) writeBelow(b *strings.Builder, path string, restartOnly bool) {
	if s.below == nil {
		return
	}
	if s.kind == mappings {
		path += "[]"
	}
	for _, child := range withoutRemoved(s.below()) {
		at := yamltree.Join(path, child.key)
		fmt.Fprintf(b, "\n**`%s`** — %s\n", at, child.entry(restartOnly))
		child.writeBelow(b, at, restartOnly || child.restartAll())
	}
}

// restartAll reports whether any change below the setting needs a restart.
func (s *Setting) restartAll() bool { return s.restartOnly && s.changed == nil }

// entry returns the reference of a setting. restartOnly means that a setting above it needs a
// restart for any change.
func (s *Setting) entry(restartOnly bool) string {
	facts := []string{s.kindText()}
	initial := formatValue(s.initial)
	switch {
	case s.required:
		facts = append(facts, "required")
	case s.initialText != "":
		facts = append(facts, "default: "+s.initialText)
	case initial != "":
		facts = append(facts, "default `"+initial+"`")
	case s.kind == scalar:
		facts = append(facts, "not set by default")
	}
	if s.kind == scalar && (restartOnly || s.restartOnly) {
		facts = append(facts, "needs a restart")
	}
	text := s.doc
	if len(facts) > 1 || facts[0] != "mapping" { // a mapping is recognizable by its contents
		text = strings.Join(facts, "; ") + ".  \n" + text
	}
	if s.allowed != "" {
		text += "  \nAllowed: " + s.allowed + "."
	}
	return text
}

// kindText returns the name of the setting's kind.
func (s *Setting) kindText() string {
	switch s.kind {
	case mapping:
		if s.word != "" {
			return "mapping, or `" + s.word + "`"
		}
		return "mapping"
	case list:
		return "list; items: " + s.noun
	case mappings:
		return "list of mappings"
	case scalar, addresses, free, removed:
	}
	if len(s.schema.Words) > 0 && s.schema.Type == "" {
		return "one word"
	}
	return s.noun
}
