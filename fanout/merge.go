package fanout

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"io"
	"strings"

	"portico/arm"
	"portico/limits"
)

// MergedPage is a page of a list over several regions. It holds memory of the budget
// until Release.
type MergedPage struct {
	// NextLink is the URI of the next page; "" on the last one.
	NextLink string
	// Complete reports whether no region was given up so far. Unreachable lists, on
	// the last page, the regions that were.
	Complete    bool
	Unreachable []string
	// RequestIDs are the providers' request ids, in the order of the regions.
	RequestIDs []string
	// Count is the number of elements. Strays counts those that a second region
	// returned as well; they are written once.
	Count, Strays int

	parts  [][]byte // of the message, in order: parts of the providers' pages mostly
	size   int64
	memory *limits.Reservation
}

// Release frees the page's memory. The page must not be written afterwards.
func (m *MergedPage) Release() {
	m.parts = nil
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
	return written, nil
}

// build assembles the message from pages in the order of their regions. The first
// element with an id wins.
func (m *MergedPage) build(pages []Page) {
	m.add([]byte(`{"value":[`))
	seen := newIDSet(pages)
	for i, page := range pages {
		m.addElements(i, page, seen)
	}
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

// addElements adds the elements of a page that are new, in runs of neighbours.
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
		if again, elsewhere := seen.add(i, j); again {
			if elsewhere {
				m.Strays++
			}
			flush()
			m.Count += run
			run = 0
			continue
		}
		if begin < 0 {
			begin = e.begin
		}
		end = e.end
		run++
	}
	flush()
	m.Count += run
}

// idSet holds the case-folded ids of the elements of pages.
type idSet struct {
	pages  []Page
	seed   maphash.Seed
	first  map[uint64][2]int // page and element, by the hash of the id
	folded []byte            // scratch buffer
}

func newIDSet(pages []Page) *idSet {
	n := 0
	for _, page := range pages {
		n += len(page.Elements)
	}
	return &idSet{pages: pages, seed: maphash.MakeSeed(), first: make(map[uint64][2]int, n)}
}

// add records element j of page i. It reports whether the id is known already, and
// whether from another page.
func (k *idSet) add(i, j int) (again, elsewhere bool) {
	page, e := k.pages[i], k.pages[i].Elements[j]
	if e.idEnd-e.id <= len(`""`) {
		return false, false
	}
	k.folded = foldID(k.folded[:0], page, e)
	hash := maphash.Bytes(k.seed, k.folded)
	at, known := k.first[hash]
	if !known {
		k.first[hash] = [2]int{i, j}
		return false, false
	}
	// On a hash collision both elements are written.
	other := k.pages[at[0]]
	if !arm.EqualFold(other.ID(other.Elements[at[1]]), page.ID(e)) {
		return false, false
	}
	return true, at[0] != i
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
		// The first sum sets the top bit of bytes from A on, the second of bytes beyond Z.
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
