package headers

import "net/http"

// Field is one line of a header.
type Field struct{ Name, Value string }

// Fields are headers of one value each, in canonical form: what the gateway itself sets
// on a message. It costs less than an [http.Header] to fill and to write.
type Fields []Field

// stamps is the room for the headers that the gateway adds to a call.
const stamps = 16

// Stamps returns empty fields with room for those of a call.
func Stamps() Fields { return make(Fields, 0, stamps) }

// Set sets a header, whose name must be canonical.
func (f *Fields) Set(name, value string) {
	for i := range *f {
		if (*f)[i].Name == name {
			(*f)[i].Value = value
			return
		}
	}
	*f = append(*f, Field{name, value})
}

// Get returns the value of a header; "" if it is not set.
func (f Fields) Get(name string) string {
	for i := range f {
		if f[i].Name == name {
			return f[i].Value
		}
	}
	return ""
}

// AddTo sets all in h, in place of what h has by their names.
func (f Fields) AddTo(h http.Header) {
	values := make([]string, len(f)) // one allocation
	for i, field := range f {
		values[i] = field.Value
		h[field.Name] = values[i : i+1 : i+1]
	}
}

// Owner is an [http.ResponseWriter] that writes the gateway's own headers beside those of
// its Header, which has none of them. SetOwn replaces what it was given before, and keeps
// the fields until the headers are written.
type Owner interface{ SetOwn(own Fields) }

// SetOwn sets the gateway's own headers of an answer.
func SetOwn(w http.ResponseWriter, own Fields) {
	if to, ok := w.(Owner); ok {
		to.SetOwn(own)
		return
	}
	own.AddTo(w.Header())
}
