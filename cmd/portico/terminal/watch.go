package terminal

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"portico/internal/plural"
	"portico/internal/timing"
)

// The sequences for a terminal before and after repeated drawing: another screen, no
// cursor, no wrapping of long lines.
const (
	enterWatch = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leaveWatch = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// Watch draws repeatedly until ctx ends, which is not an error. On a terminal each
// picture replaces the one before, and the last one stays; elsewhere they follow each
// other. An error of draw ends it.
func (s *Screen) Watch(ctx context.Context, every time.Duration, draw func(context.Context, io.Writer) error) (err error) {
	last := ""
	if s.isTerminal {
		fmt.Fprint(s, enterWatch)
		defer func() { fmt.Fprint(s, leaveWatch, last) }()
	}
	for {
		var picture strings.Builder
		if err := draw(ctx, &picture); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		last = picture.String()
		if s.isTerminal {
			_, err = io.WriteString(s, s.frame(last))
		} else {
			_, err = io.WriteString(s, last)
		}
		if err != nil {
			return err
		}
		if timing.Sleep(ctx, every) != nil {
			return nil
		}
	}
}

// frame returns a picture that replaces the one before: only its first lines, if there is
// no room for all.
func (s *Screen) frame(picture string) string {
	lines := strings.Split(strings.TrimRight(picture, "\n"), "\n")
	_, room := s.size()
	if room > 1 && len(lines) > room {
		left := len(lines) - room + 1
		lines = append(lines[:room-1:room-1], s.In(Faint, plural.Count(left, "more line", "more lines")))
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	// Each line is cleared before it is written: after a line as wide as the terminal the
	// cursor is still on its last character.
	return "\x1b[H\x1b[K" + strings.Join(lines, "\r\n\x1b[K")
}
