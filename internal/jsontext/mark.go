package jsontext

import "bytes"

// mark is the UTF-8 byte order mark.
const mark = "\ufeff"

// WithoutMark returns text without the byte order mark that some writers put in front of
// JSON, and that readers may ignore (RFC 8259, 8.1). Everything read from outside passes
// through here once, so that all readers agree on what is JSON. A text with nothing but
// the mark is returned unchanged: it is not empty.
func WithoutMark(text []byte) []byte {
	if len(text) == len(mark) {
		return text
	}
	return bytes.TrimPrefix(text, []byte(mark))
}
