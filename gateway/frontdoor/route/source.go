package route

import (
	"net/http"

	"portico/gateway/exchange"
)

// ListSource is an ordered store of elements.
type ListSource[T any] struct {
	// Read returns at most limit elements behind the key after. If there is Bytes, it may
	// return fewer than there are, but not none.
	Read func(after string, limit int) ([]T, error)
	// Ranges, unless nil, are in order all that may be kept; none overlaps another. ReadIn
	// is then called instead of Read: as that, within a range.
	Ranges []KeyRange
	ReadIn func(in KeyRange, after string, limit int) ([]T, error)
	Key    func(T) string
	Keep   func(T) bool // nil keeps all
	Bytes  func(T) int  // how large an element is; nil of elements that are small
	Show   func(T) any
}

// rangeCost is what a range costs, in elements that are examined.
const rangeCost = MostExamined / LargestPage

// Answer answers with page p of the source.
func (s ListSource[T]) Answer(w http.ResponseWriter, x *exchange.Exchange, l Lists, p Page) error {
	elements, rest, err := s.cut(p)
	if err != nil {
		return err
	}
	return l.Answer(w, x, elements, rest)
}

// cut reads the elements of page p and shows them. The list goes on behind the key
// rest, "" at its end.
func (s ListSource[T]) cut(p Page) (elements []any, rest string, err error) {
	c := cutting[T]{ListSource: s, top: p.Top, after: p.After, elements: []any{}}
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

// cutting is a page that is being read.
type cutting[T any] struct {
	ListSource[T]
	top      int
	after    string // where to read on
	examined int
	bytes    int
	elements []any
	last     T      // the last of them
	rest     string // where the next page begins
}

// read reads from one range until that has ended, or the page.
func (c *cutting[T]) read(from func(after string, limit int) ([]T, error)) (ended bool, err error) {
	// Where little is kept, more is read at a time.
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
func (c *cutting[T]) fits(e T) bool {
	if c.Bytes != nil {
		c.bytes += c.Bytes(e)
	}
	return c.bytes <= PageBytes || len(c.elements) == 0
}
