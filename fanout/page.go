package fanout

import (
	"bytes"
	"errors"
	"math"
	"strings"

	"portico/arm"
	"portico/internal/jsontext"
)

// Page is a buffered provider page: its text, and the positions of the
// members that the front door uses.
type Page struct {
	Text           []byte
	Elements       []Element
	NextLink       []byte   // a slice of Text; nil if absent
	NextLinkOffset int      // in Text
	OtherMembers   []Member // all except value and nextLink

	hidden int  // number of hidden Elements
	pooled bool // Text belongs to [buffers]
}

// Element is an element of value, by its offsets in the page's text. An
// element that is hidden from the caller is empty.
type Element struct{ begin, end, id, idEnd uint32 }

func (e Element) hidden() bool { return e.end == e.begin }

// Member is a member of the page's envelope.
type Member struct {
	Key   string
	Value []byte
}

// ID returns the element's id, "" if it has none.
func (p Page) ID(e Element) string {
	id, _ := jsontext.Text(p.Text[e.id:e.idEnd])
	return id
}

// TextOf returns the text of an element.
func (p Page) TextOf(e Element) []byte { return p.Text[e.begin:e.end] }

// Bounds of the data kept for one page besides its text.
const (
	maxElements     = 100_000
	typicalElement  = 1 << 10 // bytes
	maxOtherMembers = 64
)

var (
	errTooLong = errors.New("it is longer than 4 GiB")
	errTooMany = errors.New("it has more than 100000 elements")
)

// ErrNoValue is returned if a page has no elements, not even an empty array of them.
var ErrNoValue = errors.New("it has no member 'value' that is an array")

// ErrAmbiguous is returned if two JSON parsers could see different elements or links
// in a page.
var ErrAmbiguous = errors.New("it has the member 'value' or 'nextLink' twice or in another casing")

// ParsePage checks that text is a well-formed, unambiguous page and finds its
// elements, in one pass.
func ParsePage(text []byte) (Page, error) {
	return parsePage(text, make([]Element, 0, len(text)/typicalElement))
}

// parsePage is like ParsePage, with a slice for the elements.
func parsePage(text []byte, elements []Element) (Page, error) {
	page := Page{Text: text, Elements: elements}
	if len(text) > math.MaxUint32 {
		return page, errTooLong
	}
	var value []byte
	err := jsontext.Elements(text, "value", "id", func(m jsontext.Member) error {
		switch {
		case string(m.Key) == "value" && value == nil:
			value = m.Value
		case strings.EqualFold(string(m.Key), "value"):
			return ErrAmbiguous
		default:
			return page.addMember(m)
		}
		return nil
	}, func(e jsontext.Element) error {
		if len(page.Elements) == maxElements {
			return errTooMany
		}
		element := Element{begin: uint32(e.Offset), end: uint32(e.Offset + len(e.Text))} //nolint:gosec // within the text
		if len(e.Key) > 0 && e.Key[0] == '"' {
			element.id, element.idEnd = uint32(e.KeyAt), uint32(e.KeyAt+len(e.Key)) //nolint:gosec // within the text
		}
		page.Elements = append(page.Elements, element)
		return nil
	})
	if err == nil && (len(value) == 0 || value[0] != '[') {
		err = ErrNoValue
	}
	return page, err
}

// ParseLink checks that text is a well-formed JSON object and finds only its
// nextLink.
func ParseLink(text []byte) (Page, error) {
	page := Page{Text: text}
	err := jsontext.Object(text, page.addLink)
	return page, err
}

func (p *Page) addMember(m jsontext.Member) error {
	if key := string(m.Key); !strings.EqualFold(key, "nextLink") {
		if len(p.OtherMembers) < maxOtherMembers {
			p.OtherMembers = append(p.OtherMembers, Member{key, m.Value})
		}
		return nil
	}
	return p.addLink(m)
}

// addLink records the link and ignores every other member.
func (p *Page) addLink(m jsontext.Member) error {
	switch key := string(m.Key); {
	case key == "nextLink" && p.NextLink == nil:
		p.NextLink, p.NextLinkOffset = m.Value, m.Offset
	case strings.EqualFold(key, "nextLink"):
		return ErrAmbiguous
	}
	return nil
}

// WithNextLink returns the page's text with its nextLink replaced by link, a JSON
// value. A page without a nextLink is returned unchanged.
func (p Page) WithNextLink(link []byte) []byte {
	if p.NextLink == nil || bytes.Equal(p.NextLink, link) {
		return p.Text
	}
	text := make([]byte, 0, len(p.Text)+len(link))
	text = append(text, p.Text[:p.NextLinkOffset]...)
	text = append(text, link...)
	return append(text, p.Text[p.NextLinkOffset+len(p.NextLink):]...)
}

// HideForeign hides the elements with ids that do not name a resource of a
// list, as a [Lister] does for every caller, and returns how many are left.
func (p *Page) HideForeign(list *arm.Path) int {
	visibility{list: list}.hide(p)
	return len(p.Elements) - p.hidden
}

// Shown returns a message with the visible elements, and a link unless it is empty.
func (p Page) Shown(nextLink string) []byte {
	m := &MergedPage{NextLink: nextLink, buffers: &buffers{}}
	m.build([]Page{p})
	return bytes.Join(m.parts, nil)
}
