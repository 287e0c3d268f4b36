// Package setting makes a configuration of rows. A [Setting] is one row: a
// key, where its value goes, what may stand there, its default, the sentence
// that explains it, and whether a change needs a restart. All else follows
// from the rows: [Read] fills in values and reports faults, unknown keys among
// them, [Reset] sets defaults, [Keep] compares two configurations,
// [WriteReference] and [WriteSchema] describe them.
package setting

import (
	"reflect"
	"slices"

	"portico/config/rule"
	"portico/config/yamltree"
)

// Setting is a key of a mapping and all that is known of it.
type Setting struct {
	key  string
	doc  string // sentences in Markdown, which also read well without it
	kind kind
	at   any // points to where the value goes

	noun        string // what a scalar is: "positive duration"
	allowed     string // what may stand there, for people
	schema      rule.Schema
	shown       bool   // operators are shown the value
	initial     any    // the default; nil: none
	initialText string // the default in words, where initial does not say it
	required    bool
	nonEmpty    bool   // a list that has items, if it is given
	wanted      string // the items of such a list
	shortPath   bool   // faults name the items of a list by its key alone
	word        string // that may stand in place of a mapping
	below       func() []*Setting

	read        func(o *Object) bool // reports whether the value is there and right
	conditional bool                 // whether it is required, a check decides
	identity    bool                 // unless it is right, the rest of the mapping is not read
	accept      func(at *yamltree.Node) bool
	restartOnly bool
	kept        any                    // points to what a restart alone changes
	changed     func(was, is any) bool // nil: any difference
}

type kind uint8

const (
	scalar    kind = iota
	mapping        // keys under which there are settings
	list           // of scalars
	mappings       // a list of mappings
	addresses      // lists of addresses by region
	free           // what has no rows
	removed        // what a file may no longer have
)

// Value is a scalar that a file may leave out.
func Value[T any](key string, at *T, want rule.Rule[T], initial T, doc string) *Setting {
	return ValueBy(key, at, func() rule.Rule[T] { return want }, initial, doc)
}

// ValueBy is Value with a rule that depends on settings before it.
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
		o.right = append(o.right, n)
		return s.accept == nil || s.accept(n)
	}
	return s
}

// Required is a scalar that has no default.
func Required[T any](key string, at *T, want rule.Rule[T], doc string) *Setting {
	var none T
	s := Value(key, at, want, none, doc)
	s.required, s.initial = true, nil
	return s
}

// Mapping holds further settings.
func Mapping(key, doc string, below ...*Setting) *Setting {
	s := &Setting{key: key, doc: doc, kind: mapping, below: func() []*Setting { return below }}
	s.read = func(o *Object) bool { return o.child(key, below).read(below) }
	return s
}

// List is a list of scalars; add takes each that is right.
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

// Mappings is a list of mappings with the same rows; add takes each item once
// its rows were read.
func Mappings[T any](key, doc string, rows func(item *T) []*Setting, add func(o *Object, item T)) *Setting {
	s := &Setting{key: key, doc: doc, kind: mappings, below: func() []*Setting { return rows(new(T)) }}
	s.read = func(o *Object) bool {
		for _, n := range o.items(s) {
			var item T
			below := rows(&item)
			Reset(below)
			if child := open(o.Report, n, o.path(key), below); child.read(below) {
				add(child, item)
			}
		}
		return true
	}
	return s
}

// AddressesByRegion is a mapping from regions to lists of addresses, which read
// judges.
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

// Free is a value without rows, which read judges; noun says what it is.
func Free(key, noun, doc string, read func(o *Object)) *Setting {
	return &Setting{key: key, doc: doc, kind: free, noun: noun, read: func(o *Object) bool {
		read(o)
		return true
	}}
}

// Removed is a key that was a setting in an earlier version; why says what holds in place
// of it. A file that has it is faulty, and nothing describes it.
func Removed(key, why string) *Setting {
	return &Setting{key: key, kind: removed, read: func(o *Object) bool {
		if e := o.Node.Lookup(key); e != nil {
			o.Fault(e.Key, o.path(key)+" is no longer a setting: "+why, "nothing; leave it out")
		}
		return true
	}}
}

// present returns the rows of what a file may have.
func present(rows []*Setting) []*Setting {
	return slices.DeleteFunc(slices.Clone(rows), func(s *Setting) bool { return s.kind == removed })
}

// Reset sets defaults.
func Reset(rows []*Setting) {
	each("", rows, func(_ string, s *Setting) {
		if s.initial != nil {
			reflect.ValueOf(s.at).Elem().Set(reflect.ValueOf(s.initial))
		}
	})
}

// Each visits all scalars but those in lists, with where their values go.
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
