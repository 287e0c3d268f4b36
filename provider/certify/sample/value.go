package sample

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"portico/internal/schema"
	"portico/provider/certify/contract"
)

// deepest bounds the depth of required members.
const deepest = 24

// maker makes one body.
type maker struct {
	schema.Library
	changes []change // possible changes of the body
}

// value makes values that fit a schema: at least one, and several scalars if possible.
// The hints are probably valid values from examples, the best first.
func (m *maker) value(n schema.Node, at member, hints []any) ([]any, error) {
	s, err := m.Complete(n)
	if err != nil {
		return nil, noValue(at, "%v", err)
	}
	return m.fitValues(s, at, hints)
}

func (m *maker) fitValues(s *schema.Schema, at member, hints []any) ([]any, error) {
	if len(at) > deepest {
		return nil, noValue(at, "required members are nested deeper than %d levels", deepest)
	}
	if options := s.Options(); len(options) > 0 {
		return firstOf(m, options, func(o schema.Node) ([]any, error) {
			merged, err := m.With(s, o)
			if err != nil {
				return nil, noValue(at, "%v", err)
			}
			return m.fitValues(merged, at, hints)
		})
	}
	hints = hintsOf(s, hints)
	switch s.Kind() {
	case "object":
		object, err := m.object(s, at, hints)
		if err != nil {
			return nil, err
		}
		return []any{object}, nil
	case "array":
		list, err := m.array(s, at, hints)
		if err != nil {
			return nil, err
		}
		return []any{list}, nil
	}
	return scalars(s, at, hints)
}

// hintsOf adds the schema's own examples and default to the hints.
func hintsOf(s *schema.Schema, hints []any) []any {
	hints = slices.Clone(hints)
	for _, keyword := range []string{"example", "default"} {
		if v, given := s.Keywords[keyword]; given {
			hints = append(hints, v)
		}
	}
	examples, _ := s.Keywords["examples"].([]any)
	return append(hints, examples...)
}

