package api

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/url"
	"strings"
)

// Pages returns an iterator over the elements of a list, as received. It reads a page once
// the elements of the previous one are used up, and ends after an error.
func (c *Client) Pages(ctx context.Context, path string, query url.Values) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for {
			page, err := Get[notedPage](ctx, c, path, query)
			if err != nil {
				yield(nil, err)
				return
			}
			if page.Note != "" && c.OnNote != nil {
				c.OnNote(page.Note)
			}
			for _, element := range page.Value {
				if !yield(element, nil) {
					return
				}
			}
			if page.NextLink == "" {
				return
			}
			next, err := ownLink(path, query, page.NextLink)
			if err != nil {
				yield(nil, err)
				return
			}
			query = next
		}
	}
}

// notedPage is a page of any list.
type notedPage struct {
	Page[json.RawMessage]
	Note string `json:"note"`
}

// ownLink returns the query of the link to the next page of a list. It refuses links to
// another path or host and to the same page.
func ownLink(path string, query url.Values, link string) (next url.Values, err error) {
	to, err := url.Parse(link)
	if err == nil {
		next, err = url.ParseQuery(to.RawQuery)
	}
	if err != nil || to.IsAbs() || to.Host != "" || !strings.EqualFold(to.Path, path) || next.Encode() == query.Encode() {
		return nil, fmt.Errorf("the admin listener returned an invalid link to the next page of %s", path)
	}
	return next, nil
}

// ReadList reads at most so many elements of a list, or all if most is 0. It reports whether
// there are more.
func ReadList[T any](ctx context.Context, c *Client, path string, query url.Values, most int) (all []T, more bool, err error) {
	return ReadElements[T](c.Pages(ctx, path, query), path, most)
}

// ReadElements is like [ReadList] for elements that [Client.Pages] read from a path.
func ReadElements[T any](elements iter.Seq2[json.RawMessage, error], path string, most int) (all []T, more bool, err error) {
	for text, err := range elements {
		if err != nil {
			return all, false, err
		}
		if most > 0 && len(all) == most {
			return all, true, nil
		}
		var element T
		if err := json.Unmarshal(text, &element); err != nil {
			return all, false, fmt.Errorf("cannot parse an element of %s: %w", path, err)
		}
		all = append(all, element)
	}
	return all, false, nil
}
