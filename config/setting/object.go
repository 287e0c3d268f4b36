package setting

import (
	"fmt"
	"slices"

	"portico/config/rule"
	"portico/config/yamltree"
)

// Object is a mapping in a file while it is read. An absent mapping has its parent's position, so
// that missing keys can be reported.
type Object struct {
	*yamltree.Report
	Parent *Object // nil for the whole configuration
	Node   *yamltree.Node
	Path   string // as in faults
	Broken bool   // not a mapping; it has been reported, so no more faults are

	valid    []*yamltree.Node // the scalars read without a fault
	children map[string]*Object
}

// Read reads a whole configuration.
func Read(r *yamltree.Report, tree *yamltree.Node, rows []*Setting) *Object {
	return ReadAt(r, tree, "", rows)
}

// ReadAt reads a mapping at a path.
func ReadAt(r *yamltree.Report, n *yamltree.Node, path string, rows []*Setting) *Object {
	o := openObject(r, n, path, rows)
	o.read(rows)
	return o
}

// openObject reports unknown keys, and a node that is not a mapping.
func openObject(r *yamltree.Report, n *yamltree.Node, path string, rows []*Setting) *Object {
	o := &Object{Report: r, Node: n, Path: path}
	if n.Kind != yamltree.Mapping {
		r.Fault(n, fmt.Sprintf("%s is %s, not a mapping", path, n.Kind), "the keys "+yamltree.Choice(keys(rows)))
		o.Broken = true
		return o
	}
	for _, e := range n.Entries {
		if !slices.ContainsFunc(rows, func(s *Setting) bool { return s.key == e.Key.Text }) {
			what := "unknown key " + yamltree.Quote(e.Key.Text)
			if path != "" {
				what += " in " + path
			}
			r.Fault(e.Key, what, yamltree.Choice(keys(rows)))
		}
	}
	return o
}

func keys(rows []*Setting) []string {
	rows = withoutRemoved(rows)
	keys := make([]string, len(rows))
	for i, s := range rows {
		keys[i] = s.key
	}
	return keys
}

// read reads rows in order. It returns false if the mapping lacks its required identity.
func (o *Object) read(rows []*Setting) bool {
	for _, s := range rows {
		if !s.read(o) && s.identity {
			return false
		}
	}
	return true
}

// child opens the mapping under a key. If it is absent, all its keys are absent.
func (o *Object) child(key string, rows []*Setting) *Object {
	var c *Object
	if n := o.Get(key); n != nil {
		c = openObject(o.Report, n, o.path(key), rows)
	} else {
		absent := &yamltree.Node{File: o.Node.File, Line: o.Node.Line, Column: o.Node.Column, Kind: yamltree.Mapping}
		c = &Object{Report: o.Report, Node: absent, Path: o.path(key), Broken: o.Broken}
	}
	if o.children == nil {
		o.children = make(map[string]*Object)
	}
	c.Parent, o.children[key] = o, c
	return c
}

// Child returns the mapping that was read under a key.
func (o *Object) Child(key string) *Object { return o.children[key] }

// Get returns the value of a key, or nil if it is absent or empty.
func (o *Object) Get(key string) *yamltree.Node {
	if e := o.Node.Lookup(key); e != nil && e.Value.Kind != yamltree.Null {
		return e.Value
	}
	return nil
}

// Valid returns the scalar of a key, or nil if it is absent or invalid.
func (o *Object) Valid(key string) *yamltree.Node {
	if n := o.Get(key); slices.Contains(o.valid, n) {
		return n
	}
	return nil
}

// At returns the node for a fault about several keys: the value of the first that is present, or
// else the mapping.
func (o *Object) At(keys ...string) *yamltree.Node {
	for _, key := range keys {
		if n := o.Get(key); n != nil {
			return n
		}
	}
	return o.Node
}

func (o *Object) path(key string) string { return yamltree.Join(o.Path, key) }

// Require reports a key that is absent.
func (o *Object) Require(key, allowed string) {
	if o.Get(key) == nil && !o.Broken {
		o.Fault(o.Node, o.path(key)+" is missing", allowed)
	}
}

// items returns the items of a list, or nil if it is absent.
func (o *Object) items(s *Setting) []*yamltree.Node {
	if s.required {
		o.Require(s.key, s.itemsWanted)
	}
	n := o.Get(s.key)
	switch {
	case n == nil:
		return nil
	case n.Kind != yamltree.List:
		o.Fault(n, fmt.Sprintf("%s is %s, not a list", o.path(s.key), n.Kind), "a list, such as [a, b]")
	case s.nonEmpty && len(n.Items) == 0:
		o.Fault(n, o.path(s.key)+" is empty", s.itemsWanted)
	}
	return n.Items
}

// scalarOf reads a scalar by a rule. ok is false if it reported a fault.
func scalarOf[T any](o *Object, n *yamltree.Node, path string, want rule.Rule[T]) (v T, ok bool) {
	if n.Kind != yamltree.Scalar {
		o.Fault(n, fmt.Sprintf("%s is %s, not a single value", path, n.Kind), want.Allowed)
		return v, false
	}
	if v, ok = want.Parse(n.Text); !ok {
		o.Fault(n, want.Fault(path, n.Text), want.Allowed)
	}
	return v, ok
}
