package expr

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxLength is the maximum length of an expression in bytes, as in ARM.
const MaxLength = 24576

// maxNesting is the maximum nesting in an expression's text.
const maxNesting = 250

// Text returns a string that is not an expression, without the bracket that escapes one: "[a]" for
// "[[a]".
func Text(s string) (text string, isExpression bool) {
	switch {
	case strings.HasPrefix(s, "[["):
		return s[1:], false
	case len(s) > 1 && s[0] == '[' && s[len(s)-1] == ']':
		return "", true
	}
	return s, false
}

// Parse parses an expression in brackets. Offsets of errors count from the opening bracket.
func Parse(s string) (Node, error) {
	if len(s) > MaxLength {
		return nil, errorAt(0, "the expression has %d bytes, and %d are the most", len(s), MaxLength)
	}
	p := &parser{text: s[:len(s)-1], at: 1}
	n, err := p.expression()
	if err == nil && p.skipSpace() {
		err = p.unexpected("the end of the expression")
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

type parser struct {
	text  string
	at    int
	depth int
}

// skipSpace skips white space and reports whether anything is left.
func (p *parser) skipSpace() bool {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	return p.at < len(p.text)
}

// peek returns the next byte after white space; 0 at the end.
func (p *parser) peek() byte {
	if !p.skipSpace() {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) consume(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) unexpected(wanted string) error {
	if !p.skipSpace() {
		return errorAt(p.at, "the expression ends where %s is expected", wanted)
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return errorAt(p.at, "the expression has %q where %s is expected", r, wanted)
}

func (p *parser) expression() (Node, error) {
	from := p.depth
	defer func() { p.depth = from }()
	n, err := p.operand()
	for err == nil {
		if err = p.countNesting(); err != nil {
			break
		}
		switch p.peek() {
		case '.':
			n, err = p.property(n)
		case '[':
			n, err = p.element(n)
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) countNesting() error {
	if p.depth++; p.depth > maxNesting {
		return errorAt(p.at, "the expression nests deeper than %d levels", maxNesting)
	}
	return nil
}

func (p *parser) property(of Node) (Node, error) {
	p.at++
	p.skipSpace()
	at := p.at
	name := p.identifier()
	if name == "" {
		return nil, p.unexpected("a property's name")
	}
	return newProperty(at, of, name), nil
}

func (p *parser) element(of Node) (Node, error) {
	at := p.at
	p.at++
	key, err := p.expression()
	if err != nil {
		return nil, err
	}
	if !p.consume(']') {
		return nil, p.unexpected("']'")
	}
	return newElement(at, of, key), nil
}

func (p *parser) operand() (Node, error) {
	switch c := p.peek(); {
	case c == '\'':
		return p.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return p.integer()
	case isIdentStart(c):
		return p.invocation()
	}
	return nil, p.unexpected("a function, a string in single quotes or an integer")
}

func (p *parser) quoted() (Node, error) {
	from := p.at
	var b strings.Builder
	for p.at++; ; {
		end := strings.IndexByte(p.text[p.at:], '\'')
		if end < 0 {
			return nil, errorAt(from, "the string that begins here has no closing quote")
		}
		b.WriteString(p.text[p.at : p.at+end])
		p.at += end + 1
		if p.at == len(p.text) || p.text[p.at] != '\'' {
			return &Literal{StringOf(b.String())}, nil
		}
		b.WriteByte('\'')
		p.at++
	}
}

func (p *parser) integer() (Node, error) {
	from := p.at
	for p.at++; p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9'; {
		p.at++
	}
	n, err := strconv.ParseInt(p.text[from:p.at], 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return nil, errorAt(from, "the integer does not fit into 64 bits")
	case err != nil:
		return nil, errorAt(from, "'-' without digits behind it is no integer")
	case p.at+1 < len(p.text) && p.text[p.at] == '.' && p.text[p.at+1] >= '0' && p.text[p.at+1] <= '9':
		return nil, errorAt(from, "expressions have no numbers with a fraction; write json('1.5')")
	}
	return &Literal{IntOf(n)}, nil
}

func (p *parser) invocation() (Node, error) {
	from := p.at
	name, namespace := p.identifier(), ""
	if p.peek() == '.' {
		p.at++
		p.skipSpace()
		if namespace, name = name, p.identifier(); name == "" {
			return nil, p.unexpected("a function's name")
		}
	}
	if !p.consume('(') {
		return nil, p.unexpected("'('")
	}
	var args []Node
	if p.consume(')') {
		return newInvocation(from, namespace, name, args), nil
	}
	for {
		if err := p.countNesting(); err != nil {
			return nil, err
		}
		arg, err := p.expression()
		if err != nil {
			return nil, err
		}
		p.depth--
		args = append(args, arg)
		if p.consume(')') {
			return newInvocation(from, namespace, name, args), nil
		}
		if !p.consume(',') {
			return nil, p.unexpected("',' or ')'")
		}
	}
}

func isIdentStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *parser) identifier() string {
	from := p.at
	for p.at < len(p.text) && (isIdentStart(p.text[p.at]) || p.at > from && p.text[p.at] >= '0' && p.text[p.at] <= '9') {
		p.at++
	}
	return p.text[from:p.at]
}
