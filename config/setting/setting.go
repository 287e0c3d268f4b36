// Package setting defines a configuration by rows. A [Setting] is one row: a key, where its value
// is stored, which values are valid, its default, its description, and whether a change needs a
// restart. Everything else follows from the rows: [Read] stores values and reports faults,
// including unknown keys; [Reset] sets defaults; [KeepRestartOnly] compares two configurations;
// [WriteReference] and [WriteSchema] describe them.
package setting

import (
	"reflect"
	"slices"

	"portico/config/rule"
	"portico/config/yamltree"
)

// Setting defines a key of a mapping.
type Setting struct {
	key  string
	doc  string // sentences in Markdown that are also readable as plain text
	kind kind
	at   any // pointer to the value

	noun        string // what a scalar is, such as "positive duration"
	allowed     string // valid values, for people
	schema      rule.Schema
	shown       bool   // operators may see the value
	initial     any    // the default; nil: none
	initialText string // description of the default, if it is not initial
	required    bool
	nonEmpty    bool   // an empty list is a fault
	itemsWanted string // the items of such a list
	shortPath   bool   // faults name the list's items by its key only
	word        string // allowed instead of a mapping
	below       func() []*Setting

	read         func(o *Object) bool // reports whether the value is present and valid
	conditional  bool                 // the mapping's check decides whether it is required
	identity     bool                 // if it is invalid, the rest of the mapping is not read
	accept       func(at *yamltree.Node) bool
	restartOnly  bool
	restartValue any                    // pointer to the value that only a restart changes
	changed      func(was, is any) bool // nil: any difference
}

type kind uint8

const (
	scalar    kind = iota
	mapping        // has settings below it
	list           // of scalars
	mappings       // a list of mappings
	addresses      // lists of addresses by region
	free           // what has no rows
	removed        // rejected keys of earlier versions
)

// Value returns the setting of an optional scalar.
func Value[T any](key string, at *T, want rule.Rule[T], initial T, doc string) *Setting {
	return ValueBy(key, at, func() rule.Rule[T] { return want }, initial, doc)
}

// ValueBy returns a Value with a rule that depends on earlier settings.
func ValueBy[T any](key string, at *T, want func() rule.Rule[T], initial T, doc string) *Setting {
	shown := want()
	s := &Setting{
		key: key, doc: doc, at: at, noun: shown.Noun, allowed: shown.Allowed, schema: shown.Schema, shown: shown.Shown && !shown.Secret, initial: initial,
	}
	s.read = func(o *Object) bool {
		want := want()
		if s.required && !s.conditional {
			o.Require(key, want.Allowed)
		}
		n := o.Get(key)
		if n == nil {
			return false
		}
		v, ok := scalarOf(o, n, o.path(key), want)
		if !ok {
			return false
		}
		*at = v
		o.valid = append(o.valid, n)
		return s.accept == nil || s.accept(n)
	}
	return s
}

// Required returns the setting of a scalar that has no default and must be present.
func Required[T any](key string, at *T, want rule.Rule[T], doc string) *Setting {
	var none T
	s := Value(key, at, want, none, doc)
	s.required, s.initial = true, nil
	return s
}

// Mapping returns a setting with further settings below it.
func Mapping(key, doc string, below ...*Setting) *Setting {
	s := &Setting{key: key, doc: doc, kind: mapping, below: func() []*Setting { return below }}
	s.read = func(o *Object) bool { return o.child(key, below).read(below) }
	return s
}

// List returns the setting of a list of scalars. add is called with each valid one.
func List[T any](key string, want rule.Rule[T], doc string, add func(at *yamltree.Node, v T)) *Setting {
	s := &Setting{key: key, doc: doc, kind: list, noun: want.Noun, allowed: want.Allowed, schema: want.Schema, shown: want.Shown && !want.Secret}
	s.read = func(o *Object) bool {
		path := o.path(key)
		if s.shortPath {
			path = key
		}
		for _, n := range o.items(s) {
			if v, ok := scalarOf(o, n, path, want); ok {
				add(n, v)
			}
		}
		return true
	}
	return s
}

// Mappings returns the setting of a list of mappings with the same rows. add is called with each
// item after it was read.
func Mappings[T any](key, doc string, rows func(item *T) []*Setting, add func(o *Object, item T)) *Setting {
	s := &Setting{key: key, doc: doc, kind: mappings, below: func() []*Setting { return rows(new(T)) }}
	s.read = func(o *Object) bool {
		for _, n := range o.items(s) {
			var item T
			below := rows(&item)
			Reset(below)
			if child := openObject(o.Report, n, o.path(key), below); child.read(below) {
				add(child, item)
			}
		}
		return true
	}
	return s
}

// AddressesByRegion returns the setting of a mapping from regions to lists of addresses. read reads
// and checks it.
func AddressesByRegion(key, doc string, read func(o *Object)) *Setting {
	address := rule.Address()
	return &Setting{
		key: key, doc: doc, kind: addresses, noun: "addresses by region", allowed: address.Allowed, schema: address.Schema, shown: address.Shown,
		read: func(o *Object) bool {
			read(o)
			return true
		},
	}
}

// Free returns the setting of a value without rows. read reads and checks it. noun describes it.
func Free(key, noun, doc string, read func(o *Object)) *Setting {
	return &Setting{key: key, doc: doc, kind: free, noun: noun, read: func(o *Object) bool {
		read(o)
		return true
	}}
}

// Removed returns the setting of a key of an earlier version. A file that has it is faulty; why
// explains what applies instead. The reference and the schema omit it.
func Removed(key, why string) *Setting {
	return &Setting{key: key, kind: removed, read: func(o *Object) bool {
		if e := o.Node.Lookup(key); e != nil {
			o.Fault(e.Key, o.path(key)+" is no longer a setting: "+why, "nothing; leave it out")
		}
		return true
	}}
}

// withoutRemoved returns the rows that are not Removed.
func withoutRemoved(rows []*Setting) []*Setting {
	return slices.DeleteFunc(slices.Clone(rows), func(s *Setting) bool { return s.kind == removed })
}

// Reset sets all values to their defaults.
func Reset(rows []*Setting) {
	each("", rows, func(_ string, s *Setting) {
		if s.initial != nil {
			reflect.ValueOf(s.at).Elem().Set(reflect.ValueOf(s.initial))
		}
	})
}

// Each calls visit for all scalars outside of lists, with pointers to their values.
func Each(rows []*Setting, visit func(path string, at any)) {
	each("", rows, func(path string, s *Setting) { visit(path, s.at) })
}

func each(path string, rows []*Setting, visit func(path string, s *Setting)) {
	for _, s := range rows {
		switch at := yamltree.Join(path, s.key); s.kind {
		case mapping:
			each(at, s.below(), visit)
		case scalar:
			visit(at, s)
		case list, mappings, addresses, free, removed:
		}
	}
}
