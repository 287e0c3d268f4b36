package logs

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"go.uber.org/zap/zapcore"
)

// escaping escapes, in lines of JSON, what JSON allows in a string as it is and
// what some reader takes for the end of a line, an order to a terminal, or a
// change of the direction of writing.
type escaping struct{ zapcore.WriteSyncer }

func (e escaping) Write(line []byte) (int, error) {
	if _, err := e.WriteSyncer.Write(escaped(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func escaped(line []byte) []byte {
	if bytes.IndexByte(line, 0x7f) < 0 && bytes.IndexByte(line, 0xc2) < 0 && bytes.IndexByte(line, 0xe2) < 0 {
		return line
	}
	clean := make([]byte, 0, len(line)+64)
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if deceives(r) {
			clean = fmt.Appendf(clean, `\u%04x`, r)
		} else {
			clean = append(clean, line[:n]...)
		}
		line = line[n:]
	}
	return clean
}

func deceives(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r >= 0x200e && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
