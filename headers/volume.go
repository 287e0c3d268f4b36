package headers

// Bounds of the headers that pass in one message, without those that the gateway sets
// itself. Common servers take 8 KiB for all headers of a request, and a hundred lines;
// common clients take a hundred lines and 16 KiB, of which a polling URL may need half.
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
