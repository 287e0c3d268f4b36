package setting

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"

	"portico/config/yamltree"
)

// Redacted stands for a value that is not shown.
const Redacted = "REDACTED"

// Line is a setting that has a value.
type Line struct {
	Path  string
	Value string // as a file would have it, or [Redacted]

	raw string // what Value stands for
}

// Differs reports whether two lines of one path have different values; it sees that of
// redacted values, too.
func (l Line) Differs(other Line) bool { return l.raw != other.raw }

// Lines are the settings that have a value, by their paths: single values as they are in
// use, which defaults and restarts decide too; what lists hold as the files have it. A
// value is shown only where its rule says that it may be.
func Lines(tree *yamltree.Node, rows []*Setting) []Line {
	if tree == nil {
		tree = &yamltree.Node{Kind: yamltree.Mapping}
	}
	var all []Line
	for _, s := range rows {
		all = s.inUse(all, s.key, valueAt(tree, s.key))
	}
	slices.SortFunc(all, func(a, b Line) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

func valueAt(n *yamltree.Node, key string) *yamltree.Node {
	if n == nil || n.Kind != yamltree.Mapping {
		return nil
	}
	if e := n.Lookup(key); e != nil {
		return e.Value
	}
	return nil
}

// inUse adds the lines of a setting, of which n is what the files have.
func (s *Setting) inUse(all []Line, path string, n *yamltree.Node) []Line {
	switch s.kind {
	case mapping:
		if n != nil && n.Kind == yamltree.Scalar { // the word in its place
			return append(all, Line{path, n.Text, n.Text})
		}
		for _, child := range s.below() {
			all = child.inUse(all, yamltree.Join(path, child.key), valueAt(n, child.key))
		}
		return all
	case scalar:
		if text := written(pointedTo(s.at)); text != "" {
			return append(all, s.line(path, text))
		}
		return s.written(all, path, n) // what is read into a list has no place of its own
	case removed:
		return all // a configuration in use has none
	case list, mappings, addresses, free:
	}
	return s.written(all, path, n)
}

func pointedTo(at any) any {
	v := reflect.ValueOf(at)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	v = v.Elem()
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return v.Interface()
}

func (s *Setting) line(path, text string) Line {
	l := Line{path, text, text}
	if !s.shown {
		l.Value = Redacted
	}
	return l
}

// written adds the lines of a setting as the files have it.
func (s *Setting) written(all []Line, path string, n *yamltree.Node) []Line {
	if n == nil {
		return all
	}
	switch {
	case n.Kind == yamltree.Scalar && s.kind == mapping:
		return append(all, Line{path, n.Text, n.Text})
	case n.Kind == yamltree.Scalar:
		return append(all, s.line(path, n.Text))
	case n.Kind == yamltree.Mapping && s.kind == addresses:
		for _, e := range n.Entries {
			all = s.written(all, yamltree.Join(path, e.Key.Text), e.Value)
		}
	case n.Kind == yamltree.Mapping && s.below != nil:
		for _, child := range s.below() {
			all = child.written(all, yamltree.Join(path, child.key), valueAt(n, child.key))
		}
	case n.Kind == yamltree.List:
		for i, name := range s.namesOf(n.Items) {
			all = s.written(all, fmt.Sprintf("%s[%s]", path, name), n.Items[i])
		}
	}
	return all
}

// namesOf names the items of a list, so that another one before them changes no path: by
// themselves, or by what tells them from others, and by their place where that is not
// shown. Items of one name are told apart by a digest of what they must have and may not
// show, such as the tokens of a tenant.
func (s *Setting) namesOf(items []*yamltree.Node) []string {
	var below []*Setting
	if s.below != nil {
		below = s.below()
	}
	names, bearers := make([]string, len(items)), map[string]int{}
	for i, item := range items {
		names[i] = s.nameOf(item, below, true)
		bearers[names[i]]++
	}
	for i, name := range names {
		if name == "" {
			names[i] = fmt.Sprint(i)
		} else if hidden := s.nameOf(items[i], below, false); bearers[name] > 1 && hidden != "" {
			digest := sha256.Sum256([]byte(hidden))
			names[i] = fmt.Sprintf("%s~%x", name, digest[:4])
		}
	}
	return names
}

// nameOf returns the first scalar that an item, with these settings below it, must have and
// may show, or may not; "" if there is none.
func (s *Setting) nameOf(item *yamltree.Node, below []*Setting, shown bool) string {
	if item.Kind == yamltree.Scalar && s.shown == shown {
		return item.Text
	}
	for _, child := range below {
		if n := valueAt(item, child.key); child.shown == shown && child.required && n != nil && n.Kind == yamltree.Scalar {
			return n.Text
		}
	}
	return ""
}
