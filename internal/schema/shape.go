package schema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Shape is a schema compiled for fast checks. It is safe for concurrent use.
type Shape struct {
	*scalar
	nullable           bool
	members            map[string]member
	required           []string
	additional         *Shape // for undeclared members; nil allows anything
	items              *Shape
	minItems, maxItems int
	options            []*Shape // a value must fit one of them
	discriminator      string
	variants           map[string]*Shape // by the discriminator's value
}

// member is the schema of an object's member.
type member struct {
	*Shape
	nullable      bool
	readOnly      bool
	requiredIndex int // index in Shape.required, from 1; 0 if it is optional
}

// anyShape allows all values.
var anyShape = &Shape{scalar: &scalar{}}

// Shape compiles a schema. An error names the member whose schema is invalid.
func (l Library) Shape(n Node) (*Shape, error) {
	return (&shaper{Library: l, shapes: map[uintptr]*Shape{}}).shapeOf(n, "")
}

// shaper compiles each schema once, because schemas may be recursive.
type shaper struct {
	Library
	shapes map[uintptr]*Shape
}

func (m *shaper) shapeOf(n Node, at string) (*Shape, error) {
	resolved, err := m.Resolve(n)
	if ref, _ := n.Value["$ref"].(string); errors.Is(err, errNoFile) && strings.Contains(ref, "common-types") {
		return anyShape, nil // documents are often distributed without the shared common types
	}
	if err != nil {
		return nil, unreadable(at, err)
	}
	id := reflect.ValueOf(resolved.Value).Pointer()
	if known := m.shapes[id]; known != nil {
		return known, nil
	}
	s, err := m.Complete(resolved)
	if err != nil {
		return nil, unreadable(at, err)
	}
	shape := &Shape{}
	m.shapes[id] = shape
	return shape, m.fill(shape, s, at, 0)
}

func unreadable(at string, err error) error {
	if at == "" {
		at = "the body"
	}
	return fmt.Errorf("%s: %w", at, err)
}

func (m *shaper) fill(shape *Shape, s *Schema, at string, depth int) (err error) {
	if depth > maxDepth {
		return unreadable(at, fmt.Errorf("more than %d schemas are options of each other", maxDepth))
	}
	shape.scalar, shape.nullable = s.scalar(), s.nullable()
	if shape.options, err = m.optionsOf(s, at, depth); err != nil || len(shape.options) > 0 {
		return err
	}
	switch shape.kind {
	case "object":
		return m.fillObject(shape, s, at)
	case "array":
		items, _ := s.Keywords["items"].(map[string]any)
		shape.minItems, shape.maxItems = int(Number(s.Keywords["minItems"], 0)), int(Number(s.Keywords["maxItems"], 1<<31))
		shape.items, err = m.shapeOf(Node{Doc: s.From.Doc, Value: items}, at+"[]")
	}
	return err
}

func (m *shaper) optionsOf(s *Schema, at string, depth int) (all []*Shape, err error) {
	for _, option := range s.Options() {
		merged, err := m.With(s, option)
		if err != nil {
			return nil, unreadable(at, err)
		}
		shape := &Shape{}
		if err := m.fill(shape, merged, at, depth+1); err != nil {
			return nil, err
		}
		all = append(all, shape)
	}
	return all, nil
}

func (m *shaper) fillObject(shape *Shape, s *Schema, at string) error {
	shape.members = map[string]member{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		n := s.Properties[name]
		of, err := m.shapeOf(n, strings.TrimPrefix(at+"."+name, "."))
		if err != nil {
			return err
		}
		readOnly := n.Value["readOnly"] == true
		if own, err := m.Complete(n); err == nil {
			readOnly = readOnly || own.Keywords["readOnly"] == true
		}
		shape.members[name] = member{Shape: of, nullable: hasTrue(n.Value, nullWords...), readOnly: readOnly}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Required)) {
		its, declared := shape.members[name]
		switch {
		case !declared:
			its.Shape, its.nullable = anyShape, true
		case its.readOnly:
			continue
		}
		shape.required = append(shape.required, name)
		its.requiredIndex = len(shape.required)
		shape.members[name] = its
	}
	if further, ok := s.Keywords["additionalProperties"].(map[string]any); ok {
		var err error
		if shape.additional, err = m.shapeOf(Node{Doc: s.From.Doc, Value: further}, at+".*"); err != nil {
			return err
		}
	}
	return m.addVariants(shape, s, at)
}

// addVariants adds the variants that the discriminator selects, including variants of variants.
func (m *shaper) addVariants(shape *Shape, s *Schema, at string) error {
	if shape.discriminator = s.Discriminator(); shape.discriminator == "" {
		return nil
	}
	shape.variants = map[string]*Shape{}
	for open := m.Variants(s); len(open) > 0; {
		next := open[0]
		open = open[1:]
		if shape.variants[next.Value] != nil {
			continue
		}
		of, err := m.shapeOf(next.Node, at)
		if err != nil {
			return err
		}
		shape.variants[next.Value] = of
		if resolved, err := m.Resolve(next.Node); err == nil && resolved.pointer != "" {
			open = append(open, m.derivedSchemas(resolved)...)
		}
	}
	return nil
}

var nullWords = []string{"nullable", "x-nullable"}

// nullable reports whether the schema allows null.
func (s *Schema) nullable() bool {
	if hasTrue(s.Keywords, nullWords...) || slices.Contains(StringsOf(s.Keywords["type"]), "null") {
		return true
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		list, _ := s.Keywords[keyword].([]any)
		for _, item := range list {
			if option, _ := item.(map[string]any); option["type"] == "null" {
				return true
			}
		}
	}
	return false
}

func hasTrue(keywords map[string]any, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return keywords[name] == true })
}
