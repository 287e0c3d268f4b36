package sample

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// schema is a schema merged with those that it extends by allOf.
type schema struct {
	from       node
	keywords   map[string]any
	properties map[string]node
	required   map[string]bool
}

// deepest bounds how deep schemas hold each other.
const deepest = 24

// complete resolves a schema and merges the schemas that it refers to.
func (l library) complete(n node) (*schema, error) {
	n, err := l.resolve(n)
	if err != nil {
		return nil, err
	}
	s := &schema{from: n, keywords: map[string]any{}, properties: map[string]node{}, required: map[string]bool{}}
	if err := l.merge(s, n, 0); err != nil {
		return nil, err
	}
	if own, given := n.value["discriminator"]; given {
		s.keywords["discriminator"] = own
	} else {
		delete(s.keywords, "discriminator") // an ancestor's: it is this one that was chosen
	}
	return s, nil
}

// merge adds a schema's own keywords over those of the schemas that it extends.
func (l library) merge(s *schema, n node, depth int) error {
	if depth > deepest {
		return fmt.Errorf("more than %d schemas extend each other", deepest)
	}
	list, _ := n.value["allOf"].([]any)
	for _, item := range list {
		value, _ := item.(map[string]any)
		part, err := l.resolve(node{doc: n.doc, value: value})
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
	for keyword, value := range n.value {
		switch keyword {
		case "allOf", "required":
		case "properties":
			properties, _ := value.(map[string]any)
			for name, property := range properties {
				if p, ok := property.(map[string]any); ok {
					s.properties[name] = node{doc: n.doc, value: p}
				}
			}
		default:
			s.keywords[keyword] = value
		}
	}
	for _, name := range texts(n.value["required"]) {
		s.required[name] = true
	}
	return nil
}

// kind is the type that values have; "" for any.
func (s *schema) kind() string {
	switch t := s.keywords["type"].(type) {
	case string:
		return t
	case []any:
		for _, name := range texts(t) {
			if name != "null" {
				return name
			}
		}
	}
	switch {
	case len(s.properties) > 0 || len(s.required) > 0 || s.keywords["additionalProperties"] != nil:
		return "object"
	case s.keywords["items"] != nil:
		return "array"
	}
	return ""
}

// options returns the alternative schemas; a value has to fit one of them.
func (s *schema) options() []node {
	for _, keyword := range []string{"oneOf", "anyOf"} {
		list, _ := s.keywords[keyword].([]any)
		var all []node
		for _, item := range list {
			if value, ok := item.(map[string]any); ok && value["type"] != "null" {
				all = append(all, node{doc: s.from.doc, value: value})
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

// with is the schema with one of its options.
func (l library) with(s *schema, option node) (*schema, error) {
	option, err := l.resolve(option)
	if err != nil {
		return nil, err
	}
	merged := &schema{from: option, keywords: maps.Clone(s.keywords), properties: maps.Clone(s.properties), required: maps.Clone(s.required)}
	delete(merged.keywords, "oneOf")
	delete(merged.keywords, "anyOf")
	return merged, l.merge(merged, option, 0)
}

// discriminator is the member whose value names the kind of an object; "" if none does.
func (s *schema) discriminator() string {
	switch d := s.keywords["discriminator"].(type) {
	case string:
		return d
	case map[string]any:
		name, _ := d["propertyName"].(string)
		return name
	}
	return ""
}

// variant is one of the kinds of an object, by the value of its discriminator.
type variant struct {
	value string
	node  node
}

// variants are the known kinds of a schema with a discriminator, by their values' order.
func (l library) variants(s *schema) []variant {
	var all []variant
	for value, ref := range at(s.keywords, "discriminator", "mapping") {
		name, _ := ref.(string)
		if !strings.ContainsAny(name, "#./") {
			name = "#/components/schemas/" + name
		}
		all = append(all, variant{value, node{doc: s.from.doc, value: map[string]any{"$ref": name}}})
	}
	if len(all) == 0 && s.from.pointer != "" {
		all = l.extending(s.from)
	}
	slices.SortFunc(all, func(a, b variant) int { return strings.Compare(a.value, b.value) })
	return all
}

// extending are the schemas of a document that extend one of it.
func (l library) extending(base node) []variant {
	var all []variant
	for _, place := range [][]string{{"definitions"}, {"components", "schemas"}} {
		for name := range at(base.doc.root, place...) {
			value := at(base.doc.root, append(place, name)...)
			list, _ := value["allOf"].([]any)
			for _, item := range list {
				part, _ := item.(map[string]any)
				parent, err := l.resolve(node{doc: base.doc, value: part})
				if err != nil || part["$ref"] == nil || parent.doc != base.doc || parent.pointer != base.pointer {
					continue
				}
				ref := map[string]any{"$ref": "#/" + strings.Join(append(slices.Clone(place), name), "/")}
				all = append(all, variant{discriminated(value, name), node{doc: base.doc, value: ref}})
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

// ownValue is the value of the discriminator for the schema itself.
func (s *schema) ownValue() string {
	return discriminated(s.from.value, path.Base(s.from.pointer))
}
