package config

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

// parseYAML turns the text of one file into a tree whose root is a mapping; it
// returns nil when there was a fault that leaves no tree.
func (r *report) parseYAML(file string, data []byte) *node {
	top := &node{file: file, line: 1, column: 1, kind: mapping}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > maxFileSize {
		r.fault(top, "the file is too large", fmt.Sprintf("%d bytes", maxFileSize))
		return nil
	}
	if at := invalidUTF8(data); at >= 0 {
		top.line += bytes.Count(data[:at], []byte("\n"))
		r.fault(top, "the file is not UTF-8 text", "UTF-8 without control characters")
		return nil
	}
	tokens := lexer.Tokenize(string(data))
	if bad := tokens.InvalidToken(); bad != nil {
		r.fault(place(file, bad), noYAML(bad.Error), "")
		return nil
	}
	if !r.plain(file, tokens) {
		return nil
	}
	parsed, err := parser.Parse(joinPlainScalars(tokens), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, what := syntaxFault(top, err)
		r.fault(at, what, "")
		return nil
	}
	return r.root(top, parsed)
}

func (r *report) root(top *node, parsed *ast.File) *node {
	var root ast.Node
	for _, doc := range parsed.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case root != nil:
			r.fault(place(top.file, doc.Body.GetToken()), "a second document in one file", "one document; use include for further files")
			return nil
		default:
			root = doc.Body
		}
	}
	if root == nil {
		return top
	}
	n := r.convert(top.file, root)
	switch n.kind {
	case null:
		return top
	case mapping:
		return n
	}
	r.fault(n, "the file is "+n.kind.String()+", not a mapping", "sections such as server: and regions:")
	return nil
}

// plain refuses what a configuration has no use for: anchors, aliases and
// merge keys (which would let a small file stand for an enormous one), tags,
// directives, complex keys and deep nesting.
func (r *report) plain(file string, tokens token.Tokens) bool {
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
			r.fault(place(file, t), what, "plain mappings, lists and values")
			return false
		}
	}
	return true
}

func (r *report) convert(file string, from ast.Node) *node {
	n := place(file, from.GetToken())
	switch v := from.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		n.kind, n.text = scalar, v.Value
	case *ast.LiteralNode:
		n.kind, n.text = scalar, v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		// As written: what a number means is for the key to say.
		n.kind, n.text = scalar, from.GetToken().Value
	case *ast.SequenceNode:
		n.kind = list
		for _, item := range v.Values {
			n.items = append(n.items, r.convert(file, item))
		}
	case *ast.MappingValueNode:
		r.convertEntries(n, v)
	case *ast.MappingNode:
		r.convertEntries(n, v.Values...)
	default:
		r.fault(n, fmt.Sprintf("a YAML %s is not read", from.Type()), "plain mappings, lists and values")
	}
	return n
}

func (r *report) convertEntries(n *node, values ...*ast.MappingValueNode) {
	n.kind = mapping
	first := make(map[string]*node, len(values))
	for i, v := range values {
		key := r.convert(n.file, v.Key)
		if i == 0 {
			n.line, n.column = key.line, key.column
		}
		value := r.convert(n.file, v.Value)
		if have := first[key.text]; have != nil {
			r.fault(key, fmt.Sprintf("key %q is given twice, first on line %d", key.text, have.line), "each key once")
			continue
		}
		first[key.text] = key
		n.entries = append(n.entries, entry{key, value})
	}
}

func place(file string, t *token.Token) *node {
	n := &node{file: file, line: 1, column: 1}
	if t != nil && t.Position != nil {
		n.line, n.column = max(1, t.Position.Line), max(1, t.Position.Column)
	}
	return n
}

// syntaxFault takes the message alone from a parser's error: its text as a
// whole would quote the file, secrets included.
func syntaxFault(top *node, err error) (at *node, what string) {
	var placed interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if errors.As(err, &placed) {
		return place(top.file, placed.GetToken()), noYAML(placed.GetMessage())
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
