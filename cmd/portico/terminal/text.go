// Package terminal writes for people at a terminal: tables that fit it, progress bars, and
// what is drawn again and again; and for programs: JSON and YAML.
//
// Nothing that a service answers reaches a terminal as a command to it: characters that
// cannot be seen, or that change the direction of writing, are replaced or escaped.
package terminal

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// joiner holds the parts of some emoji together.
const joiner = '\u200d'

// Clean returns a text on one line that no terminal takes for a command: spaces for what
// breaks lines, a mark for other characters that are not seen.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == joiner, unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}

// width is how many columns of a terminal a text takes.
func width(text string) int { return uniseg.StringWidth(text) }

// Cut says which part of a text goes where there is no room for all of it.
type Cut int

// The parts.
const (
	CutEnd   Cut = iota
	CutStart     // as of IDs, whose end tells most
)

const ellipsis = "…"

// shorten returns as much of a text as fits, with a sign that there was more.
func shorten(text string, most int, cut Cut) string {
	all := width(text)
	if all <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	kept := 0
	var short strings.Builder
	drop := all - (most - width(ellipsis)) // so many columns, from the start
	for g := uniseg.NewGraphemes(text); g.Next(); {
		w := g.Width()
		switch {
		case cut == CutEnd && kept+w > most-width(ellipsis):
			return short.String() + ellipsis
		case cut == CutStart && drop > 0:
			drop -= w
			continue
		}
		kept += w
		short.WriteString(g.Str())
	}
	return ellipsis + short.String()
}

// pad fills a text with spaces.
func pad(text string, to int, right bool) string {
	spaces := strings.Repeat(" ", max(0, to-width(text)))
	if right {
		return spaces + text
	}
	return text + spaces
}

// Wrap breaks a text into lines of at most so many columns, between words; one of 0
// columns means that a line holds any number. A longer word has a line of its own.
func Wrap(text string, columns int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(Clean(text)) {
		switch {
		case line == "":
			line = word
		case columns > 0 && width(line)+1+width(word) > columns:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
