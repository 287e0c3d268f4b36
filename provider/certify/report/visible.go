package report

import (
	"strings"
	"unicode"
)

// visible returns a text of a provider without what would act on a terminal, or turn the
// order of what is shown: a mark stands for such characters. Line breaks and tabs stay.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', unicode.IsPrint(r):
			return r
		case r == '\r':
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}

// oneLine is the same on one line.
func oneLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(visible(text))
}
