package schema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Shape is a schema made ready to check values quickly. It is safe for concurrent use.
type Shape struct {
	*scalar
	nullable           bool
	members            map[string]member
	required           []string
	further            *Shape // of members that are not declared; nil: anything
	items              *Shape
	minItems, maxItems int
	options            []*Shape // one of which a value has to fit
	discriminator      string
	variants           map[string]*Shape // by the discriminator's value
}

// member is what a schema says of a member of an object.
type member struct {
	*Shape
	nullable bool
	readOnly bool
	required int // its place among those that are required, from 1; 0: it is not
}

// anything fits all values.
var anything = &Shape{scalar: &scalar{}}

// Shape makes a schema ready. The error names the member whose schema cannot be read.
func (l Library) Shape(n Node) (*Shape, error) {
	return (&shaper{Library: l, shapes: map[uintptr]*Shape{}}).shape(n, "")
}

// shaper makes shapes, each schema's once: schemas may hold themselves.
type shaper struct {
	Library
	shapes map[uintptr]*Shape
}

func (m *shaper) shape(n Node, at string) (*Shape, error) {
	resolved, err := m.Resolve(n)
	if ref, _ := n.Value["$ref"].(string); errors.Is(err, errNoFile) && strings.Contains(ref, "common-types") {
		return anything, nil // as documents are handed on without what all share
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
	if depth > deepest {
		return unreadable(at, fmt.Errorf("more than %d schemas are options of each other", deepest))
	}
	shape.scalar, shape.nullable = s.scalar(), s.nullable()
	if shape.options, err = m.optionsOf(s, at, depth); err != nil || len(shape.options) > 0 {
		return err
	}
	switch shape.kind {
	case "object":
		return m.object(shape, s, at)
	case "array":
		items, _ := s.Keywords["items"].(map[string]any)
		shape.minItems, shape.maxItems = int(Number(s.Keywords["minItems"], 0)), int(Number(s.Keywords["maxItems"], 1<<31))
		shape.items, err = m.shape(Node{Doc: s.From.Doc, Value: items}, at+"[]")
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

func (m *shaper) object(shape *Shape, s *Schema, at string) error {
	shape.members = map[string]member{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		n := s.Properties[name]
		of, err := m.shape(n, strings.TrimPrefix(at+"."+name, "."))
		if err != nil {
			return err
		}
		readOnly := n.Value["readOnly"] == true
		if own, err := m.Complete(n); err == nil {
			readOnly = readOnly || own.Keywords["readOnly"] == true
		}
		shape.members[name] = member{Shape: of, nullable: says(n.Value, nullWords...), readOnly: readOnly}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Required)) {
		its, declared := shape.members[name]
		switch {
		case !declared:
			its.Shape, its.nullable = anything, true
		case its.readOnly:
			continue
		}
		shape.required = append(shape.required, name)
		its.required = len(shape.required)
		shape.members[name] = its
	}
	if further, ok := s.Keywords["additionalProperties"].(map[string]any); ok {
		var err error
		if shape.further, err = m.shape(Node{Doc: s.From.Doc, Value: further}, at+".*"); err != nil {
			return err
		}
	}
	return m.kinds(shape, s, at)
}

// kinds adds what an object is by its discriminator: also the kinds of its kinds.
func (m *shaper) kinds(shape *Shape, s *Schema, at string) error {
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
		of, err := m.shape(next.Node, at)
		if err != nil {
			return err
		}
		shape.variants[next.Value] = of
		if resolved, err := m.Resolve(next.Node); err == nil && resolved.pointer != "" {
			open = append(open, m.extending(resolved)...)
		}
	}
	return nil
}

var nullWords = []string{"nullable", "x-nullable"}

// nullable reports whether null is a value of the schema.
func (s *Schema) nullable() bool {
	if says(s.Keywords, nullWords...) || slices.Contains(Texts(s.Keywords["type"]), "null") {
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

func says(keywords map[string]any, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return keywords[name] == true })
}
