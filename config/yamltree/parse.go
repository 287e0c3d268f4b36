// Package yamltree parses YAML into nodes with positions, merges the trees of several files, and
// formats faults with file and line. It knows no keys.
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

// Limits of a file. The parser is recursive, so nesting is checked before it runs. A region map
// needs eight levels.
const (
	maxFileSize = 16 << 20
	maxNesting  = 64
	maxIndent   = 256
)

// Parse parses the text of a file into a tree with a mapping as its root. It returns nil after a
// fault that leaves no tree.
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
		r.syntaxFault(nodeAt(file, bad), bad.Error)
		return nil
	}
	if !r.checkPlain(file, tokens) {
		return nil
	}
	parsed, err := parser.Parse(joinPlainScalars(tokens), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.parserFault(top, err)
		return nil
	}
	return r.rootOf(top, parsed)
}

func (r *Report) rootOf(top *Node, parsed *ast.File) *Node {
	var root ast.Node
	for _, doc := range parsed.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root != nil:
			r.Fault(nodeAt(top.File, doc.Body.GetToken()), "a second document in one file", "one document; use include for further files")
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

// checkPlain rejects features that configurations do not need: anchors, aliases and merge keys (a
// small file could expand enormously), tags, directives, complex keys and deep nesting.
func (r *Report) checkPlain(file string, tokens token.Tokens) bool {
	depth := 0
	for _, t := range tokens {
		what := ""
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			what = "anchors, aliases and merge keys are not supported"
		case token.TagType, token.DirectiveType:
			what = "tags and directives are not supported"
		case token.MappingKeyType:
			what = "complex keys are not supported"
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
			r.Fault(nodeAt(file, t), what, "plain mappings, lists and values")
			return false
		}
	}
	return true
}

func (r *Report) convert(file string, from ast.Node) *Node {
	n := nodeAt(file, from.GetToken())
	switch v := from.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		n.Kind, n.Text, n.typed = Scalar, v.Value, v.Value
	case *ast.LiteralNode:
		n.Kind, n.Text, n.typed = Scalar, v.Value.Value, v.Value.Value
	case ast.ScalarNode: // a number or a boolean
		// As written, because the key's rule interprets numbers.
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
		r.Fault(n, fmt.Sprintf("a YAML %s is not supported", from.Type()), "plain mappings, lists and values")
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

func nodeAt(file string, t *token.Token) *Node {
	n := &Node{File: file, Line: 1, Column: 1}
	if t != nil && t.Position != nil {
		n.Line, n.Column = max(1, t.Position.Line), max(1, t.Position.Column)
	}
	return n
}

// parserFault reports only the message of a parser's error, because its full text would quote the
// file, including secrets.
func (r *Report) parserFault(top *Node, err error) {
	var placed interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &placed) {
		r.Fault(top, "not valid YAML", "")
		return
	}
	r.syntaxFault(nodeAt(top.File, placed.GetToken()), placed.GetMessage())
}

// syntaxFault reports a message of the lexer or parser on one line. The message about a tab at
// the beginning of a line does not say where the tab is; spaces are allowed in place of any.
func (r *Report) syntaxFault(at *Node, message string) {
	allowed := ""
	if strings.Contains(message, "found character '\t'") || strings.Contains(message, "indentation") {
		message, allowed = "a tab is used for indentation", "spaces"
	} else if strings.Contains(message, "tab character") {
		allowed = "spaces"
	}
	r.Fault(at, "not valid YAML: "+strings.NewReplacer("\t", `\t`, "\r", `\r`, "\n", `\n`).Replace(message), allowed)
}

// invalidUTF8 returns the index of the first byte that is not UTF-8, or is a control character
// other than tab and line ends, or -1.
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
