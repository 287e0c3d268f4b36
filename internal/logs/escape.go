package logs

import (
	"encoding/binary"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"go.uber.org/zap/zapcore"
)

// escaping escapes characters in lines of JSON that JSON allows in a string
// but that a reader may take for the end of a line, a terminal command, or a
// change of the writing direction, or may not show at all.
type escaping struct{ zapcore.WriteSyncer }

func (e escaping) Write(line []byte) (int, error) {
	if _, err := e.WriteSyncer.Write(escaped(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func escaped(line []byte) []byte {
	if ascii(line) { // nearly all lines are
		return line
	}
	clean := make([]byte, 0, len(line)+64)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch {
		case !isDeceptive(r):
			clean = append(clean, line[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			clean = fmt.Appendf(clean, `\u%04x\u%04x`, high, low)
		default:
			clean = fmt.Appendf(clean, `\u%04x`, r)
		}
		line = line[n:]
	}
	return clean
}

// ascii reports whether a line has only ASCII characters, and none that deceives in a
// line of JSON. It runs on each line, so it reads eight bytes at a time: for a byte from
// 0x7f on, the highest bit is set in the byte or in its successor.
func ascii(line []byte) bool {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	for ; len(line) >= 8; line = line[8:] {
		if c := binary.LittleEndian.Uint64(line); (c|(c+ones))&highest != 0 {
			return false
		}
	}
	for _, c := range line {
		if c >= 0x7f {
			return false
		}
	}
	return true
}

// isDeceptive reports whether a character is a control character beyond
// ASCII, changes how others look, or is invisible.
func isDeceptive(r rune) bool {
	if r < 0x7f {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
