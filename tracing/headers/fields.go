// Package headers decides which headers pass between clients and providers, and knows
// which bytes may stand where in a message of HTTP/1.1 (grammar.go).
//
// Only named headers pass, in both directions: those that HTTP and ARM define for such
// messages, x-ms-* outside the gateway's reserved families, and those that the region
// map lists for the provider. An unknown header does not pass: it may be a credential
// or an identity to a server behind the provider, or an instruction to a browser or to
// a proxy in front of the gateway.
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

// Owner is an [http.ResponseWriter] that writes the gateway's own headers together with those of
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

// hopByHop are the headers that concern one connection only (RFC 9110, section 7.6.1),
// and some that providers do not need: Upgrade and its kin, since ARM uses no other
// protocol; Proxy, which CGI-like servers take for a setting; Expect, since the gateway
// has the content.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Proxy", "Expect", "Alt-Svc",
}

// Bounds of the headers that pass in one message, without those that the gateway sets
// itself. Common servers take 8 KiB for all headers of a request, and a hundred lines;
// common clients take a hundred lines and 16 KiB, and a polling URL may need half of that.
const (
	mostLines = 64
	mostBytes = 8 << 10
)

// volume is the size of a message's headers.
type volume struct{ lines, bytes int }

func (v *volume) add(name string, values []string) {
	v.lines += len(values)
	for _, value := range values {
		v.bytes += len(name) + len(": \r\n") + len(value)
	}
}

func (v *volume) fits() bool { return v.lines <= mostLines && v.bytes <= mostBytes }
