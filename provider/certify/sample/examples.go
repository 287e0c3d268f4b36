package sample

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"portico/internal/schema"
)

// examples returns the bodies that the document gives as examples of the operation, the
// smallest first: the document claims that even its few members are enough.
func (m *maker) examples(o *schema.Operation) []any {
	parameter, err := m.BodyParameter(o)
	if err != nil {
		return nil
	}
	var bodies []any
	content := schema.ObjectAt(parameter.Value, "content")
	media := schema.ObjectAt(content, schema.JSONOf(content))
	if example, given := media["example"]; given {
		bodies = append(bodies, example)
	}
	for _, example := range m.namedExamples(parameter.Doc, schema.ObjectAt(media, "examples")) {
		bodies = append(bodies, example["value"])
	}
	name, _ := parameter.Value["name"].(string)
	for _, example := range m.namedExamples(o.Doc, schema.ObjectAt(o.Value, "x-ms-examples")) {
		parameters := schema.ObjectAt(example, "parameters")
		for _, key := range []string{name, "parameters", "resource", "body", "properties"} {
			if body := schema.ObjectAt(parameters, key); body != nil {
				bodies = append(bodies, body)
				break
			}
		}
	}
	slices.SortStableFunc(bodies, func(a, b any) int { return cmp.Compare(size(a), size(b)) })
	return bodies
}

// size returns the number of values in a value.
func size(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			n += size(inner)
		}
	case []any:
		for _, inner := range v {
			n += size(inner)
		}
	}
	return n
}

// namedExamples returns the examples sorted by name, without those in missing files.
func (m *maker) namedExamples(doc *schema.Document, examples map[string]any) []map[string]any {
	var all []map[string]any
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		if n, err := m.Resolve(schema.Node{Doc: doc, Value: schema.ObjectAt(examples, name)}); err == nil && n.Value != nil {
			all = append(all, n.Value)
		}
	}
	return all
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	}
	return fmt.Sprintf("a %T", v)
}