// firstOf tries possibilities until one has a value; the error is the first one's.
func firstOf[T any](m *maker, possibilities []T, try func(T) ([]any, error)) ([]any, error) {
	var first error
	for _, p := range possibilities {
		before := len(m.changes)
		value, err := try(p)
		if err == nil {
			return value, nil
		}
		m.changes = m.changes[:before]
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// object makes an object; if the schema has several kinds, of the first one
// that it can make.
func (m *maker) object(s *schema.Schema, at member, hints []any) (contract.Object, error) {
	name := s.Discriminator()
	if name == "" {
		return m.members(s, at, hints)
	}
	wanted := map[string]bool{}
	for _, hint := range hints {
		if o, ok := hint.(contract.Object); ok {
			wanted[fmt.Sprint(o[name])] = true
		}
	}
	variants := m.Variants(s)
	slices.SortStableFunc(variants, func(a, b schema.Variant) int {
		switch {
		case wanted[a.Value] == wanted[b.Value]:
			return 0
		case wanted[a.Value]:
			return -1
		}
		return 1
	})
	if len(variants) == 0 {
		object, err := m.members(s, at, hints)
		if err == nil && object[name] == nil {
			object[name] = s.OwnValue()
		}
		m.dropChange(at.child(name))
		return object, err
	}
	object, err := firstOf(m, variants, func(v schema.Variant) ([]any, error) {
		values, err := m.value(v.Node, at, hints)
		if err != nil {
			return nil, err
		}
		if o, ok := values[0].(contract.Object); ok {
			o[name] = v.Value
		}
		m.dropChange(at.child(name))
		return values, nil
	})
	if err != nil {
		return nil, err
	}
	o, ok := object[0].(contract.Object)
	if !ok {
		return nil, noValue(at, "a kind of the object is %s", kindOf(object[0]))
	}
	return o, nil
}

// envelope lists the members of a resource that the suite adds or the server sets.
var envelope = []string{"location", "tags", "id", "name", "type", "systemData", "etag"}

// members makes an object with its required members, and the members of the hints.
func (m *maker) members(s *schema.Schema, at member, hints []any) (contract.Object, error) {
	object := contract.Object{}
	names := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(s.Required)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		its := at.child(name)
		if len(at) == 0 && slices.Contains(envelope, name) || its.String() == "properties.provisioningState" {
			continue
		}
		if err := m.member(object, s, its, exemplified(hints, name), hintsFor(hints, name)); err != nil {
			return nil, err
		}
	}
	for i := 0; float64(len(object)) < schema.Number(s.Keywords["minProperties"], 0); i++ {
		if err := m.further(object, s, at.child(fmt.Sprintf("key%d", i))); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// exemplified reports whether the best example of an object has the member,
// unless its value names another resource, which would not exist.
func exemplified(hints []any, name string) bool {
	for _, hint := range hints {
		if o, ok := hint.(contract.Object); ok {
			return o[name] != nil && !refersToResource(o[name])
		}
	}
	return false
}

// hintsFor returns the hints for a member.
func hintsFor(hints []any, name string) []any {
	var all []any
	for _, hint := range hints {
		if o, ok := hint.(contract.Object); ok {
			if v, given := o[name]; given && v != nil {
				all = append(all, v)
			}
		}
	}
	return all
}

// member adds a member to an object if it is required or exemplified, and
// records how it could be changed.
func (m *maker) member(sample contract.Object, s *schema.Schema, at member, exemplified bool, hints []any) error {
	name := at[len(at)-1]
	n, declared := s.Properties[name]
	if !declared {
		return m.further(sample, s, at)
	}
	required := s.Required[name] || len(at) == 1 && name == "properties"
	own, err := m.Complete(n)
	if err != nil {
		if required {
			return noValue(at, "%v", err)
		}
		return nil
	}
	if own.Keywords["readOnly"] == true || n.Value["readOnly"] == true || !mutable(own, n, "create") {
		return nil
	}
	wanted := required || exemplified
	before := len(m.changes)
	if !wanted && own.Kind() != "object" && own.Kind() != "array" && len(own.Options()) == 0 {
		if values, err := m.fitValues(own, at, nil); err == nil {
			m.recordChange(own, n, at, values, false)
		}
	}
	if !wanted {
		return nil
	}
	values, err := m.fitValues(own, at, hints)
	if err != nil {
		m.changes = m.changes[:before]
		if required {
			return err
		}
		return nil
	}
	sample[name] = values[0]
	m.recordChange(own, n, at, values, true)
	return nil
}

// further adds a member that the schema does not declare.
func (m *maker) further(sample contract.Object, s *schema.Schema, at member) error {
	further, _ := s.Keywords["additionalProperties"].(map[string]any)
	if further == nil {
		further = map[string]any{"type": "string"}
	}
	values, err := m.value(schema.Node{Doc: s.From.Doc, Value: further}, at, nil)
	if err != nil {
		return err
	}
	sample[at[len(at)-1]] = values[0]
	return nil
}

// mutable reports whether clients may set a member when they "create" or "update".
func mutable(s *schema.Schema, n schema.Node, when string) bool {
	for _, keywords := range []map[string]any{n.Value, s.Keywords} {
		if allowed, given := keywords["x-ms-mutability"]; given && !slices.Contains(schema.StringsOf(allowed), when) {
			return false
		}
	}
	return true
}

// refersToResource reports whether an example names another resource, which
// would not exist.
func refersToResource(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.HasPrefix(strings.ToLower(v), "/subscriptions/")
	case contract.Object:
		for _, value := range v {
			if refersToResource(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, refersToResource)
	}
	return false
}

// similar reports whether a value was made after an example. An object or
// array needs to contain only part of the example.
func similar(sample, example any) bool {
	switch example.(type) {
	case contract.Object, []any:
		return kindOf(sample) == kindOf(example)
	}
	return equal(sample, example)
}

// mostItems bounds the minItems that is honoured.
const mostItems = 1000

// array makes as many items as are required, or as the first hint has.
func (m *maker) array(s *schema.Schema, at member, hints []any) ([]any, error) {
	before := len(m.changes)
	defer func() { m.changes = m.changes[:before] }() // a merge-patch cannot change single items
	least, most := int(schema.Number(s.Keywords["minItems"], 0)), int(schema.Number(s.Keywords["maxItems"], mostItems))
	if least > mostItems {
		return nil, noValue(at, "at least %d items are required, but at most %d are generated", least, mostItems)
	}
	items, _ := s.Keywords["items"].(map[string]any)
	n := schema.Node{Doc: s.From.Doc, Value: items}
	var hinted []any
	for _, hint := range hints {
		if array, ok := hint.([]any); ok {
			hinted = array
			break
		}
	}
	list := []any{}
	add := func(hints ...any) error {
		values, err := m.value(n, at.child(fmt.Sprintf("[%d]", len(list))), hints)
		if err != nil {
			return err
		}
		if len(hints) > 0 && !similar(values[0], hints[0]) {
			return noValue(at, "the example does not fit")
		}
		for _, v := range values {
			if s.Keywords["uniqueItems"] != true || !slices.ContainsFunc(list, func(other any) bool { return equal(v, other) }) {
				list = append(list, v)
				return nil
			}
		}
		return noValue(at, "%d different items are required, but only %d were found", least, len(list))
	}
	for _, hint := range hinted {
		if len(list) < most && !refersToResource(hint) {
			_ = add(hint) // a hint that does not fit is left out
		}
	}
	for len(list) < least {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
