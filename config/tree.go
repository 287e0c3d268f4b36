package config

import "fmt"

// node is one value of a file, knowing where it stands.
type node struct {
	file         string
	line, column int
	kind         kind
	text         string  // of a scalar, without quotes
	entries      []entry // of a mapping, in file order, each key once
	items        []*node // of a list
}

type entry struct {
	key   *node // a scalar
	value *node
}

type kind uint8

const (
	null kind = iota
	scalar
	list
	mapping
)

func (k kind) String() string {
	return [...]string{"empty", "a single value", "a list", "a mapping"}[k]
}

func (n *node) finding(what, allowed string) Fault {
	return Fault{File: n.file, Line: n.line, Column: n.column, What: what, Allowed: allowed}
}

func (n *node) where() string { return fmt.Sprintf("%s:%d", n.file, n.line) }

// lookup returns the entry of a key, or nil.
func (n *node) lookup(key string) *entry {
	for i := range n.entries {
		if n.entries[i].key.text == key {
			return &n.entries[i]
		}
	}
	return nil
}

// take removes a key and returns its value, or nil.
func (n *node) take(key string) *node {
	for i, e := range n.entries {
		if e.key.text == key {
			n.entries = append(n.entries[:i], n.entries[i+1:]...)
			return e.value
		}
	}
	return nil
}

// merge adds src, the tree of an included file, to dst: mappings join, lists
// append, and what can stand only once must not be in both.
func (r *report) merge(dst, src *node, path string) {
	for _, e := range src.entries {
		have := dst.lookup(e.key.text)
		if have == nil {
			dst.entries = append(dst.entries, e)
			continue
		}
		name := join(path, e.key.text)
		switch {
		case e.value.kind == null:
		case have.value.kind == null:
			have.value = e.value
		case have.value.kind == mapping && e.value.kind == mapping:
			r.merge(have.value, e.value, name)
		case have.value.kind == list && e.value.kind == list:
			have.value.items = append(have.value.items, e.value.items...)
		default:
			r.fault(e.key, fmt.Sprintf("%s is given twice, here and at %s", name, have.key.where()),
				"one place; only lists and the keys of a section may be spread over files")
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
