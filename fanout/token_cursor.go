package fanout

import (
	"encoding/binary"
	"slices"
	"time"
)

// regionState is the progress of a list in one region. Its numbers are written into
// tokens.
type regionState uint8

const (
	notStarted regionState = iota // its first page is next
	inProgress                    // a query of its provider is next
	givenUp                       // failed, in a list that may be partial
	exhausted                     // read to its end; dropped from the cursor
)

// regionCursor is the position of a list in one region.
type regionCursor struct {
	name  string
	state regionState
	query string // of the page at the position of state
	part  string // the name of the listed part; "" is the whole list
	of    *Part  // that part, while a page is built

	// History, to detect endless pages.
	pagesRead  int    // that had a next page
	emptyPages int    // consecutive empty ones, up to the latest
	queryHash  uint64 // of an earlier query: see turn
}

// cursor is the state of a list between two of its pages.
type cursor struct {
	issued      time.Time       // to the second
	partial     bool            // the client accepts a partial list
	anyAnswered bool            // some region has answered so far
	width       int             // regions whose pages fit at once; 0: all
	regions     []*regionCursor // in the order of their calls

	parts   bool   // the list consists of parts
	more    bool   // there may be further parts after reached
	reached string // the name of a part
}

// ended reports whether there is nothing left to list.
func (w *cursor) ended() bool { return !w.more && len(w.remaining()) == 0 }

// Beyond these bounds the pages of a region count as endless.
const (
	maxRegionPages = 100_000
	maxEmptyPages  = 1000 // empty ones in a row
)

// advance moves to the query of the region's next page. It returns false if the pages
// are circular or endless. To find circles of any length it remembers one query at a
// time, each for twice as many pages as the one before.
func (r *regionCursor) advance(next string, empty bool) bool {
	mark := queryHash(next)
	if r.pagesRead > 0 && mark == r.queryHash {
		return false
	}
	r.pagesRead++
	if r.pagesRead&(r.pagesRead-1) == 0 {
		r.queryHash = mark
	}
	if r.emptyPages++; !empty {
		r.emptyPages = 0
	}
	r.state, r.query = inProgress, next
	return r.pagesRead <= maxRegionPages && r.emptyPages <= maxEmptyPages
}

// remaining returns the regions that may have further elements.
func (w *cursor) remaining() []*regionCursor {
	var open []*regionCursor
	for _, r := range w.regions {
		if r.state == notStarted || r.state == inProgress {
			open = append(open, r)
		}
	}
	return open
}

// moveToEnd moves the regions selected by late to the end.
func (w *cursor) moveToEnd(late func(*regionCursor) bool) {
	slices.SortStableFunc(w.regions, func(a, b *regionCursor) int {
		switch {
		case late(a) == late(b):
			return 0
		case late(a):
			return 1
		}
		return -1
	})
}

// unreachable returns the names of the regions that were given up.
func (w *cursor) unreachable() []string {
	var names []string
	for _, r := range w.regions {
		if r.state == givenUp && !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	return names
}

// Flags of an encoded cursor.
const (
	flagPartial = 1 << iota
	flagAnswered
	flagParts
)

// partsMark takes the place of a region's state in a list without parts, but
// is not a valid state: gateways that do not support parts refuse the token.
const partsMark = 0xff

// encode writes the cursor without exhausted regions.
func (w *cursor) encode(own ownQuery) []byte {
	var flags uint64
	if w.partial {
		flags |= flagPartial
	}
	if w.anyAnswered {
		flags |= flagAnswered
	}
	if w.parts {
		flags |= flagParts
	}
	to := binary.AppendUvarint(nil, uint64(w.issued.Unix())) //nolint:gosec // after 1970
	to = binary.AppendUvarint(to, flags)
	to = binary.AppendUvarint(to, uint64(w.width)) //nolint:gosec // not negative
	if w.parts {
		to = appendText(append(to, partsMark), w.reached)
	}
	for _, r := range w.regions {
		if r.state == exhausted {
			continue
		}
		to = append(to, byte(r.state), byte(len(r.name)))
		to = append(to, r.name...)
		if w.parts {
			to = appendText(to, r.part)
		}
		if r.state == inProgress {
			to = binary.AppendUvarint(to, uint64(r.pagesRead))  //nolint:gosec // not negative
			to = binary.AppendUvarint(to, uint64(r.emptyPages)) //nolint:gosec // not negative
			to = binary.BigEndian.AppendUint64(to, r.queryHash)
			to = own.appendQuery(to, r.query)
		}
	}
	return to
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// decodeCursor reads the output of encode, for a request with the same own query.
func decodeCursor(text []byte, own ownQuery) (*cursor, bool) {
	in := &decoder{rest: text}
	w := &cursor{issued: time.Unix(int64(in.number()), 0)} //nolint:gosec // any number is a time
	flags := in.number()
	w.partial, w.anyAnswered = flags&flagPartial != 0, flags&flagAnswered != 0
	w.width = in.count()
	if w.parts = flags&flagParts != 0; w.parts {
		w.more = true // the caller may read more parts now
		if in.byte() != partsMark {
			return nil, false
		}
		w.reached = in.text()
	}
	for len(in.rest) > 0 && !in.invalid {
		r := &regionCursor{state: regionState(in.byte())}
		r.name = string(in.bytes(uint64(in.byte())))
		if w.parts {
			r.part = in.text()
		}
		if r.state == inProgress {
			r.pagesRead, r.emptyPages = in.count(), in.count()
			if mark := in.bytes(8); len(mark) == 8 {
				r.queryHash = binary.BigEndian.Uint64(mark)
			}
			r.query = own.decodeQuery(in)
		}
		if r.state >= exhausted || r.name == "" {
			return nil, false
		}
		w.regions = append(w.regions, r)
	}
	return w, !in.invalid && (len(w.regions) > 0 || w.more)
}

// decoder parses an encoded cursor. After an error it returns zeros.
type decoder struct {
	rest    []byte
	invalid bool
}

func (r *decoder) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.invalid = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count reads a number that is small in any valid cursor.
func (r *decoder) count() int {
	n := r.number()
	if n > 1<<20 {
		r.rest, r.invalid = nil, true
		return 0
	}
	return int(n)
}

func (r *decoder) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.invalid = nil, true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *decoder) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *decoder) text() string { return string(r.bytes(r.number())) }
