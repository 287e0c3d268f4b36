// Package document parses templates and parameter files into nodes that know their position in the
// text.
package document

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"portico/template/expr"
)

// Document is a parsed text.
type Document struct {
	Root   *Node
	File   string // file name for faults; empty for a request body
	text   []byte
	hashes sync.Map // by node; the nested deployments of a loop share nodes
}

// Node is a value of a document.
type Node struct {
	// Value is the node's value, with expressions unevaluated.
	Value    expr.Value
	Members  []Member // members of an object, in order and with distinct names
	Elements []*Node  // elements of an array
	Offset   int      // position in the text, in bytes
	document *Document
}

// Member is a member of an object.
type Member struct {
	Name   string
	Offset int // position of the name
	Node   *Node
}

// Is reports whether the node has one of the kinds. A nil node has none.
func (n *Node) Is(kinds expr.Kind) bool { return n != nil && n.Value.Is(kinds) }

// Text returns a string's value; "" if the node is nil or has another kind.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.Value.Text()
}

// Member returns an object's member with that name, or else the first that differs from it only in
// case, or nil. A member that is null counts as absent, because tools write optional members as
// null.
func (n *Node) Member(name string) *Node {
	if m := n.MemberOrNull(name); m != nil && !m.Is(expr.Null) {
		return m
	}
	return nil
}

// Present returns the members that are not null.
func (n *Node) Present() []Member {
	return slices.DeleteFunc(slices.Clone(n.Members), func(m Member) bool { return m.Node.Is(expr.Null) })
}

// MemberOrNull returns the same as Member, and also members that are null.
func (n *Node) MemberOrNull(name string) *Node {
	if n == nil {
		return nil
	}
	at, found := n.Value.Place(name)
	if !found {
		return nil
	}
	return n.Members[at].Node
}

// NameClashes returns a fault for each of the object's own members that differs from an earlier one only
// in case: lookup ignores case, so it would be ambiguous.
func (n *Node) NameClashes(code string) (faults []*Fault) {
	if n == nil {
		return nil
	}
	first := make(map[string]string, len(n.Members))
	for _, m := range n.Members {
		folded := strings.ToLower(m.Name)
		if earlier, twice := first[folded]; twice {
			faults = append(faults, n.KeyFault(m, code, "the members '%s' and '%s' of one object differ in casing alone", earlier, m.Name))
			continue
		}
		first[folded] = m.Name
	}
	return faults
}

// Hash returns the template's hash. Parameters are not part of it: otherwise readers of the
// deployment could use it to guess its secrets.
func (n *Node) Hash() string {
	hash, known := n.document.hashes.Load(n)
	if !known {
		sum := sha256.Sum256(n.Value.AppendJSON(nil))
		hash = strconv.FormatUint(binary.BigEndian.Uint64(sum[:]), 10)
		n.document.hashes.Store(n, hash)
	}
	return hash.(string)
}

// ParseText parses the document in a string node and returns its root. Positions of its faults refer
// to that string. Other nodes, and nil, are returned unchanged.
func (n *Node) ParseText(form Form, code string) (*Node, []*Fault) {
	if !n.Is(expr.String) {
		return n, nil
	}
	d, faults := Read([]byte(n.Text()), form, code)
	if len(faults) > 0 {
		return nil, faults
	}
	return d.Root, nil
}

// Fault is an error at a position of a document.
type Fault struct {
	File         string // from Document
	Code         string // ARM's error code, such as InvalidTemplate
	Path         string // $.resources[0].name
	Line, Column int    // from 1, in characters
	Message      string
	// Exceeds means that the document is too large or nests too deep.
	Exceeds bool
}

// Error returns the fault as one line: 3:14: $.resources[0].name: InvalidTemplate: message.
func (f *Fault) Error() string {
	return fmt.Sprintf("%d:%d: %s: %s: %s", f.Line, f.Column, f.Path, f.Code, f.Message)
}

// Fault returns a fault at the node.
func (n *Node) Fault(code, format string, args ...any) *Fault {
	return n.document.fault(n.Offset, code, fmt.Sprintf(format, args...))
}

// FaultAt returns a fault inside a string node. inside is an offset in bytes into the string's
// value, as in faults of expressions.
func (n *Node) FaultAt(inside int, code, message string) *Fault {
	f := n.document.fault(n.Offset, code, message)
	f.Line, f.Column = Place(n.document.text, n.document.stringOffset(n.Offset, inside))
	return f
}

// KeyFault returns a fault at the name of one of the node's members.
func (n *Node) KeyFault(m Member, code, format string, args ...any) *Fault {
	f := m.Node.Fault(code, format, args...)
	f.Line, f.Column = Place(n.document.text, m.Offset)
	return f
}

func (d *Document) fault(offset int, code, message string) *Fault {
	line, column := Place(d.text, offset)
	return &Fault{File: d.File, Code: code, Path: d.path(offset), Line: line, Column: column, Message: message}
}

// stringOffset returns the position in the text of byte at of the string that begins at offset. It
// accounts for the quote and for escape sequences.
func (d *Document) stringOffset(offset, at int) int {
	s := scanner{text: d.text, at: offset + 1, relaxed: true}
	for from := 0; from < at && s.at < len(s.text) && s.text[s.at] != s.text[offset]; {
		if s.text[s.at] != '\\' {
			s.at++
			from++
			continue
		}
		part, err := s.escape(nil)
		if err != nil {
			break
		}
		from += len(part)
	}
	return s.at
}

// Place returns the line and column of an offset. Both count from 1; columns count characters.
func Place(text []byte, offset int) (line, column int) {
	before := string(text[:min(offset, len(text))])
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// path returns the path of the innermost node around an offset.
func (d *Document) path(offset int) string {
	path := []byte("$")
	n := d.Root
	for n != nil && n.Offset < offset {
		switch {
		case len(n.Members) > 0:
			at, found := slices.BinarySearchFunc(n.Members, offset, func(m Member, offset int) int { return cmp.Compare(m.Node.Offset, offset) })
			if !found {
				at--
			}
			if at < 0 {
				return string(path)
			}
			path = appendName(path, n.Members[at].Name)
			n = n.Members[at].Node
		case len(n.Elements) > 0:
			at, found := slices.BinarySearchFunc(n.Elements, offset, func(e *Node, offset int) int { return cmp.Compare(e.Offset, offset) })
			if !found {
				at--
			}
			if at < 0 {
				return string(path)
			}
			path = append(strconv.AppendInt(append(path, '['), int64(at), 10), ']')
			n = n.Elements[at]
		default:
			return string(path)
		}
	}
	return string(path)
}

// appendName appends a member to a path, quoted unless it is a plain identifier.
func appendName(path []byte, name string) []byte {
	for _, c := range name {
		if c != '_' && c != '-' && c != '$' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return fmt.Appendf(path, "['%s']", name)
		}
	}
	return append(append(path, '.'), name...)
}

// Computed returns a node at n's position with the value that an expression at n returned.
func (n *Node) Computed(v expr.Value) *Node {
	holder := &Node{Value: v, Offset: n.Offset, document: n.document}
	switch v.Kind() {
	case expr.Array:
		holder.Elements = make([]*Node, v.Len())
		for i := range holder.Elements {
			holder.Elements[i] = n.Computed(v.Element(i))
		}
	case expr.Object:
		for _, m := range v.Members() {
			holder.Members = append(holder.Members, Member{Name: m.Name, Offset: n.Offset, Node: n.Computed(m.Value)})
		}
	}
	return holder
}
