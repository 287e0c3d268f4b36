package headers

import "net/http"

// Field is one line of a header.
type Field struct{ Name, Value string }

// Fields are headers of one value each, in canonical form: what the gateway itself sets
// on a message. It costs less than an [http.Header] to fill and to write.
type Fields []Field

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
	for _, field := range f {
		h[field.Name] = []string{field.Value}
	}
}
