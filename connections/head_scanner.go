package connections

import (
	"bytes"
	"math"
	"sync/atomic"
)

// heads looks at the heads of the requests of an HTTP/1.x connection while they are
// read. net/http tells a handler of a Content-Length or of chunks, never of both. It
// keeps none of what it sees.
//
// What net/http refuses ends the connection, so it does not matter how that would go
// on. The same is true of what stands behind a request with a Transfer-Encoding: its
// answer must be the connection's last.
type headScanner struct {
	state   scanState
	target  string // what the name of the line may still be
	matched int    // of its bytes
	left    int64  // of the content

	// Of the head at hand.
	hasTransferEncoding bool  // it has a Transfer-Encoding
	hasContentLength    bool  // it has a Content-Length
	ambiguousLength     bool  // which another reader could take for another number
	length              int64 // the number
	digitSeen           bool  // some of it have been seen
	numberEnded         bool  // and spaces behind them
	lastWasLength       bool  // the line before is a Content-Length

	count     int64        // heads that have been read
	ambiguous atomic.Int64 // which of them is; 0 is none
}

// state is where in a head the next byte stands.
type scanState int

const (
	betweenRequests scanState = iota // before a request line
	ignoredLine                      // in a line that does not matter
	lineStart                        // behind a line of a head
	emptyLine                        // behind the CR of an empty line
	headerName                       // in a name that may matter
	lengthValue                      // in a Content-Length
	contentBytes                     // behind a head
	stopped                          // the connection ends with the answer
)

const (
	lengthName = "content-length"
	codingName = "transfer-encoding"
)

// scan looks at the next bytes of the connection.
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

// step takes a byte.
func (h *headScanner) step(b byte) {
	switch h.state {
	case betweenRequests:
		if b != '\r' && b != '\n' { // net/http skips a few behind a POST, and refuses them elsewhere
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
	whole := h.matched == len(h.target)
	switch {
	case b == '\n':
		h.state = lineStart
	case !whole && lowerByte(b) == h.target[h.matched]:
		h.matched++
	case whole && (b == ' ' || b == '\t'):
	case whole && b == ':' && h.target == codingName:
		h.state, h.hasTransferEncoding = ignoredLine, true
	case whole && b == ':':
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
