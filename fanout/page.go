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
	Text     []byte
	Elements [][]byte // parts of Text
	NextLink []byte   // a part of Text, nil when absent
	NextAt   int      // where in Text it begins
}

var errNoValue = errors.New("it has no member 'value' that is an array")

// ErrAmbiguous tells that two readers of a page could see different elements or
// links in it.
var ErrAmbiguous = errors.New("it has the member 'value' or 'nextLink' twice or in another casing")

// ParsePage checks that text is a well-formed page and finds its elements. A
// page of which two readers could see different elements or links is refused.
func ParsePage(text []byte) (Page, error) {
	var value []byte
	page, err := scanPage(text, func(m jsonscan.Member) error {
		switch {
		case string(m.Key) == "value" && value == nil:
			value = m.Value
		case strings.EqualFold(string(m.Key), "value"):
			return ErrAmbiguous
		}
		return nil
	})
	if err != nil {
		return page, err
	}
	if len(value) == 0 || value[0] != '[' {
		return page, errNoValue
	}
	return page, jsonscan.Array(value, func(element []byte) error {
		page.Elements = append(page.Elements, element)
		return nil
	})
}

// ParseLink checks that text is a well-formed JSON object and finds the link in
// it, whatever else it holds. Its elements are not looked for.
func ParseLink(text []byte) (Page, error) {
	return scanPage(text, func(jsonscan.Member) error { return nil })
}

// scanPage finds the link, and hands every other member to visit.
func scanPage(text []byte, visit func(jsonscan.Member) error) (Page, error) {
	page := Page{Text: text}
	err := jsonscan.Object(text, func(m jsonscan.Member) error {
		switch key := string(m.Key); {
		case key == "nextLink" && page.NextLink == nil:
			page.NextLink, page.NextAt = m.Value, m.Offset
		case strings.EqualFold(key, "nextLink"):
			return ErrAmbiguous
		default:
			return visit(m)
		}
		return nil
	})
	return page, err
}

// WithNextLink returns the page's text with link, a JSON value, in place of its
// nextLink; nothing else changes. A page without one stays as it is.
func (p Page) WithNextLink(link []byte) []byte {
	if p.NextLink == nil || bytes.Equal(p.NextLink, link) {
		return p.Text
	}
	text := make([]byte, 0, len(p.Text)+len(link))
	text = append(text, p.Text[:p.NextAt]...)
	text = append(text, link...)
	return append(text, p.Text[p.NextAt+len(p.NextLink):]...)
}
