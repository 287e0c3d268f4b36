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
type heads struct {
	state   state
	target  string // what the name of the line may still be
	matched int    // of its bytes
	left    int64  // of the content

	// Of the head at hand.
	coded   bool  // it has a Transfer-Encoding
	sized   bool  // it has a Content-Length
	unsure  bool  // which another reader could take for another number
	length  int64 // the number
	digits  bool  // some of it have been seen
	ended   bool  // and spaces behind them
	isSized bool  // the line before is a Content-Length

	count     int64        // heads that have been read
	ambiguous atomic.Int64 // which of them is; 0 is none
}

// state is where in a head the next byte stands.
type state int

const (
	between   state = iota // before a request line
	other                  // in a line that does not matter
	lineStart              // behind a line of a head
	lastLine               // behind the CR of an empty line
	name                   // in a name that may matter
	number                 // in a Content-Length
	content                // behind a head
	stopped                // the connection ends with the answer
)

const (
	lengthName = "content-length"
	codingName = "transfer-encoding"
)

// scan looks at the next bytes of the connection.
func (h *heads) scan(p []byte) {
	for len(p) > 0 && h.state != stopped {
		switch h.state {
		case content:
			n := min(int64(len(p)), h.left)
			p = p[n:]
			if h.left -= n; h.left == 0 {
				h.state = between
			}
		case other:
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
func (h *heads) step(b byte) {
	switch h.state {
	case between:
		if b != '\r' && b != '\n' { // net/http skips a few behind a POST, and refuses them elsewhere
			h.state = other
		}
	case lineStart:
		h.startLine(b)
	case lastLine:
		h.state = other
		if b == '\n' {
			h.endHead()
		}
	case name:
		h.inName(b)
	case number:
		h.inNumber(b)
	}
}

func (h *heads) startLine(b byte) {
	folded := h.isSized && (b == ' ' || b == '\t')
	h.unsure = h.unsure || folded
	h.isSized = false
	switch b {
	case '\n':
		h.endHead()
	case '\r':
		h.state = lastLine
	case 'c', 'C':
		h.state, h.target, h.matched = name, lengthName, 1
	case 't', 'T':
		h.state, h.target, h.matched = name, codingName, 1
	default:
		h.state = other
	}
}

func (h *heads) inName(b byte) {
	whole := h.matched == len(h.target)
	switch {
	case b == '\n':
		h.state = lineStart
	case !whole && lower(b) == h.target[h.matched]:
		h.matched++
	case whole && (b == ' ' || b == '\t'):
	case whole && b == ':' && h.target == codingName:
		h.state, h.coded = other, true
	case whole && b == ':':
		h.state, h.sized, h.isSized, h.length, h.digits, h.ended = number, true, true, 0, false, false
	default:
		h.state = other
	}
}

func (h *heads) inNumber(b byte) {
	switch {
	case b == '\n':
		h.unsure = h.unsure || !h.digits
		h.state = lineStart
	case b == ' ' || b == '\t' || b == '\r':
		h.ended = h.digits
	case b < '0' || b > '9' || h.ended || h.length > (math.MaxInt64-int64(b-'0'))/10:
		h.unsure = true
		h.state = other
	default:
		h.digits = true
		h.length = h.length*10 + int64(b-'0')
	}
}

func (h *heads) endHead() {
	h.count++
	switch {
	case h.unsure || h.sized && h.coded:
		h.ambiguous.Store(h.count)
		h.state = stopped
	case h.coded:
		h.state = stopped
	case h.sized && h.length > 0:
		h.state, h.left = content, h.length
	default:
		h.state = between
	}
	h.sized, h.isSized = false, false
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
