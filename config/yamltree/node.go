package yamltree

import "fmt"

// Node is a value in a file, with its position.
type Node struct {
	File         string
	Line, Column int
	Kind         Kind
	Text         string  // of a scalar, without quotes
	Entries      []Entry // of a mapping, in file order, with distinct keys
	Items        []*Node // of a list

	typed any // of a scalar: the string, number or boolean that YAML reads
}

// Entry is a key of a mapping, which is a scalar, and its value.
type Entry struct {
	Key, Value *Node
}

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Scalar
	List
	Mapping
)

func (k Kind) String() string {
	return [...]string{"empty", "a single value", "a list", "a mapping"}[k]
}

func (n *Node) fault(what, allowed string) Fault {
	return Fault{File: n.File, Line: n.Line, Column: n.Column, What: what, Allowed: allowed}
}

// Where returns the node's file and line.
func (n *Node) Where() string { return fmt.Sprintf("%s:%d", n.File, n.Line) }

// Lookup returns the entry of a key, or nil.
func (n *Node) Lookup(key string) *Entry {
	for i := range n.Entries {
		if n.Entries[i].Key.Text == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// Remove removes a key and returns its value, or nil.
func (n *Node) Remove(key string) *Node {
	for i, e := range n.Entries {
		if e.Key.Text == key {
			n.Entries = append(n.Entries[:i], n.Entries[i+1:]...)
			return e.Value
		}
	}
	return nil
}

// Merge merges src, the tree of an included file, into dst: mappings are merged, lists appended. A
// single value in both is a fault.
func (r *Report) Merge(dst, src *Node) { r.merge(dst, src, "") }

func (r *Report) merge(dst, src *Node, path string) {
	for _, e := range src.Entries {
		have := dst.Lookup(e.Key.Text)
		if have == nil {
			dst.Entries = append(dst.Entries, e)
			continue
		}
		name := Join(path, e.Key.Text)
		switch {
		case e.Value.Kind == Null:
		case have.Value.Kind == Null:
			have.Value = e.Value
		case have.Value.Kind == Mapping && e.Value.Kind == Mapping:
			r.merge(have.Value, e.Value, name)
		case have.Value.Kind == List && e.Value.Kind == List:
			have.Value.Items = append(have.Value.Items, e.Value.Items...)
		default:
			r.Fault(e.Key, fmt.Sprintf("%s is given twice, here and at %s", name, have.Key.Where()),
				"one place; only lists and the keys of a section may be spread over files")
		}
	}
}

// Join appends a key to a path. The root's path is empty.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
