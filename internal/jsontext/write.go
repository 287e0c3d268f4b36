package jsontext

import (
	"encoding/json"
	"strconv"
	"time"
)

// ObjectWriter writes one JSON object. It leaves out an optional member where its value is
// the zero value.
type ObjectWriter struct {
	text []byte
	err  error
}

// BeginObject begins an object behind a text.
func BeginObject(behind []byte) *ObjectWriter { return &ObjectWriter{text: append(behind, '{')} }

// End ends the object and returns it, behind the text that it was begun behind.
func (o *ObjectWriter) End() ([]byte, error) { return append(o.text, '}'), o.err }

// Text writes a text.
func (o *ObjectWriter) Text(name, value string) {
	if !isPlain(value) {
		o.Value(name, value)
		return
	}
	o.name(name)
	o.text = append(o.text, '"')
	o.text = append(o.text, value...)
	o.text = append(o.text, '"')
}

// OptionalText writes a text.
func (o *ObjectWriter) OptionalText(name, value string) {
	if value != "" {
		o.Text(name, value)
	}
}

// OptionalTrue writes a value that is true or left out.
func (o *ObjectWriter) OptionalTrue(name string, value bool) {
	if value {
		o.name(name)
		o.text = append(o.text, "true"...)
	}
}

// Number writes a number.
func (o *ObjectWriter) Number(name string, value int) {
	o.name(name)
	o.text = strconv.AppendInt(o.text, int64(value), 10)
}

// OptionalNumber writes a number.
func (o *ObjectWriter) OptionalNumber(name string, value int) {
	if value != 0 {
		o.Number(name, value)
	}
}

// OptionalTime writes a time.
func (o *ObjectWriter) OptionalTime(name string, value time.Time) {
	if value.IsZero() {
		return
	}
	o.name(name)
	o.text = append(o.text, '"')
	o.extend(value.AppendText(o.text))
	o.text = append(o.text, '"')
}

// Bytes writes an array of bytes, as numbers.
func (o *ObjectWriter) Bytes(name string, value []byte) {
	o.name(name)
	separator := byte('[')
	for _, b := range value {
		o.text = strconv.AppendUint(append(o.text, separator), uint64(b), 10)
		separator = ','
	}
	o.text = append(o.text, ']')
}

// Append writes a value by a function that appends it to a text.
func (o *ObjectWriter) Append(name string, value func(behind []byte) ([]byte, error)) {
	o.name(name)
	o.extend(value(o.text))
}

// Value writes any value, by encoding/json.
func (o *ObjectWriter) Value(name string, value any) {
	o.name(name)
	text, err := json.Marshal(value)
	o.extend(append(o.text, text...), err)
}

// extend takes the text with what was appended to it.
func (o *ObjectWriter) extend(text []byte, err error) {
	if err != nil {
		o.err = err
		return
	}
	o.text = text
}

func (o *ObjectWriter) name(name string) {
	if o.text[len(o.text)-1] != '{' {
		o.text = append(o.text, ',')
	}
	o.text = append(o.text, '"')
	o.text = append(o.text, name...)
	o.text = append(o.text, '"', ':')
}

// escapedBytes are the bytes that encoding/json may write otherwise than as they are.
var escapedBytes = func() (all [256]bool) {
	for c := range all {
		all[c] = c < ' ' || c > '~'
	}
	for _, c := range []byte(`"\<>&`) {
		all[c] = true
	}
	return all
}()

// isPlain reports whether encoding/json writes a text as it is.
func isPlain(text string) bool {
	for i := range len(text) {
		if escapedBytes[text[i]] {
			return false
		}
	}
	return true
}
