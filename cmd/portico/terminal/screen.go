package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Screen is where a command writes: a terminal, or anything else, such as a file or a
// pipe.
type Screen struct {
	out        io.Writer
	fd         int // of the terminal
	isTerminal bool
	colour     bool
}

// On returns the screen for w.
func On(w io.Writer) *Screen {
	s := &Screen{out: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.fd, s.isTerminal = int(f.Fd()), true
		s.colour = os.Getenv("NO_COLOR") == "" // https://no-color.org
	}
	return s
}

// Write writes text unchanged.
func (s *Screen) Write(text []byte) (int, error) { return s.out.Write(text) }

// IsTerminal reports whether the output is a terminal.
func (s *Screen) IsTerminal() bool { return s.isTerminal }

// Width returns the number of columns; 0: unbounded.
func (s *Screen) Width() int { width, _ := s.size(); return width }

// size returns the size of the terminal, which may change. 0 means unbounded.
func (s *Screen) size() (columns, lines int) {
	if !s.isTerminal {
		return 0, 0
	}
	columns, lines, err := term.GetSize(s.fd)
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// Style is how a text is shown if colours are.
type Style string

// The styles. No information is in a style alone: the text has it too.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Faint  Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// In returns a text in a style.
func (s *Screen) In(style Style, text string) string {
	if !s.colour || style == Plain || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}
