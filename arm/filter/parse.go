package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"portico/arm"
)

// Bounds of a filter.
const (
	maxLength = 8 << 10
	maxDepth  = 32
)

// Parse parses a filter. An empty text is the zero [Filter]. allowed lists
// the fields that the list supports; none means all. The error describes the
// fault and its position.
func Parse(s string, allowed ...Field) (Filter, error) {
	if strings.TrimSpace(s) == "" {
		return Filter{}, nil
	}
	if len(s) > maxLength {
		return Filter{}, fmt.Errorf("it is longer than %d bytes", maxLength)
	}
	tokens, err := lex(s, wordByte)
	if err != nil {
		return Filter{}, err
	}
	p := &parser{tokens: tokens, allowed: allowed}
	root, err := p.disjunction()
	if err != nil {
		return Filter{}, err
	}
	if t := p.peek(); t.kind != end {
		return Filter{}, p.unexpected("and, or or the end")
	}
	return Filter{root}, nil
}

type parser struct {
	tokens  []token
	at      int
	depth   int
	allowed []Field
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) unexpected(wanted string) error {
	t := p.peek()
	return fmt.Errorf("%s at position %d stands where %s should", t, t.at, wanted)
}

// takeWord consumes the next token if it is that word.
func (p *parser) takeWord(w string) bool {
	if t := p.peek(); t.kind == word && strings.EqualFold(t.text, w) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(kind tokenKind, what string) (token, error) {
	if p.peek().kind != kind {
		return token{}, p.unexpected(what)
	}
	return p.next(), nil
}

func (p *parser) disjunction() (node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	first, err := p.conjunction()
	if err != nil {
		return nil, err
	}
	nodes := either{first}
	for p.takeWord("or") {
		n, err := p.conjunction()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 1 {
		return first, nil
	}
	return nodes, nil
}

func (p *parser) conjunction() (node, error) {
	var nodes all
	for {
		n, err := p.term()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		if !p.takeWord("and") {
			break
		}
	}
	return joinTags(nodes)
}

// joinTags joins the tag conditions of a conjunction: a value belongs to the
// tag that is named next to it. A name and a value that were joined in
// parentheses stay a separate condition.
func joinTags(nodes all) (node, error) {
	var joined tag
	rest := nodes[:0:0]
	for _, n := range nodes {
		t, ok := n.(tag)
		switch {
		case !ok || t.name != nil && t.value != nil:
			rest = append(rest, n)
		case t.value != nil && joined.value == nil:
			joined.value = t.value
		case t.value == nil && joined.name == nil:
			joined.name = t.name
		default: // a second tag
			rest = append(rest, n)
		}
	}
	if joined.value != nil && (joined.name == nil || joined.name.verb == notEqual) {
		return nil, errors.New("tagValue stands beside tagName only")
	}
	if joined.name != nil {
		rest = append(rest, joined)
	}
	if len(rest) == 1 {
		return rest[0], nil
	}
	return rest, nil
}

func (p *parser) term() (node, error) {
	t := p.peek()
	switch {
	case t.kind == open:
		p.next()
		n, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		_, err = p.expect(closed, "a closing parenthesis")
		return n, err
	case t.kind != word:
		return nil, p.unexpected("a condition")
	case strings.EqualFold(t.text, "not"):
		p.next()
		p.depth++
		defer func() { p.depth-- }()
		if p.depth > maxDepth {
			return nil, errors.New("it is nested too deep")
		}
		n, err := p.term()
		if err == nil {
			n, err = joinTags(all{n})
		}
		return not{n}, err
	case strings.EqualFold(t.text, "substringof"):
		return p.call(contains)
	case strings.EqualFold(t.text, "startswith"):
		return p.call(begins)
	}
	return p.compare()
}

// call reads substringof('text', field) or startswith(field, 'text').
func (p *parser) call(v verb) (node, error) {
	p.next()
	if _, err := p.expect(open, "an opening parenthesis"); err != nil {
		return nil, err
	}
	var field Field
	var said token
	read := []func() error{
		func() (err error) { said, err = p.expect(text, "a quoted text"); return err },
		func() (err error) { field, err = p.field(); return err },
	}
	if v == begins {
		read[0], read[1] = read[1], read[0]
	}
	if err := read[0](); err != nil {
		return nil, err
	}
	if _, err := p.expect(comma, "a comma"); err != nil {
		return nil, err
	}
	if err := read[1](); err != nil {
		return nil, err
	}
	if _, err := p.expect(closed, "a closing parenthesis"); err != nil {
		return nil, err
	}
	return condition(field, v, said.text), nil
}

func (p *parser) compare() (node, error) {
	field, err := p.field()
	if err != nil {
		return nil, err
	}
	v := equal
	switch {
	case p.takeWord("eq"):
	case p.takeWord("ne"):
		v = notEqual
	default:
		return nil, p.unexpected("eq or ne")
	}
	said, err := p.expect(text, "a quoted text")
	if err != nil {
		return nil, err
	}
	return condition(field, v, said.text), nil
}

func condition(field Field, v verb, said string) node {
	switch field {
	case TagName:
		return tag{name: &part{v, arm.Fold(said)}}
	case TagValue:
		return tag{value: &part{v, said}}
	case Location, ResourceType, Name, ResourceGroup, Identity, IdentityPrincipalID,
		PlanPublisher, PlanProduct, PlanName, PlanVersion, PlanPromotionCode:
	}
	return comparison{field, v, foldFor(field, said)}
}

func (p *parser) field() (Field, error) {
	t, err := p.expect(word, "a field")
	if err != nil {
		return 0, err
	}
	field, known := fields[strings.ToLower(t.text)]
	if !known || !p.allows(field) {
		return 0, fmt.Errorf("this list has no field '%s'", t.text)
	}
	return field, nil
}

func (p *parser) allows(field Field) bool {
	if slices.Contains(p.allowed, field) {
		return true
	}
	return len(p.allowed) == 0
}
