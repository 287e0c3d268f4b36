// Package document reads JSON as templates and their parameters are written, into nodes
// that know where they stand.
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

// Document is a text that was read.
type Document struct {
	Root   *Node
	File   string // the name of its file, for faults; empty of a request's content
	text   []byte
	hashes sync.Map // of nodes, which the nested deployments of a loop share
}

// Node is a value of a document.
type Node struct {
	// Value is what the node holds, no expression in it worked out.
	Value    expr.Value
	Members  []Member // of an object, in order; no name stands twice
	Elements []*Node  // of an array
	Offset   int      // in bytes
	document *Document
}

// Member is a member of an object.
type Member struct {
	Name   string
	Offset int // of the name
	Node   *Node
}

// Is reports whether the node is of one of the kinds; an absent node is of none.
func (n *Node) Is(kinds expr.Kind) bool { return n != nil && n.Value.Is(kinds) }

// Text is a string's value; empty of an absent node or one of another kind.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.Value.Text()
}

// Member is the member of an object by its name, else the first one whose name differs in
// casing alone; nil where there is none. An explicit null is none: programs that write
// templates and parameters write all optional members.
func (n *Node) Member(name string) *Node {
	if m := n.MemberOrNull(name); m != nil && !m.Is(expr.Null) {
		return m
	}
	return nil
}

// Present returns the members that are no explicit null.
func (n *Node) Present() []Member {
	return slices.DeleteFunc(slices.Clone(n.Members), func(m Member) bool { return m.Node.Is(expr.Null) })
}

// MemberOrNull is as Member, of a member that holds a value, which may be null.
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

// Alike returns a fault for each of the object's own members whose name differs from an
// earlier one's in casing alone: of an object whose members are found in any casing it is
// not clear which one is meant.
func (n *Node) Alike(code string) (faults []*Fault) {
	if n == nil {
		return nil
	}
	first := make(map[string]string, len(n.Members))
	for _, m := range n.Members {
		folded := strings.ToLower(m.Name)
		if earlier, twice := first[folded]; twice {
			faults = append(faults, n.Key(m, code, "the members '%s' and '%s' of one object differ in casing alone", earlier, m.Name))
			continue
		}
		first[folded] = m.Name
	}
	return faults
}

// Hash is the hash of a template. It is of the template alone: one of parameters too would let
// readers of the deployment try what its secrets are.
func (n *Node) Hash() string {
	hash, known := n.document.hashes.Load(n)
	if !known {
		sum := sha256.Sum256(n.Value.AppendJSON(nil))
		hash = strconv.FormatUint(binary.BigEndian.Uint64(sum[:]), 10)
		n.document.hashes.Store(n, hash)
	}
	return hash.(string)
}

// Within is the root of the document that a string holds, whose faults have their places in
// that; a node of another kind, or an absent one, is itself.
func (n *Node) Within(form Form, code string) (*Node, []*Fault) {
	if !n.Is(expr.String) {
		return n, nil
	}
	d, faults := Read([]byte(n.Text()), form, code)
	if len(faults) > 0 {
		return nil, faults
	}
	return d.Root, nil
}

// Fault is something wrong at a place of a document.
type Fault struct {
	File         string // of Document
	Code         string // ARM's: InvalidTemplate
	Path         string // $.resources[0].name
	Line, Column int    // from 1, in characters
	Message      string
	// Exceeds says that the document is larger, or nests deeper, than documents may.
	Exceeds bool
}

// Error is the fault in one line: 3:14: $.resources[0].name: InvalidTemplate: sentence.
func (f *Fault) Error() string {
	return fmt.Sprintf("%d:%d: %s: %s: %s", f.Line, f.Column, f.Path, f.Code, f.Message)
}

// Fault is a fault at the node.
func (n *Node) Fault(code, format string, args ...any) *Fault {
	return n.document.fault(n.Offset, code, fmt.Sprintf(format, args...))
}

// FaultAt is a fault at a place inside of the node: an offset in bytes of a string's value,
// as faults of expressions have it.
func (n *Node) FaultAt(inside int, code, message string) *Fault {
	f := n.document.fault(n.Offset, code, message)
	f.Line, f.Column = Place(n.document.text, n.document.inside(n.Offset, inside))
	return f
}

// Key is a fault at the name of one of the node's members.
func (n *Node) Key(m Member, code, format string, args ...any) *Fault {
	f := m.Node.Fault(code, format, args...)
	f.Line, f.Column = Place(n.document.text, m.Offset)
	return f
}

func (d *Document) fault(offset int, code, message string) *Fault {
	line, column := Place(d.text, offset)
	return &Fault{File: d.File, Code: code, Path: d.path(offset), Line: line, Column: column, Message: message}
}

// inside is the offset of a string's byte: quotes, escapes counted.
func (d *Document) inside(offset, at int) int {
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

// Place is the line and column of an offset, both from 1, columns in characters.
func Place(text []byte, offset int) (line, column int) {
	before := string(text[:min(offset, len(text))])
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// path is that of the innermost node around an offset.
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

// appendName appends a member to a path, quoted where it is no word.
func appendName(path []byte, name string) []byte {
	for _, c := range name {
		if c != '_' && c != '-' && c != '$' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return fmt.Appendf(path, "['%s']", name)
		}
	}
	return append(append(path, '.'), name...)
}

// Holding is a value that an expression at the node has made, as a node at its place.
func (n *Node) Holding(v expr.Value) *Node {
	holder := &Node{Value: v, Offset: n.Offset, document: n.document}
	switch v.Kind() {
	case expr.Array:
		holder.Elements = make([]*Node, v.Len())
		for i := range holder.Elements {
			holder.Elements[i] = n.Holding(v.Element(i))
		}
	case expr.Object:
		for _, m := range v.Members() {
			holder.Members = append(holder.Members, Member{Name: m.Name, Offset: n.Offset, Node: n.Holding(m.Value)})
		}
	}
	return holder
}
