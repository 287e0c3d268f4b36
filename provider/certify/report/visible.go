package report

import (
	"strings"
	"unicode"
)

// visible replaces the characters of a provider's text that would control a
// terminal or reorder the shown text by a mark. Line breaks and tabs stay.
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

// oneLine applies visible, and puts the text on one line.
func oneLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(visible(text))
}
