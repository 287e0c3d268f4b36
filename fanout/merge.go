package fanout

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"io"
	"math/bits"
	"strings"

	"portico/arm"
	"portico/limits"
)

// MergedPage is a page of a list over several regions. It holds memory of the budget
// until Release.
type MergedPage struct {
	// NextLink is the URI of the next page; "" on the last one.
	NextLink string
	// Complete reports whether no region was given up so far. On the last
	// page, Unreachable lists the regions that were.
	Complete    bool
	Unreachable []string
	// RequestIDs are the providers' request ids, in the order of the regions.
	RequestIDs []string
	// Count is the number of elements. Strays is the number of elements that a
	// second region returned too; they are written once.
	Count, Strays int

	parts   [][]byte // parts of the message, in order: mostly parts of the providers' pages
	size    int64
	memory  *limits.Reservation
	pages   []Page
	buffers *buffers
	written bool // completely written
}

// Release frees the page's memory. The page must not be written afterwards.
func (m *MergedPage) Release() {
	for _, page := range m.pages {
		m.buffers.keepElements(page.Elements)
		// A failed writer may still be reading its buffer: an HTTP/2 stream
		// that was reset does.
		if page.pooled && m.written {
			m.buffers.keepText(page.Text)
		}
	}
	m.parts, m.pages = nil, nil
	m.memory.Close()
}

// Size returns the length of the message in bytes.
func (m *MergedPage) Size() int64 { return m.size }

// WriteTo writes the message. Elements are not copied.
func (m *MergedPage) WriteTo(w io.Writer) (int64, error) {
	var written int64
	for _, part := range m.parts {
		n, err := w.Write(part)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	m.written = true
	return written, nil
}

// build assembles the message from pages in the order of their regions. The first
// element with an id wins.
func (m *MergedPage) build(pages []Page) {
	m.add([]byte(`{"value":[`))
	m.pages = pages
	seen := m.buffers.idSet(pages)
	for i, page := range pages {
		m.addElements(i, page, seen)
	}
	m.buffers.keepIDs(seen)
	m.add([]byte(`]`))
	for _, member := range commonMembers(pages) {
		m.add([]byte("," + quoted(member.Key) + ":"))
		m.add(member.Value)
	}
	if len(m.Unreachable) > 0 {
		names := make([]string, len(m.Unreachable))
		for i, name := range m.Unreachable {
			names[i] = quoted(name)
		}
		m.add([]byte(`,"unreachable":[` + strings.Join(names, ",") + `]`))
	}
	if m.NextLink != "" {
		m.add([]byte(`,"nextLink":` + quoted(m.NextLink)))
	}
	m.add([]byte(`}`))
}

func (m *MergedPage) add(part []byte) {
	m.parts = append(m.parts, part)
	m.size += int64(len(part))
}

// addElements adds the new elements of a page, in runs of neighbours.
func (m *MergedPage) addElements(i int, page Page, seen *idSet) {
	begin, end := -1, 0
	flush := func() {
		if begin < 0 {
			return
		}
		if m.Count > 0 {
			m.add([]byte{','})
		}
		m.add(page.Text[begin:end])
		begin = -1
	}
	run := 0
	for j, e := range page.Elements {
		again, elsewhere := e.hidden(), false
		if !again {
			again, elsewhere = seen.add(i, j)
		}
		if again {
			if elsewhere {
				m.Strays++
			}
			flush()
			m.Count += run
			run = 0
			continue
		}
		if begin < 0 {
			begin = int(e.begin)
		}
		end = int(e.end)
		run++
	}
	flush()
	m.Count += run
}

// idSet holds the case-folded ids of the elements of pages. It is a hash table with open
// addressing, because its cost per element is a relevant part of a list's cost.
type idSet struct {
	pages  []Page
	seed   maphash.Seed
	slots  []idSlot // their number is a power of two, and more than half of them are free
	folded []byte   // scratch buffer
}

// idSlot is the first element with an id, by the hash of the id; 0 is a free slot.
type idSlot struct {
	hash          uint64
	page, element uint32
}

func newIDSet() *idSet { return &idSet{seed: maphash.MakeSeed()} }

// reset empties the set and sizes it for the elements of pages.
func (k *idSet) reset(pages []Page) {
	n := 0
	for _, page := range pages {
		n += len(page.Elements)
	}
	size := 1 << bits.Len(uint(2*n)) //nolint:gosec // not negative
	if cap(k.slots) < size {
		k.slots = make([]idSlot, size)
	} else {
		k.slots = k.slots[:size]
		clear(k.slots)
	}
	k.pages = pages
}

// add records element j of page i. It reports whether the id is known
// already, and whether from another page.
func (k *idSet) add(i, j int) (again, elsewhere bool) {
	page, e := k.pages[i], k.pages[i].Elements[j]
	if e.idEnd-e.id <= uint32(len(`""`)) {
		return false, false
	}
	k.folded = foldID(k.folded[:0], page, e)
	hash := maphash.Bytes(k.seed, k.folded) | 1
	mask := uint64(len(k.slots) - 1) //nolint:gosec // not negative
	for at := hash >> 1; ; at++ {
		slot := &k.slots[at&mask]
		if slot.hash == 0 {
			*slot = idSlot{hash, uint32(i), uint32(j)} //nolint:gosec // the numbers are bounded
			return false, false
		}
		if slot.hash != hash {
			continue
		}
		other := k.pages[slot.page]
		if arm.EqualFold(other.ID(other.Elements[slot.element]), page.ID(e)) {
			return true, int(slot.page) != i
		}
	}
}

// foldID appends the case-folded id of an element. Plain ASCII, the usual case,
// takes a fast path.
func foldID(to []byte, page Page, e Element) []byte {
	begin := len(to)
	to = append(to, page.Text[e.id+1:e.idEnd-1]...)
	if bytes.IndexByte(to[begin:], '\\') >= 0 || !lowerASCII(to[begin:]) {
		return arm.AppendFold(to[:begin], page.ID(e))
	}
	return to
}

// lowerASCII lowers ASCII letters in place, eight at a time. It returns false if the
// text has other bytes.
func lowerASCII(text []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for len(text) >= 8 {
		v := binary.LittleEndian.Uint64(text)
		if v&tops != 0 {
			return false
		}
		// The first sum sets the top bit of bytes from A on, the second of
		// bytes beyond Z.
		capitals := ((v + (0x80-'A')*ones) ^ (v + (0x7f-'Z')*ones)) & tops
		binary.LittleEndian.PutUint64(text, v|capitals>>2)
		text = text[8:]
	}
	for i, c := range text {
		switch {
		case c >= 0x80:
			return false
		case 'A' <= c && c <= 'Z':
			text[i] += 'a' - 'A'
		}
	}
	return true
}

// commonMembers returns the envelope members that every page has exactly once with
// the same value.
func commonMembers(pages []Page) []Member {
	if len(pages) == 0 {
		return nil
	}
	var all []Member
	for _, candidate := range pages[0].OtherMembers {
		common := !strings.EqualFold(candidate.Key, "unreachable")
		for _, page := range pages {
			same := 0
			for _, other := range page.OtherMembers {
				if strings.EqualFold(other.Key, candidate.Key) {
					same++
					common = common && other.Key == candidate.Key && bytes.Equal(other.Value, candidate.Value)
				}
			}
			common = common && same == 1
		}
		if common {
			all = append(all, candidate)
		}
	}
	return all
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil { // text always has a JSON form
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
