package schema

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Schema is a schema merged with those that it extends by allOf.
type Schema struct {
	From       Node
	Keywords   map[string]any
	Properties map[string]Node
	Required   map[string]bool
}

// deepest bounds how deep schemas hold each other.
const deepest = 24

// Complete resolves a schema and merges the schemas that it refers to.
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
		delete(s.Keywords, "discriminator") // an ancestor's: it is this one that was chosen
	}
	return s, nil
}

// merge adds a schema's own keywords over those of the schemas that it extends.
func (l Library) merge(s *Schema, n Node, depth int) error {
	if depth > deepest {
		return fmt.Errorf("more than %d schemas extend each other", deepest)
	}
	list, _ := n.Value["allOf"].([]any)
	for _, item := range list {
		value, _ := item.(map[string]any)
		part, err := l.Resolve(Node{Doc: n.Doc, Value: value})
		if ref, _ := value["$ref"].(string); errors.Is(err, errNoFile) && strings.Contains(ref, "common-types") {
			continue // the envelope of all resources, which a body needs nothing of
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
	for _, name := range Texts(n.Value["required"]) {
		s.Required[name] = true
	}
	return nil
}

// Kind is the type that values have; "" for any.
func (s *Schema) Kind() string {
	switch t := s.Keywords["type"].(type) {
	case string:
		return t
	case []any:
		for _, name := range Texts(t) {
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

// Options returns the alternative schemas; a value has to fit one of them.
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

// With is the schema with one of its options.
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

// Discriminator is the member whose value names the kind of an object; "" if none does.
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

// Variant is one of the kinds of an object, by the value of its discriminator.
type Variant struct {
	Value string
	Node  Node
}

// Variants are the known kinds of a schema with a discriminator, by their values' order.
func (l Library) Variants(s *Schema) []Variant {
	var all []Variant
	for value, ref := range At(s.Keywords, "discriminator", "mapping") {
		name, _ := ref.(string)
		if !strings.ContainsAny(name, "#./") {
			name = "#/components/schemas/" + name
		}
		all = append(all, Variant{value, Node{Doc: s.From.Doc, Value: map[string]any{"$ref": name}}})
	}
	if len(all) == 0 && s.From.pointer != "" {
		all = l.extending(s.From)
	}
	slices.SortFunc(all, func(a, b Variant) int { return strings.Compare(a.Value, b.Value) })
	return all
}

// extending are the schemas of a document that extend one of it.
func (l Library) extending(base Node) []Variant {
	var all []Variant
	for _, place := range [][]string{{"definitions"}, {"components", "schemas"}} {
		for name := range At(base.Doc.root, place...) {
			value := At(base.Doc.root, append(place, name)...)
			list, _ := value["allOf"].([]any)
			for _, item := range list {
				part, _ := item.(map[string]any)
				parent, err := l.Resolve(Node{Doc: base.Doc, Value: part})
				if err != nil || part["$ref"] == nil || parent.Doc != base.Doc || parent.pointer != base.pointer {
					continue
				}
				ref := map[string]any{"$ref": "#/" + strings.Join(append(slices.Clone(place), name), "/")}
				all = append(all, Variant{discriminated(value, name), Node{Doc: base.Doc, Value: ref}})
			}
		}
	}
	return all
}

// discriminated is the value of the discriminator of a schema.
func discriminated(value map[string]any, name string) string {
	if own, ok := value["x-ms-discriminator-value"].(string); ok {
		return own
	}
	return name
}

// OwnValue is the value of the discriminator for the schema itself.
func (s *Schema) OwnValue() string {
	return discriminated(s.From.Value, path.Base(s.From.pointer))
}
