package jsontext

import "bytes"

// mark is the UTF-8 byte order mark.
const mark = "\ufeff"

// WithoutMark returns text without the byte order mark that some writers put in front of
// JSON, which readers may ignore (RFC 8259, 8.1). All that is read from outside passes
// here once, so that every reader takes the same text for JSON. A mark that nothing
// follows stays: such a text is not empty.
func WithoutMark(text []byte) []byte {
	if len(text) == len(mark) {
		return text
	}
	return bytes.TrimPrefix(text, []byte(mark))
}
