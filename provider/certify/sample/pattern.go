package sample

import (
	"regexp/syntax"
	"strings"
)

// matching returns texts that match a pattern and have at least so many
// characters, if repetition can reach that; none if RE2 cannot parse the
// pattern, for example with a lookahead.
func matching(pattern string, least int) []string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	parsed = parsed.Simplify()
	var texts []string
	for variant := range 3 {
		for _, repeat := range []int{0, 1, 2, 3, least / 4, least/4 + 1, least / 3, least/3 + 1, least / 2, least/2 + 1, least} {
			if repeat > longestText {
				continue
			}
			var b strings.Builder
			steps := 4 * longestText
			w := writer{&b, repeat, variant, &steps}
			if w.write(parsed) {
				texts = append(texts, b.String())
			}
		}
	}
	return texts
}

// writer writes a text that matches an expression.
type writer struct {
	*strings.Builder
	repeat  int  // further repetitions of repeated parts, beyond the required ones
	variant int  // the character or alternative to choose
	steps   *int // remaining steps: nested repetitions multiply
}

// write returns false if no text matches, or only a very long one.
func (w writer) write(e *syntax.Regexp) bool {
	if *w.steps--; *w.steps < 0 || w.Len() > longestText {
		return false
	}
	switch e.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true // the complete pattern checks them at the end
	case syntax.OpLiteral:
		w.WriteString(string(e.Rune))
		return true
	case syntax.OpCharClass:
		return w.class(e.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.WriteByte("abc"[w.variant])
		return true
	case syntax.OpCapture:
		return w.write(e.Sub[0])
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			if !w.write(sub) {
				return false
			}
		}
		return true
	case syntax.OpAlternate:
		return w.write(e.Sub[w.variant%len(e.Sub)])
	case syntax.OpStar:
		return w.times(e.Sub[0], w.repeat)
	case syntax.OpPlus:
		return w.times(e.Sub[0], 1+w.repeat)
	case syntax.OpQuest:
		return w.times(e.Sub[0], min(w.repeat, 1))
	}
	return false // OpNoMatch; Simplify leaves no OpRepeat
}

func (w writer) times(e *syntax.Regexp, n int) bool {
	for range n {
		if !w.write(e) {
			return false
		}
	}
	return true
}

// class writes one character of a class: a letter or a digit if it has any.
func (w writer) class(ranges []rune) bool {
	has := func(r rune) bool {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return true
			}
		}
		return false
	}
	skip := w.variant
	for _, r := range "abcABC123xyz0_-. " {
		if !has(r) {
			continue
		}
		if skip == 0 {
			w.WriteRune(r)
			return true
		}
		skip--
	}
	if len(ranges) == 0 {
		return false
	}
	w.WriteRune(ranges[0])
	return true
}
