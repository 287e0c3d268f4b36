package route

import (
	"net/http"

	"portico/gateway/exchange"
)

// ListSource is an ordered store of elements.
type ListSource[T any] struct {
	// Read returns at most limit elements after the key after. With Bytes, it may return
	// fewer before the end, but not none.
	Read func(after string, limit int) ([]T, error)
	// Ranges, if not nil, are sorted, do not overlap, and contain all elements to keep.
	// ReadIn is then called instead of Read, for one range at a time.
	Ranges []KeyRange
	ReadIn func(in KeyRange, after string, limit int) ([]T, error)
	Key    func(T) string
	Keep   func(T) bool // nil keeps all
	Bytes  func(T) int  // the size of an element; nil if all are small
	Show   func(T) any
}

// rangeCost is the cost of a range, in examined elements.
const rangeCost = MostExamined / LargestPage

// Answer answers with page p of the source.
func (s ListSource[T]) Answer(w http.ResponseWriter, x *exchange.Exchange, l Lists, p Page) error {
	elements, rest, err := s.readPage(p)
	if err != nil {
		return err
	}
	return l.Answer(w, x, elements, rest)
}

// readPage reads the elements of page p and converts them by Show. The list continues
// after the key rest, "" at its end.
func (s ListSource[T]) readPage(p Page) (elements []any, rest string, err error) {
	c := pageReader[T]{ListSource: s, top: p.Top, after: p.After, elements: []any{}}
	if s.Ranges == nil {
		ended, err := c.read(s.Read)
		if ended {
			c.rest = ""
		}
		return c.elements, c.rest, err
	}
	for _, in := range s.Ranges {
		if in.endsBy(p.After) {
			continue
		}
		ended, err := c.read(func(after string, limit int) ([]T, error) { return s.ReadIn(in, max(after, in.First), limit) })
		if err != nil || !ended {
			return c.elements, c.rest, err
		}
		c.after = in.end()
		if c.examined += rangeCost; c.examined >= MostExamined {
			return c.elements, c.after, nil
		}
	}
	return c.elements, "", nil
}

// pageReader is the state of a page that is being read.
type pageReader[T any] struct {
	ListSource[T]
	top      int
	after    string // where to read next
	examined int
	bytes    int
	elements []any
	last     T      // the last one added
	rest     string // where the next page begins
}

// read reads from one range until the range or the page has ended.
func (c *pageReader[T]) read(from func(after string, limit int) ([]T, error)) (ended bool, err error) {
	// If few elements are kept, it reads more at a time.
	for limit := min(c.top+1, LargestPage+1); ; limit = min(2*limit, LargestPage+1) {
		read, err := from(c.after, limit)
		if err != nil {
			return false, err
		}
		for _, e := range read {
			if c.Keep != nil && !c.Keep(e) {
				continue
			}
			if len(c.elements) == c.top || !c.fits(e) {
				c.rest = c.Key(c.last)
				return false, nil
			}
			c.elements, c.last = append(c.elements, c.Show(e)), e
		}
		if len(read) < limit && (c.Bytes == nil || len(read) == 0) {
			return true, nil
		}
		c.after = c.Key(read[len(read)-1])
		if c.examined += len(read); c.examined >= MostExamined {
			c.rest = c.after
			return false, nil
		}
	}
}

// fits reports whether an element has room on the page.
func (c *pageReader[T]) fits(e T) bool {
	if c.Bytes != nil {
		c.bytes += c.Bytes(e)
	}
	return c.bytes <= PageBytes || len(c.elements) == 0
}
