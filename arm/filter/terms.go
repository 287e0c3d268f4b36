package filter

import (
	"fmt"
	"strings"
)

// Term is one comparison in a chain, such as caller eq 'name'. Its value is a quoted
// text, or one word: the az CLI sends times and namespaces without quotes.
type Term struct{ Field, Operator, Value string }

// Terms parses a chain of comparisons joined by "and", for lists that support
// nothing else. The caller checks fields, operators and values. The error
// describes the fault and its position.
func Terms(s string) (terms []Term, err error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	if len(s) > maxLength {
		return nil, fmt.Errorf("it is longer than %d bytes", maxLength)
	}
	tokens, err := lex(s, func(c byte) bool { return wordByte(c) || strings.IndexByte("-:.+", c) >= 0 })
	if err != nil {
		return nil, err
	}
	for p := (&parser{tokens: tokens}); ; {
		term, err := p.chained()
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
		switch {
		case p.peek().kind == end:
			return terms, nil
		case !p.takeWord("and"):
			return nil, p.unexpected("and or the end")
		}
	}
}

func (p *parser) chained() (Term, error) {
	field, err := p.expect(word, "a field")
	if err != nil {
		return Term{}, err
	}
	operator, err := p.expect(word, "an operator")
	if err != nil {
		return Term{}, err
	}
	value := p.peek()
	if value.kind != word && value.kind != text {
		return Term{}, p.unexpected("a value")
	}
	p.next()
	return Term{Field: field.text, Operator: operator.text, Value: value.text}, nil
}
