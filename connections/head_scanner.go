package connections

import (
	"bytes"
	"math"
	"sync/atomic"
)

// headScanner scans the request heads of an HTTP/1.x connection as they are read,
// because net/http shows a handler either Content-Length or chunks, never both. It
// keeps no bytes.
//
// A request that net/http refuses ends the connection, so parsing after it does not
// matter. The same holds after a request with Transfer-Encoding: the answer to it
// must be the connection's last.
type headScanner struct {
	state   scanState
	target  string // the header name that the line may have
	matched int    // bytes of target
	left    int64  // content bytes to skip

	// Of the current head.
	hasTransferEncoding bool
	hasContentLength    bool
	ambiguousLength     bool  // another parser could read another number
	length              int64 // value of Content-Length
	digitSeen           bool
	numberEnded         bool // whitespace followed the digits
	lastWasLength       bool // the previous line is a Content-Length

	count     int64        // heads read
	ambiguous atomic.Int64 // number of the ambiguous head; 0: none
}

// scanState is the position of the next byte.
type scanState int

const (
	betweenRequests scanState = iota // before a request line
	ignoredLine                      // in a line without meaning here
	lineStart                        // at the start of a header line
	emptyLine                        // after the CR of an empty line
	headerName                       // in a name that may match target
	lengthValue                      // in a Content-Length
	contentBytes                     // after a head
	stopped                          // the connection ends with the answer
)

const (
	lengthName = "content-length"
	codingName = "transfer-encoding"
)

// scan processes the next bytes of the connection.
func (h *headScanner) scan(p []byte) {
	for len(p) > 0 && h.state != stopped {
		switch h.state {
		case contentBytes:
			n := min(int64(len(p)), h.left)
			p = p[n:]
			if h.left -= n; h.left == 0 {
				h.state = betweenRequests
			}
		case ignoredLine:
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				return
			}
			p = p[i+1:]
			h.state = lineStart
		default:
			h.step(p[0])
			p = p[1:]
		}
	}
}

func (h *headScanner) step(b byte) {
	switch h.state {
	case betweenRequests:
		if b != '\r' && b != '\n' { // net/http skips a few after a POST, and refuses them elsewhere
			h.state = ignoredLine
		}
	case lineStart:
		h.startLine(b)
	case emptyLine:
		h.state = ignoredLine
		if b == '\n' {
			h.endHead()
		}
	case headerName:
		h.stepName(b)
	case lengthValue:
		h.stepNumber(b)
	}
}

func (h *headScanner) startLine(b byte) {
	folded := h.lastWasLength && (b == ' ' || b == '\t')
	h.ambiguousLength = h.ambiguousLength || folded
	h.lastWasLength = false
	switch b {
	case '\n':
		h.endHead()
	case '\r':
		h.state = emptyLine
	case 'c', 'C':
		h.state, h.target, h.matched = headerName, lengthName, 1
	case 't', 'T':
		h.state, h.target, h.matched = headerName, codingName, 1
	default:
		h.state = ignoredLine
	}
}

func (h *headScanner) stepName(b byte) {
	complete := h.matched == len(h.target)
	switch {
	case b == '\n':
		h.state = lineStart
	case !complete && lowerByte(b) == h.target[h.matched]:
		h.matched++
	case complete && (b == ' ' || b == '\t'):
	case complete && b == ':' && h.target == codingName:
		h.state, h.hasTransferEncoding = ignoredLine, true
	case complete && b == ':':
		h.state, h.hasContentLength, h.lastWasLength, h.length, h.digitSeen, h.numberEnded = lengthValue, true, true, 0, false, false
	default:
		h.state = ignoredLine
	}
}

func (h *headScanner) stepNumber(b byte) {
	switch {
	case b == '\n':
		h.ambiguousLength = h.ambiguousLength || !h.digitSeen
		h.state = lineStart
	case b == ' ' || b == '\t' || b == '\r':
		h.numberEnded = h.digitSeen
	case b < '0' || b > '9' || h.numberEnded || h.length > (math.MaxInt64-int64(b-'0'))/10:
		h.ambiguousLength = true
		h.state = ignoredLine
	default:
		h.digitSeen = true
		h.length = h.length*10 + int64(b-'0')
	}
}

func (h *headScanner) endHead() {
	h.count++
	switch {
	case h.ambiguousLength || h.hasContentLength && h.hasTransferEncoding:
		h.ambiguous.Store(h.count)
		h.state = stopped
	case h.hasTransferEncoding:
		h.state = stopped
	case h.hasContentLength && h.length > 0:
		h.state, h.left = contentBytes, h.length
	default:
		h.state = betweenRequests
	}
	h.hasContentLength, h.lastWasLength = false, false
}

func lowerByte(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
