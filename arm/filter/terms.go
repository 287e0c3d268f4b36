package filter

import (
	"fmt"
	"strings"
)

// Term is one comparison of a chain of them, such as caller eq 'name'. Its value is a text
// in quotes, or one word: the az CLI sends times and namespaces so.
type Term struct{ Field, Operator, Value string }

// Terms reads a chain of comparisons that are joined by "and", for lists that understand
// no more. What fields, operators and values there are is the caller's to know. The error
// says what is wrong and where.
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
	field, err := p.take(word, "a field")
	if err != nil {
		return Term{}, err
	}
	operator, err := p.take(word, "an operator")
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
