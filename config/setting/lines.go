package setting

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"

	"portico/config/yamltree"
)

// Redacted replaces a value that is not shown.
const Redacted = "REDACTED"

// Line is a setting with a value.
type Line struct {
	Path      string
	Value     string // as in a file, or [Redacted]
	Default   string // the value without an entry in a file, or its description
	AtDefault bool

	raw string // the unredacted value
}

// Differs reports whether two lines of the same path have different values, even if they are
// redacted.
func (l Line) Differs(other Line) bool { return l.raw != other.raw }

// Lines returns the settings that have a value, sorted by path. Single values are those in use,
// including defaults and values kept until a restart. Contents of lists are as in the files. A
// value is shown only if its rule allows that.
func Lines(tree *yamltree.Node, rows []*Setting) []Line {
	if tree == nil {
		tree = &yamltree.Node{Kind: yamltree.Mapping}
	}
	var all []Line
	for _, s := range rows {
		all = s.appendInUse(all, s.key, valueAt(tree, s.key))
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

// appendInUse appends the lines of a setting. n is its node in the files.
func (s *Setting) appendInUse(all []Line, path string, n *yamltree.Node) []Line {
	switch s.kind {
	case mapping:
		if n != nil && n.Kind == yamltree.Scalar { // a word instead of the mapping
			return append(all, Line{Path: path, Value: n.Text, raw: n.Text})
		}
		for _, child := range s.below() {
			all = child.appendInUse(all, yamltree.Join(path, child.key), valueAt(n, child.key))
		}
		return all
	case scalar:
		if text := formatValue(dereference(s.at)); text != "" {
			l, initial := s.newLine(path, text), formatValue(s.initial)
			l.Default, l.AtDefault = cmp.Or(s.initialText, initial), n == nil || text == initial
			return append(all, l)
		}
		return s.appendWritten(all, path, n) // for items of lists, at is not the value in use
	case removed:
		return all // never in a valid configuration
	case list, mappings, addresses, free:
	}
	return s.appendWritten(all, path, n)
}

func dereference(at any) any {
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

func (s *Setting) newLine(path, text string) Line {
	l := Line{Path: path, Value: text, raw: text}
	if !s.shown {
		l.Value = Redacted
	}
	return l
}

// appendWritten appends the lines of a setting as the files have it.
func (s *Setting) appendWritten(all []Line, path string, n *yamltree.Node) []Line {
	if n == nil {
		return all
	}
	switch {
	case n.Kind == yamltree.Scalar && s.kind == mapping:
		return append(all, Line{Path: path, Value: n.Text, raw: n.Text})
	case n.Kind == yamltree.Scalar:
		return append(all, s.newLine(path, n.Text))
	case n.Kind == yamltree.Mapping && s.kind == addresses:
		for _, e := range n.Entries {
			all = s.appendWritten(all, yamltree.Join(path, e.Key.Text), e.Value)
		}
	case n.Kind == yamltree.Mapping && s.below != nil:
		for _, child := range s.below() {
			all = child.appendWritten(all, yamltree.Join(path, child.key), valueAt(n, child.key))
		}
	case n.Kind == yamltree.List:
		for i, name := range s.itemNames(n.Items) {
			all = s.appendWritten(all, fmt.Sprintf("%s[%s]", path, name), n.Items[i])
		}
	}
	return all
}

// itemNames returns names for the items of a list that do not change if another item is inserted:
// the item itself, or the value that identifies it, or its index if that may not be shown. Items of
// the same name get a digest of an identifying value that may not be shown, such as a token's hash.
func (s *Setting) itemNames(items []*yamltree.Node) []string {
	var below []*Setting
	if s.below != nil {
		below = s.below()
	}
	names, bearers := make([]string, len(items)), map[string]int{}
	for i, item := range items {
		names[i] = s.itemName(item, below, true)
		bearers[names[i]]++
	}
	for i, name := range names {
		if name == "" {
			names[i] = fmt.Sprint(i)
		} else if hidden := s.itemName(items[i], below, false); bearers[name] > 1 && hidden != "" {
			digest := sha256.Sum256([]byte(hidden))
			names[i] = fmt.Sprintf("%s~%x", name, digest[:4])
		}
	}
	return names
}

// itemName returns the item's first required scalar, among those that are shown or among those that
// are not, or "". below has the settings of the item.
func (s *Setting) itemName(item *yamltree.Node, below []*Setting, shown bool) string {
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
