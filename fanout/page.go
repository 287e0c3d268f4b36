package fanout

import (
	"bytes"
	"errors"

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

// ParsePage checks that text is a well-formed page and finds its elements.
func ParsePage(text []byte) (Page, error) {
	page := Page{Text: text}
	var value []byte
	err := jsonscan.Object(text, func(m jsonscan.Member) error {
		switch string(m.Key) {
		case "value":
			value = m.Value
		case "nextLink":
			page.NextLink, page.NextAt = m.Value, m.Offset
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
