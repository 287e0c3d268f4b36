package schema

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Schema is a schema merged with the schemas that it extends by allOf.
type Schema struct {
	From       Node
	Keywords   map[string]any
	Properties map[string]Node
	Required   map[string]bool
}

// maxDepth limits the nesting of schemas.
const maxDepth = 24

// Complete resolves a schema and merges the schemas that it extends.
func (l Library) Complete(n Node) (*Schema, error) {
	n, err := l.Resolve(n)
	if err != nil {
		return nil, err
	}
	s := &Schema{From: n, Keywords: map[string]any{}, Properties: map[string]Node{}, Required: map[string]bool{}}
	if err := l.merge(s, n, 0); err != nil {
		return nil, err
	}
	if own, given := n.Value["discriminator"]; given {
		s.Keywords["discriminator"] = own
	} else {
		delete(s.Keywords, "discriminator") // inherited, but this schema is already one of the variants
	}
	return s, nil
}

// merge adds a schema's keywords to s, after the keywords of the schemas that it extends.
func (l Library) merge(s *Schema, n Node, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d schemas extend each other", maxDepth)
	}
	list, _ := n.Value["allOf"].([]any)
	for _, item := range list {
		value, _ := item.(map[string]any)
		part, err := l.Resolve(Node{Doc: n.Doc, Value: value})
		if ref, _ := value["$ref"].(string); errors.Is(err, errNoFile) && strings.Contains(ref, "common-types") {
			continue // it declares the members of every resource, none of which a body needs
		}
		if err != nil {
			return err
		}
		if err := l.merge(s, part, depth+1); err != nil {
			return err
		}
	}
	for keyword, value := range n.Value {
		switch keyword {
		case "allOf", "required":
		case "properties":
			properties, _ := value.(map[string]any)
			for name, property := range properties {
				if p, ok := property.(map[string]any); ok {
					s.Properties[name] = Node{Doc: n.Doc, Value: p}
				}
			}
		default:
			s.Keywords[keyword] = value
		}
	}
	for _, name := range StringsOf(n.Value["required"]) {
		s.Required[name] = true
	}
	return nil
}

// Kind returns the type of values, or "" for any.
func (s *Schema) Kind() string {
	switch t := s.Keywords["type"].(type) {
	case string:
		return t
	case []any:
		for _, name := range StringsOf(t) {
			if name != "null" {
				return name
			}
		}
	}
	switch {
	case len(s.Properties) > 0 || len(s.Required) > 0 || s.Keywords["additionalProperties"] != nil:
		return "object"
	case s.Keywords["items"] != nil:
		return "array"
	}
	return ""
}

// Options returns the alternative schemas. A value must fit one of them.
func (s *Schema) Options() []Node {
	for _, keyword := range []string{"oneOf", "anyOf"} {
		list, _ := s.Keywords[keyword].([]any)
		var all []Node
		for _, item := range list {
			if value, ok := item.(map[string]any); ok && value["type"] != "null" {
				all = append(all, Node{Doc: s.From.Doc, Value: value})
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

// With returns the schema merged with one of its options.
func (l Library) With(s *Schema, option Node) (*Schema, error) {
	option, err := l.Resolve(option)
	if err != nil {
		return nil, err
	}
	merged := &Schema{From: option, Keywords: maps.Clone(s.Keywords), Properties: maps.Clone(s.Properties), Required: maps.Clone(s.Required)}
	delete(merged.Keywords, "oneOf")
	delete(merged.Keywords, "anyOf")
	return merged, l.merge(merged, option, 0)
}

// Discriminator returns the name of the member that selects an object's variant, or "".
func (s *Schema) Discriminator() string {
	switch d := s.Keywords["discriminator"].(type) {
	case string:
		return d
	case map[string]any:
		name, _ := d["propertyName"].(string)
		return name
	}
	return ""
}

// Variant is the schema for a value of the discriminator.
type Variant struct {
	Value string
	Node  Node
}

// Variants returns the known variants of a schema with a discriminator, sorted by value.
func (l Library) Variants(s *Schema) []Variant {
	var all []Variant
	for value, ref := range ObjectAt(s.Keywords, "discriminator", "mapping") {
		name, _ := ref.(string)
		if !strings.ContainsAny(name, "#./") {
			name = "#/components/schemas/" + name
		}
		all = append(all, Variant{value, Node{Doc: s.From.Doc, Value: map[string]any{"$ref": name}}})
	}
	if len(all) == 0 && s.From.pointer != "" {
		all = l.derivedSchemas(s.From)
	}
	slices.SortFunc(all, func(a, b Variant) int { return strings.Compare(a.Value, b.Value) })
	return all
}

// derivedSchemas returns the schemas of base's document that extend base.
func (l Library) derivedSchemas(base Node) []Variant {
	var all []Variant
	for _, place := range [][]string{{"definitions"}, {"components", "schemas"}} {
		for name := range ObjectAt(base.Doc.root, place...) {
			value := ObjectAt(base.Doc.root, append(place, name)...)
			list, _ := value["allOf"].([]any)
			for _, item := range list {
				part, _ := item.(map[string]any)
				parent, err := l.Resolve(Node{Doc: base.Doc, Value: part})
				if err != nil || part["$ref"] == nil || parent.Doc != base.Doc || parent.pointer != base.pointer {
					continue
				}
				ref := map[string]any{"$ref": "#/" + strings.Join(append(slices.Clone(place), name), "/")}
				all = append(all, Variant{discriminatorValue(value, name), Node{Doc: base.Doc, Value: ref}})
			}
		}
	}
	return all
}

// discriminatorValue returns the discriminator's value for a schema.
func discriminatorValue(value map[string]any, name string) string {
	if own, ok := value["x-ms-discriminator-value"].(string); ok {
		return own
	}
	return name
}

// OwnValue returns the discriminator's value for the schema itself.
func (s *Schema) OwnValue() string {
	return discriminatorValue(s.From.Value, path.Base(s.From.pointer))
}
