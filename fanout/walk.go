package fanout

import (
	"encoding/binary"
	"slices"
	"time"
)

// state is how far a walk has come in one region. The numbers are written into
// tokens.
type state uint8

const (
	todo   state = iota // not begun
	at                  // to go on with a query of the provider's
	failed              // given up, in a list that may be partial
	done                // read to its end; such a region leaves the walk
)

// region is one region of a walk.
type region struct {
	name  string
	state state
	query string // of the page to ask for, where state is at

	// How the provider's pages went so far.
	pages int    // that led to a next one
	idle  int    // of them, the last ones that were empty
	mark  uint64 // of an earlier query: see turn
}

// walk is a list between two of its pages.
type walk struct {
	issued   time.Time // to the second
	partial  bool      // the client asked for what there is
	answered bool      // some region has answered so far
	width    int       // regions whose pages fit at once; 0: all
	regions  []*region // in the order in which they are asked
}

// Bounds of the pages of one region, beyond which they count as endless.
const (
	mostPages = 100_000
	mostIdle  = 1000 // empty ones in a row
)

// turn moves a region on to the query of its next page. It returns false where
// the provider's pages lead round in a circle, or nowhere. A circle of any
// length is found by remembering one query at a time, each for twice as many
// pages as the one before.
func (r *region) turn(next string, empty bool) bool {
	mark := markOf(next)
	if r.pages > 0 && mark == r.mark {
		return false
	}
	r.pages++
	if r.pages&(r.pages-1) == 0 {
		r.mark = mark
	}
	if r.idle++; !empty {
		r.idle = 0
	}
	r.state, r.query = at, next
	return r.pages <= mostPages && r.idle <= mostIdle
}

// open returns the regions that still hold something.
func (w *walk) open() []*region {
	var open []*region
	for _, r := range w.regions {
		if r.state == todo || r.state == at {
			open = append(open, r)
		}
	}
	return open
}

// putBehind moves some regions to the end of the walk.
func (w *walk) putBehind(late func(*region) bool) {
	slices.SortStableFunc(w.regions, func(a, b *region) int {
		switch {
		case late(a) == late(b):
			return 0
		case late(a):
			return 1
		}
		return -1
	})
}

// unreachable names the regions that were given up.
func (w *walk) unreachable() []string {
	var names []string
	for _, r := range w.regions {
		if r.state == failed {
			names = append(names, r.name)
		}
	}
	return names
}

// Flags of an encoded walk.
const (
	flagPartial = 1 << iota
	flagAnswered
)

// encode writes the walk without the regions that are done.
func (w *walk) encode(own ownQuery) []byte {
	var flags uint64
	if w.partial {
		flags |= flagPartial
	}
	if w.answered {
		flags |= flagAnswered
	}
	to := binary.AppendUvarint(nil, uint64(w.issued.Unix())) //nolint:gosec // after 1970
	to = binary.AppendUvarint(to, flags)
	to = binary.AppendUvarint(to, uint64(w.width)) //nolint:gosec // not negative
	for _, r := range w.regions {
		if r.state == done {
			continue
		}
		to = append(to, byte(r.state), byte(len(r.name)))
		to = append(to, r.name...)
		if r.state == at {
			to = binary.AppendUvarint(to, uint64(r.pages)) //nolint:gosec // not negative
			to = binary.AppendUvarint(to, uint64(r.idle))  //nolint:gosec // not negative
			to = binary.BigEndian.AppendUint64(to, r.mark)
			to = own.appendQuery(to, r.query)
		}
	}
	return to
}

// decodeWalk reads what encode wrote, for a request with the same own query.
func decodeWalk(text []byte, own ownQuery) (*walk, bool) {
	in := &reader{rest: text}
	w := &walk{issued: time.Unix(int64(in.number()), 0)} //nolint:gosec // any number is a time
	flags := in.number()
	w.partial, w.answered = flags&flagPartial != 0, flags&flagAnswered != 0
	w.width = in.count()
	for len(in.rest) > 0 && !in.broken {
		r := &region{state: state(in.byte())}
		r.name = string(in.bytes(uint64(in.byte())))
		if r.state == at {
			r.pages, r.idle = in.count(), in.count()
			if mark := in.bytes(8); len(mark) == 8 {
				r.mark = binary.BigEndian.Uint64(mark)
			}
			r.query = own.query(in)
		}
		if r.state >= done || r.name == "" {
			return nil, false
		}
		w.regions = append(w.regions, r)
	}
	return w, !in.broken && len(w.regions) > 0
}

// reader takes an encoded walk apart. Once it is broken it yields zeros.
type reader struct {
	rest   []byte
	broken bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.rest, r.broken = nil, true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count is a number that is small in any walk.
func (r *reader) count() int {
	n := r.number()
	if n > 1<<20 {
		r.rest, r.broken = nil, true
		return 0
	}
	return int(n)
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.broken = nil, true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) text() string { return string(r.bytes(r.number())) }
