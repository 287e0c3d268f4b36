package fanout

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/upstream/answers"
)

// Part is a part of a list: a group's resources, or one resource.
type Part struct {
	Name string   // parts follow each other in the order of their names
	Path arm.Path // of the list at the group, or of the resource
	One  bool     // Path names a resource
	// Regions lists the regions that may hold elements of the part.
	Regions []string
}

// Parts are the parts of a list that the caller may read at least partly. A list of
// parts reveals nothing about other parts, not even by the number of its pages.
type Parts interface {
	// Next returns the first part after a name. If it found none, it returns
	// nil and the name that it has searched up to, "" at the end.
	Next(ctx context.Context, after string) (part *Part, reached string, err error)
	// Named returns the part with a name, without its regions; nil if the
	// caller may read nothing in it.
	Named(ctx context.Context, name string) (*Part, error)
}

// maxParts bounds the parts, by region, that one page reads.
const maxParts = 16

// resumeParts loads the parts of a cursor again, and drops parts without
// anything that the caller may still read.
func (w *cursor) resumeParts(ctx context.Context, parts Parts) error {
	var kept []*regionCursor
	for _, r := range w.regions {
		if r.state != givenUp {
			part, err := parts.Named(ctx, r.part)
			if err != nil {
				return err
			}
			if r.of = part; part == nil {
				continue
			}
		}
		kept = append(kept, r)
	}
	w.regions = kept
	return nil
}

// addParts adds the next parts to the cursor: as many as a page reads, and
// one more, so that the page knows whether another follows.
func (w *cursor) addParts(ctx context.Context, parts Parts) error {
	lost := w.unreachable()
	for w.more && len(w.remaining()) <= maxParts {
		part, reached, err := parts.Next(ctx, w.reached)
		if err != nil {
			return err
		}
		if w.more = reached != ""; !w.more {
			return nil
		}
		if w.reached = reached; part == nil {
			return nil
		}
		for _, region := range part.Regions {
			if !slices.Contains(lost, region) {
				w.regions = append(w.regions, &regionCursor{name: region, part: part.Name, of: part})
			}
		}
	}
	return nil
}

// dropLost ends all parts of the regions that were given up, and keeps one entry for
// each such region.
func (w *cursor) dropLost() {
	seen := map[string]bool{}
	lost := w.unreachable()
	for _, r := range w.regions {
		if !slices.Contains(lost, r.name) {
			continue
		}
		if r.state != givenUp || seen[r.name] {
			r.state = exhausted
		}
		seen[r.name] = seen[r.name] || r.state == givenUp
	}
}

// atPart returns the collection of a part.
func (c Collection) atPart(part *Part) Collection {
	c.Path, c.singleResource, c.sole = part.Path, part.One, false
	if part.One {
		c.Query = withoutTop(c.Query)
	}
	c.Header = maps.Clone(c.Header)
	c.Header["Referer"] = []string{answers.Referer(c.Public, c.Path.Escaped(), c.Query)}
	return c
}

// singlePage returns a page with one resource, from the resource's own representation.
func singlePage(text []byte) (Page, error) {
	page := Page{Text: text}
	begin := len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
	e := Element{begin: uint32(begin), end: uint32(len(bytes.TrimRight(text, " \t\r\n")))} //nolint:gosec // a bounded answer
	err := jsontext.Object(text, func(m jsontext.Member) error {
		if string(m.Key) == "id" && len(m.Value) > 0 && m.Value[0] == '"' && e.idEnd == 0 {
			e.id, e.idEnd = uint32(m.Offset), uint32(m.Offset+len(m.Value)) //nolint:gosec // within the text
		}
		return nil
	})
	page.Elements = []Element{e}
	return page, err
}
