// Package terminal writes for people at a terminal: tables that fit it, progress bars,
// and repeated drawings; and for programs: JSON and YAML.
//
// Nothing in a service's answer can act as a command to the terminal: characters that are
// invisible, or that change the direction of writing, are replaced or escaped.
package terminal

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// joiner holds the parts of some emoji together.
const joiner = '\u200d'

// Clean returns a text on one line without control characters: line breaks become spaces,
// other invisible characters a mark.
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

// width returns how many columns of a terminal a text takes.
func width(text string) int { return uniseg.StringWidth(text) }

// Cut is the end of a text that is cut off if there is no room for all of it.
type Cut int

// The ends.
const (
	CutEnd   Cut = iota
	CutStart     // as for IDs, whose end tells most
)

const ellipsis = "…"

// shorten cuts a text to at most most columns, with an ellipsis.
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
	drop := all - (most - width(ellipsis)) // the columns to drop at the start
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

func pad(text string, to int, right bool) string {
	spaces := strings.Repeat(" ", max(0, to-width(text)))
	if right {
		return spaces + text
	}
	return text + spaces
}

// lineStart matches what stands before the text of a line: its indentation, and in a list
// the name of the entry with the gap behind it.
var lineStart = regexp.MustCompile(`^\s*(\S.*?\s{2,})?`)

// Fit breaks the lines of a text that have more than so many columns; 0 means unbounded.
func Fit(text string, columns int) string {
	if columns == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		start := lineStart.FindString(strings.TrimRight(line, "\n"))
		for _, part := range Wrap(line[len(start):], max(columns-width(start), columns/3)) {
			b.WriteString(strings.TrimRight(start+part, " ") + "\n")
			start = strings.Repeat(" ", width(start))
		}
	}
	return b.String()
}

// Wrap breaks a text between words into lines of at most so many columns; 0 means
// unbounded. A longer word has a line of its own.
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
