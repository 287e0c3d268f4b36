// Package yamltree reads YAML into nodes that know their place, merges the trees
// of several files, and words faults with file and line. It knows no keys.
package yamltree

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of one file. The parser recurses, so nesting is bounded before it
// runs; a region map needs eight levels.
const (
	maxFileSize = 16 << 20
	maxNesting  = 64
	maxIndent   = 256
)

// Parse turns the text of one file into a tree whose root is a mapping; it
// returns nil when there was a fault that leaves no tree.
func (r *Report) Parse(file string, data []byte) *Node {
	top := &Node{File: file, Line: 1, Column: 1, Kind: Mapping}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > maxFileSize {
		r.Fault(top, "the file is too large", fmt.Sprintf("%d bytes", maxFileSize))
		return nil
	}
	if at := invalidUTF8(data); at >= 0 {
		top.Line += bytes.Count(data[:at], []byte("\n"))
		r.Fault(top, "the file is not UTF-8 text", "UTF-8 without control characters")
		return nil
	}
	tokens := lexer.Tokenize(string(data))
	if bad := tokens.InvalidToken(); bad != nil {
		r.Fault(place(file, bad), noYAML(bad.Error), "")
		return nil
	}
	if !r.plain(file, tokens) {
		return nil
	}
	parsed, err := parser.Parse(joinPlainScalars(tokens), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, what := syntaxFault(top, err)
		r.Fault(at, what, "")
		return nil
	}
	return r.root(top, parsed)
}

func (r *Report) root(top *Node, parsed *ast.File) *Node {
	var root ast.Node
	for _, doc := range parsed.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root != nil:
			r.Fault(place(top.File, doc.Body.GetToken()), "a second document in one file", "one document; use include for further files")
			return nil
		default:
			root = doc.Body
		}
	}
	if root == nil {
		return top
	}
	n := r.convert(top.File, root)
	switch n.Kind {
	case Null:
		return top
	case Mapping:
		return n
	}
	r.Fault(n, "the file is "+n.Kind.String()+", not a mapping", "sections such as server: and regions:")
	return nil
}

// plain refuses what a configuration has no use for: anchors, aliases and
// merge keys (which would let a small file stand for an enormous one), tags,
// directives, complex keys and deep nesting.
func (r *Report) plain(file string, tokens token.Tokens) bool {
	depth := 0
	for _, t := range tokens {
		what := ""
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			what = "anchors, aliases and merge keys are not read"
		case token.TagType, token.DirectiveType:
			what = "tags and directives are not read"
		case token.MappingKeyType:
			what = "complex keys are not read"
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		indented := depth == 0 && t.Position.Column > maxIndent &&
			(t.Type == token.SequenceEntryType || t.Type == token.MappingValueType)
		if depth > maxNesting || indented {
			what = "nested too deeply"
		}
		if what != "" {
			r.Fault(place(file, t), what, "plain mappings, lists and values")
			return false
		}
	}
	return true
}

func (r *Report) convert(file string, from ast.Node) *Node {
	n := place(file, from.GetToken())
	switch v := from.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		n.Kind, n.Text, n.typed = Scalar, v.Value, v.Value
	case *ast.LiteralNode:
		n.Kind, n.Text, n.typed = Scalar, v.Value.Value, v.Value.Value
	case ast.ScalarNode: // a number or a truth value
		// As written: what a number means is for the key to say.
		n.Kind, n.Text, n.typed = Scalar, from.GetToken().Value, v.GetValue()
	case *ast.SequenceNode:
		n.Kind = List
		for _, item := range v.Values {
			n.Items = append(n.Items, r.convert(file, item))
		}
	case *ast.MappingValueNode:
		r.convertEntries(n, v)
	case *ast.MappingNode:
		r.convertEntries(n, v.Values...)
	default:
		r.Fault(n, fmt.Sprintf("a YAML %s is not read", from.Type()), "plain mappings, lists and values")
	}
	return n
}

func (r *Report) convertEntries(n *Node, values ...*ast.MappingValueNode) {
	n.Kind = Mapping
	first := make(map[string]*Node, len(values))
	for i, v := range values {
		key := r.convert(n.File, v.Key)
		if i == 0 {
			n.Line, n.Column = key.Line, key.Column
		}
		value := r.convert(n.File, v.Value)
		if have := first[key.Text]; have != nil {
			r.Fault(key, fmt.Sprintf("key %q is given twice, first on line %d", key.Text, have.Line), "each key once")
			continue
		}
		first[key.Text] = key
		n.Entries = append(n.Entries, Entry{key, value})
	}
}

func place(file string, t *token.Token) *Node {
	n := &Node{File: file, Line: 1, Column: 1}
	if t != nil && t.Position != nil {
		n.Line, n.Column = max(1, t.Position.Line), max(1, t.Position.Column)
	}
	return n
}

// syntaxFault takes the message alone from a parser's error: its text as a
// whole would quote the file, secrets included.
func syntaxFault(top *Node, err error) (at *Node, what string) {
	var placed interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if errors.As(err, &placed) {
		return place(top.File, placed.GetToken()), noYAML(placed.GetMessage())
	}
	return top, "no YAML"
}

// noYAML words the parser's complaint on one line.
func noYAML(complaint string) string {
	return "no YAML: " + strings.NewReplacer("\t", `\t`, "\r", `\r`, "\n", `\n`).Replace(complaint)
}

// invalidUTF8 returns where data stops being text: at a byte that is not UTF-8
// or a control character other than tab and line ends; -1 if nowhere.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f {
			return i
		}
		i += size
	}
	return -1
}
