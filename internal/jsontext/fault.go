package jsontext

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// syntaxError is a sentence that clients see.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

// Place returns the line of an offset in text, counted from 1, and the number
// of bytes before it in the line, as faults show them.
func Place(text []byte, offset int) (line, position int) {
	before := text[:min(offset, len(text))]
	return 1 + bytes.Count(before, []byte{'\n'}), len(before) - 1 - bytes.LastIndexByte(before, '\n')
}

// fault returns the error of a text that is not well-formed, or does not
// begin with open if that is given.
func fault(text []byte, open byte) error {
	if at := firstInvalid(text); at < len(text) {
		return errorAt(text, at, "the text is not UTF-8", "")
	}
	begin := pastSpace(text, 0)
	if begin == len(text) || open != 0 && text[begin] != open {
		return unexpected(text, begin, map[byte]string{0: "a value", '{': "an object", '[': "an array"}[open], "")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := d.ReadToken(); err != nil {
			return explain(text, d, err)
		}
		switch d.StackDepth() {
		case 0:
			return unexpected(text, pastSpace(text, int(d.InputOffset())), "the end", "")
		case maxDepth + 1:
			return errorAt(text, int(d.InputOffset())-1, fmt.Sprintf("The content is nested deeper than %d levels", maxDepth), pathTo(d.StackPointer(), d))
		}
	}
}

// firstInvalid returns the offset of the first invalid UTF-8, or the length of the text.
func firstInvalid(text []byte) (at int) {
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// explain rewords a decoder's error.
func explain(text []byte, d *jsontext.Decoder, err error) error {
	found, is := errors.AsType[*jsontext.SyntacticError](err)
	if !is {
		return err
	}
	at, path, said := int(found.ByteOffset), pathTo(found.JSONPointer, d), found.Err.Error()
	_, wanted, expects := strings.Cut(strings.TrimSuffix(said, ")"), "(expecting ")
	kind, length := d.StackIndex(d.StackDepth())
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		at = len(text)
	case expects:
	case strings.Contains(said, "escape sequence"):
		at, wanted = at+1, "an escaped character"
	case kind == jsontext.KindBeginObject && length%2 == 0:
		wanted = "a property name"
	default:
		wanted = "a value"
	}
	if next := pastSpace(text, at+1); at < len(text) && text[at] == ',' && next < len(text) && (text[next] == '}' || text[next] == ']') {
		at = next // the decoder reports a comma before it looks after it
	}
	return unexpected(text, at, wanted, path)
}

func unexpected(text []byte, at int, wanted, path string) error {
	reason := "Unexpected end of content"
	if at < len(text) {
		r, _ := utf8.DecodeRune(text[at:])
		reason = fmt.Sprintf("Unexpected character %q", r)
	}
	if wanted != "" {
		reason += ", where " + wanted + " should stand"
	}
	return errorAt(text, at, reason, path)
}

// errorAt returns the error of a text that is not well-formed, with its
// position. path is the path of members and elements to the fault, such as
// properties.disks[2], and empty at the outermost level.
func errorAt(text []byte, at int, reason, path string) error {
	line, position := Place(text, at)
	return syntaxError(fmt.Sprintf("%s. Path '%s', line %d, position %d.", reason, path, line, position))
}

// longestStep bounds a member's name in the path to a fault.
const longestStep = 256

// pathTo converts a pointer to the decoder's position to a path.
func pathTo(pointer jsontext.Pointer, d *jsontext.Decoder) string {
	var path strings.Builder
	depth := 0
	for name := range pointer.Tokens() {
		depth++
		if kind, _ := d.StackIndex(depth); kind == jsontext.KindBeginArray {
			fmt.Fprintf(&path, "[%s]", name)
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		if len(name) > longestStep {
			name = strings.ToValidUTF8(name[:longestStep], "") + "…"
		}
		path.WriteString(name)
	}
	return path.String()
}
