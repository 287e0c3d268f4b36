package terminal

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Column is a column of a table of Ts.
type Column[T any] struct {
	Title string
	// Cell returns a row's text. Time replaces it in a column of times, which are shown
	// as ages, or in full if the table is wide.
	Cell func(T) string
	Time func(T) time.Time
	// Style returns the style of a cell; nil: plain.
	Style func(T) Style
	// Wide columns are only in wide tables.
	Wide bool
	// Least is the smallest width that the column can be shortened to; 0: it is never
	// shortened. Cut is the end that is cut off.
	Least int
	Cut   Cut
	// Drop is the order in which columns are dropped if shortening is not enough: the
	// largest first. A column with 0 stays.
	Drop int
	// Right: aligned to the right, for numbers.
	Right bool
	// Width is the width of a column whose rows are not all known when the first one is
	// shown; 0: the width of its widest cell.
	Width int
}

// Table shows rows to people.
type Table[T any] struct {
	Columns []Column[T]
	// Wide: all columns, times in full, nothing shortened.
	Wide bool
	// Now is the reference of ages.
	Now time.Time
	// Headless tables have no titles.
	Headless bool
}

const gap = "  "

// Write writes a table that fits a screen, if its columns allow.
func (t Table[T]) Write(s *Screen, to io.Writer, rows []T) error {
	var shown []Column[T]
	for _, c := range t.Columns {
		if t.Wide || !c.Wide {
			shown = append(shown, c)
		}
	}
	most := s.Width()
	if t.Wide {
		most = 0
	}
	texts := t.texts(shown, rows)
	kept, widths := fit(shown, texts, most)
	var b strings.Builder
	for i, line := range texts {
		if i == 0 && t.Headless {
			continue
		}
		for place, n := range kept {
			c := shown[n]
			style := Bold
			if i > 0 {
				style = Plain
				if c.Style != nil {
					style = c.Style(rows[i-1])
				}
			}
			text := pad(shorten(line[n], widths[n], c.Cut), widths[n], c.Right)
			if place == len(kept)-1 {
				text = strings.TrimRight(text, " ")
			} else {
				text += gap
			}
			b.WriteString(s.In(style, text))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(to, b.String())
	return err
}

func (t Table[T]) texts(columns []Column[T], rows []T) [][]string {
	lines := make([][]string, 1, len(rows)+1)
	for _, c := range columns {
		lines[0] = append(lines[0], c.Title)
	}
	for _, row := range rows {
		line := make([]string, len(columns))
		for n, c := range columns {
			if c.Time != nil {
				line[n] = t.time(c.Time(row))
			} else {
				line[n] = Clean(c.Cell(row))
			}
			if line[n] == "" {
				line[n] = "-"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func (t Table[T]) time(at time.Time) string {
	if t.Wide && !at.IsZero() {
		return at.UTC().Format(time.RFC3339)
	}
	return Age(at, t.Now)
}

// fit chooses columns, and their widths, so that a line fits into most columns of the
// terminal. It shortens columns that may be shortened, the widest first; if that is not
// enough, it drops a column and begins again.
func fit[T any](columns []Column[T], texts [][]string, most int) (kept, widths []int) {
	natural := make([]int, len(columns))
	for n, c := range columns {
		kept = append(kept, n)
		for _, line := range texts {
			natural[n] = max(natural[n], width(line[n]))
		}
		if c.Width > 0 {
			natural[n] = c.Width
		}
	}
	for {
		widths, fits := shrink(columns, kept, natural, most)
		last := firstToDrop(columns, kept)
		if fits || last < 0 {
			return kept, widths
		}
		kept = slices.DeleteFunc(kept, func(n int) bool { return n == last })
	}
}

// shrink shortens the kept columns until they fit, and reports whether they do.
func shrink[T any](columns []Column[T], kept, natural []int, most int) (widths []int, fits bool) {
	widths = slices.Clone(natural)
	total := len(gap) * (len(kept) - 1)
	for _, n := range kept {
		total += widths[n]
	}
	for ; most > 0 && total > most; total-- {
		widest := -1
		for _, n := range kept {
			c := columns[n]
			if c.Least > 0 && widths[n] > max(c.Least, width(c.Title)) && (widest < 0 || widths[n] > widths[widest]) {
				widest = n
			}
		}
		if widest < 0 {
			return widths, false
		}
		widths[widest]--
	}
	return widths, true
}

// firstToDrop returns the column to drop first; -1: none may be dropped.
func firstToDrop[T any](columns []Column[T], kept []int) int {
	first := -1
	for _, n := range kept {
		if d := columns[n].Drop; d > 0 && (first < 0 || d >= columns[first].Drop) {
			first = n
		}
	}
	return first
}

// Age returns how long ago a time was, or in how long it will be; "" for the zero time.
func Age(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	past := now.Sub(at)
	if past < 0 {
		return "in " + Duration(-past)
	}
	return Duration(past) + " ago"
}

// Duration returns a duration in its largest unit.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{365 * day, "y"}, {day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= unit.of {
			return strconv.FormatInt(int64(d/unit.of), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}
