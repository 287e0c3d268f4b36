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
	// Cell is what a row has in it. Time is, of a column of times: ages, or in full where
	// the table is wide.
	Cell func(T) string
	Time func(T) time.Time
	// Style is that of a cell; nil: plain.
	Style func(T) Style
	// Wide columns are those of wide tables alone.
	Wide bool
	// Least is the least width of the shortened column; 0: it is never shortened. Cut
	// says where.
	Least int
	Cut   Cut
	// Drop says which column goes first where shortening does not do: that with the
	// largest number. One of 0 stays.
	Drop int
	// Right: numbers, below each other.
	Right bool
	// Width is that of a column whose rows are not all known when the first one is shown;
	// 0: that of its widest cell.
	Width int
}

// Table shows rows to people.
type Table[T any] struct {
	Columns []Column[T]
	// Wide: all columns, times in full, nothing shortened.
	Wide bool
	// Now is the time from which ages are counted.
	Now time.Time
	// Headless tables say no titles.
	Headless bool
}

// gap is between two columns.
const gap = "  "

// Write writes a table that fits a screen, as far as its columns allow.
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

// texts are the titles and the cells.
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

// fit chooses columns, and their widths, so that a line has at most so many columns of the
// terminal. It shortens what may be shortened, the widest first; where that does not do it
// leaves a column out and begins again.
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
		last := firstToGo(columns, kept)
		if fits || last < 0 {
			return kept, widths
		}
		kept = slices.DeleteFunc(kept, func(n int) bool { return n == last })
	}
}

// shrink shortens the columns that are kept until they fit, and reports whether they do.
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

// firstToGo is the column that is left out first; -1: none may be.
func firstToGo[T any](columns []Column[T], kept []int) int {
	first := -1
	for _, n := range kept {
		if d := columns[n].Drop; d > 0 && (first < 0 || d >= columns[first].Drop) {
			first = n
		}
	}
	return first
}

// Age says how long ago something was, or in how long it will be; "" of the zero time.
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

// Duration is a time in its largest unit.
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
