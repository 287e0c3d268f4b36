package filter

import (
	"fmt"
	"strings"
)

type tokenKind uint8

const (
	end tokenKind = iota
	word
	text
	open
	closed
	comma
)

type token struct {
	kind tokenKind
	text string // of a word, or the content of a quoted text
	at   int    // byte offset, for error messages
}

func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case text:
		return "'" + t.text + "'"
	case word, open, closed, comma:
	}
	return t.text
}

// lex splits a filter into tokens; inWord are the characters of its words.
func lex(s string, inWord func(byte) bool) ([]token, error) {
	var tokens []token
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '(':
			tokens = append(tokens, token{open, "(", i})
			i++
		case c == ')':
			tokens = append(tokens, token{closed, ")", i})
			i++
		case c == ',':
			tokens = append(tokens, token{comma, ",", i})
			i++
		case c == '\'':
			quoted, next, err := lexQuoted(s, i)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, token{text, quoted, i})
			i = next
		case inWord(c):
			begin := i
			for i < len(s) && inWord(s[i]) {
				i++
			}
			tokens = append(tokens, token{word, s[begin:i], begin})
		default:
			return nil, fmt.Errorf("the character at position %d has no meaning there", i)
		}
	}
	return append(tokens, token{end, "", len(s)}), nil
}

// lexQuoted reads a quoted text. Two quotes in it stand for one.
func lexQuoted(s string, i int) (said string, next int, err error) {
	var b strings.Builder
	for j := i + 1; j < len(s); j++ {
		if s[j] != '\'' {
			b.WriteByte(s[j])
			continue
		}
		if j+1 < len(s) && s[j+1] == '\'' {
			b.WriteByte('\'')
			j++
			continue
		}
		return b.String(), j + 1, nil
	}
	return "", 0, fmt.Errorf("the text that begins at position %d has no closing quote", i)
}

func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '/' || c == '_'
}
