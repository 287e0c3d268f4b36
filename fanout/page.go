package fanout

import (
	"bytes"
	"errors"
	"strings"

	"portico/jsonscan"
)

// Page is a provider's page, held whole: the text as it came, and where in it
// the members lie that the front door cares about.
type Page struct {
	Text           []byte
	Elements       []Element
	NextLink       []byte   // a part of Text, nil when absent
	NextLinkOffset int      // where in Text it begins
	OtherMembers   []Member // beside value and nextLink
}

// Element is an element of value, by where it lies in the page's text.
type Element struct{ begin, end, id, idEnd int }

// Member is a member of the page's envelope.
type Member struct {
	Key   string
	Value []byte
}

// ID returns what the element's id says, "" where it has none.
func (p Page) ID(e Element) string {
	id, _ := jsonscan.Text(p.Text[e.id:e.idEnd])
	return id
}

// Bounds of one page: what is kept of it beside its text stays small.
const (
	maxElements     = 100_000
	typicalElement  = 1 << 10 // bytes
	maxOtherMembers = 64
)

var (
	errNoValue = errors.New("it has no member 'value' that is an array")
	errTooMany = errors.New("it has more than 100000 elements")
)

// ErrAmbiguous tells that two readers of a page could see different elements or
// links in it.
var ErrAmbiguous = errors.New("it has the member 'value' or 'nextLink' twice or in another casing")

// ParsePage checks that text is a well-formed page and finds its elements, in
// one pass. A page of which two readers could see different elements or links
// is refused.
func ParsePage(text []byte) (Page, error) {
	page := Page{Text: text, Elements: make([]Element, 0, len(text)/typicalElement)}
	var value []byte
	err := jsonscan.Elements(text, "value", "id", func(m jsonscan.Member) error {
		switch {
		case string(m.Key) == "value" && value == nil:
			value = m.Value
		case strings.EqualFold(string(m.Key), "value"):
			return ErrAmbiguous
		default:
			return page.addMember(m)
		}
		return nil
	}, func(e jsonscan.Element) error {
		if len(page.Elements) == maxElements {
			return errTooMany
		}
		element := Element{begin: e.Offset, end: e.Offset + len(e.Text)}
		if len(e.Key) > 0 && e.Key[0] == '"' {
			element.id, element.idEnd = e.KeyAt, e.KeyAt+len(e.Key)
		}
		page.Elements = append(page.Elements, element)
		return nil
	})
	if err == nil && (len(value) == 0 || value[0] != '[') {
		err = errNoValue
	}
	return page, err
}

// ParseLink checks that text is a well-formed JSON object and finds the link in
// it, whatever else it holds. Its elements are not looked for.
func ParseLink(text []byte) (Page, error) {
	page := Page{Text: text}
	err := jsonscan.Object(text, page.addLink)
	return page, err
}

func (p *Page) addMember(m jsonscan.Member) error {
	if key := string(m.Key); !strings.EqualFold(key, "nextLink") {
		if len(p.OtherMembers) < maxOtherMembers {
			p.OtherMembers = append(p.OtherMembers, Member{key, m.Value})
		}
		return nil
	}
	return p.addLink(m)
}

// link notes the link, and passes over every other member.
func (p *Page) addLink(m jsonscan.Member) error {
	switch key := string(m.Key); {
	case key == "nextLink" && p.NextLink == nil:
		p.NextLink, p.NextLinkOffset = m.Value, m.Offset
	case strings.EqualFold(key, "nextLink"):
		return ErrAmbiguous
	}
	return nil
}

// WithNextLink returns the page's text with link, a JSON value, in place of its
// nextLink; nothing else changes. A page without one stays as it is.
func (p Page) WithNextLink(link []byte) []byte {
	if p.NextLink == nil || bytes.Equal(p.NextLink, link) {
		return p.Text
	}
	text := make([]byte, 0, len(p.Text)+len(link))
	text = append(text, p.Text[:p.NextLinkOffset]...)
	text = append(text, link...)
	return append(text, p.Text[p.NextLinkOffset+len(p.NextLink):]...)
}
