// Package jsonwrite writes JSON objects member by member: the bytes that encoding/json
// would write for a struct, at a fraction of the cost. It is for what is stored with
// every change; all else uses encoding/json.
package jsonwrite

import (
	"encoding/json"
	"strconv"
	"time"
)

// Object is a JSON object that is being written. A member that is optional is left out
// where its value is the zero value.
type Object struct {
	text []byte
	err  error
}

// Begin begins an object behind a text.
func Begin(behind []byte) *Object { return &Object{text: append(behind, '{')} }

// End ends the object and returns it, behind the text that it was begun behind.
func (o *Object) End() ([]byte, error) { return append(o.text, '}'), o.err }

// Text writes a text.
func (o *Object) Text(name, value string) {
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
func (o *Object) OptionalText(name, value string) {
	if value != "" {
		o.Text(name, value)
	}
}

// OptionalTrue writes a value that is true or left out.
func (o *Object) OptionalTrue(name string, value bool) {
	if value {
		o.name(name)
		o.text = append(o.text, "true"...)
	}
}

// Number writes a number.
func (o *Object) Number(name string, value int) {
	o.name(name)
	o.text = strconv.AppendInt(o.text, int64(value), 10)
}

// OptionalNumber writes a number.
func (o *Object) OptionalNumber(name string, value int) {
	if value != 0 {
		o.Number(name, value)
	}
}

// OptionalTime writes a time.
func (o *Object) OptionalTime(name string, value time.Time) {
	if value.IsZero() {
		return
	}
	o.name(name)
	o.text = append(o.text, '"')
	o.extend(value.AppendText(o.text))
	o.text = append(o.text, '"')
}

// Bytes writes an array of bytes, as numbers.
func (o *Object) Bytes(name string, value []byte) {
	o.name(name)
	separator := byte('[')
	for _, b := range value {
		o.text = strconv.AppendUint(append(o.text, separator), uint64(b), 10)
		separator = ','
	}
	o.text = append(o.text, ']')
}

// Append writes a value by a function that appends it to a text.
func (o *Object) Append(name string, value func(behind []byte) ([]byte, error)) {
	o.name(name)
	o.extend(value(o.text))
}

// Value writes any value, by encoding/json.
func (o *Object) Value(name string, value any) {
	o.name(name)
	text, err := json.Marshal(value)
	o.extend(append(o.text, text...), err)
}

// extend takes the text with what was appended to it.
func (o *Object) extend(text []byte, err error) {
	if err != nil {
		o.err = err
		return
	}
	o.text = text
}

func (o *Object) name(name string) {
	if o.text[len(o.text)-1] != '{' {
		o.text = append(o.text, ',')
	}
	o.text = append(o.text, '"')
	o.text = append(o.text, name...)
	o.text = append(o.text, '"', ':')
}

// escaped are the bytes that encoding/json may write otherwise than as they are.
var escaped = func() (all [256]bool) {
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
		if escaped[text[i]] {
			return false
		}
	}
	return true
}
