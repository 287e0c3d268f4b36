// Package headers decides which headers pass between clients and providers. It also knows which
// bytes are valid in an HTTP/1.1 message (grammar.go).
//
// Only known headers pass, in both directions: headers that HTTP and ARM define for such messages,
// x-ms-* outside the gateway's reserved families, and headers that the region map lists for the
// provider. Unknown headers do not pass: they may be credentials or identities to a server behind
// the provider, or instructions to a browser or to a proxy in front of the gateway.
package headers

import "net/http"

// Field is one header line.
type Field struct{ Name, Value string }

// Fields are headers with one value each, with canonical names: those that the gateway itself sets
// on a message. They cost less than an [http.Header] to fill and to write.
type Fields []Field

// stampCapacity is the capacity for the headers that the gateway adds to a call.
const stampCapacity = 16

// Stamps returns empty fields with capacity for a call's headers.
func Stamps() Fields { return make(Fields, 0, stampCapacity) }

// Set sets a header. The name must be canonical.
func (f *Fields) Set(name, value string) {
	for i := range *f {
		if (*f)[i].Name == name {
			(*f)[i].Value = value
			return
		}
	}
	*f = append(*f, Field{name, value})
}

// Get returns the value of a header, or "" if it is not set.
func (f Fields) Get(name string) string {
	for i := range f {
		if f[i].Name == name {
			return f[i].Value
		}
	}
	return ""
}

// AddTo sets all fields in h, replacing values of the same names.
func (f Fields) AddTo(h http.Header) {
	values := make([]string, len(f)) // one allocation
	for i, field := range f {
		values[i] = field.Value
		h[field.Name] = values[i : i+1 : i+1]
	}
}

// Owner is an [http.ResponseWriter] that writes the gateway's own headers in addition to its
// Header, which must not contain them. SetOwn replaces earlier fields; the Owner uses them until it
// has written the headers.
type Owner interface{ SetOwn(own Fields) }

// SetOwn sets the gateway's own headers of an answer.
func SetOwn(w http.ResponseWriter, own Fields) {
	if to, ok := w.(Owner); ok {
		to.SetOwn(own)
		return
	}
	own.AddTo(w.Header())
}

// hopByHop are the headers that apply to one connection only (RFC 9110, section 7.6.1), and some
// that providers do not need: Upgrade and related ones, because ARM uses no other protocol; Proxy,
// which CGI-like servers take for a setting; and Expect, because the gateway has the body.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings", "Proxy", "Expect", "Alt-Svc",
}

// Limits of the headers that pass in one message, not counting those that the gateway sets itself.
// Common servers accept 8 KiB for all headers of a request, and a hundred lines; common clients
// accept a hundred lines and 16 KiB, and a polling URL may need half of that.
const (
	maxLines = 64
	maxBytes = 8 << 10
)

// volume is the size of a message's headers.
type volume struct{ lines, bytes int }

func (v *volume) add(name string, values []string) {
	v.lines += len(values)
	for _, value := range values {
		v.bytes += len(name) + len(": \r\n") + len(value)
	}
}

func (v *volume) fits() bool { return v.lines <= maxLines && v.bytes <= maxBytes }
