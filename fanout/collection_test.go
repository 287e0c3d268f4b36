package fanout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"portico/arm"
	"portico/upstream"
)

func collectionOf(t *testing.T, s Reader) Collection {
	l := newList(t, s, Options{}, "west")
	return Collection{Reader: s, Endpoint: l.Endpoints[0], Namespace: "N.S", Public: l.options.Public, Path: l.Path, Query: query}
}

// each reads a collection whole, pages in brackets.
func readAllPages(c Collection) (string, error) {
	var b strings.Builder
	err := c.Each(context.Background(), func(page Page) error {
		b.WriteByte('[')
		for _, e := range page.Elements {
			b.Write(page.Text[e.begin:e.end])
			b.WriteString(page.ID(e))
		}
		b.WriteByte(']')
		return nil
	})
	return b.String(), err
}

func TestEachVisitsEveryPage(t *testing.T) {
	s := (&scriptedReader{}).
		respond("west", query, 200, `{"value":[{"id":"\/a"}],"nextLink":"?t=2"}`).
		respond("west", "t=2", 200, `{"value":[],"nextLink":"?t=3"}`).
		respond("west", "t=3", 200, `{"value":[7],"nextLink":null}`)
	if got, err := readAllPages(collectionOf(t, s)); got != `[{"id":"\/a"}/a][][7]` || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	s.respond("west", query, 404, `{"error":{"code":"SubscriptionNotFound","message":"m"}}`)
	if got, err := readAllPages(collectionOf(t, s)); got != "[]" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	stop := errors.New("stop")
	if err := collectionOf(t, s).Each(context.Background(), func(Page) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// A list is whole or an error.
func TestEachReturnsTheProvidersFault(t *testing.T) {
	for name, second := range map[string]func(*scriptedReader){
		"status": func(s *scriptedReader) { s.respond("west", "t=2", 500, "") },
		"404 later": func(s *scriptedReader) {
			s.respond("west", "t=2", 404, `{"error":{"code":"ResourceGroupNotFound","message":"gone"}}`)
		},
		"fault":   func(s *scriptedReader) { s.fails("west", "t=2", &upstream.Fault{Err: errors.New("refused")}) },
		"no page": func(s *scriptedReader) { s.respond("west", "t=2", 200, `{"value":{}}`) },
		"foreign link": func(s *scriptedReader) {
			s.respond("west", "t=2", 200, `{"value":[],"nextLink":"https://evil.example?t=3"}`)
		},
		"itself":    func(s *scriptedReader) { s.respond("west", "t=2", 200, `{"value":[2],"nextLink":"?t=2"}`) },
		"the first": func(s *scriptedReader) { s.respond("west", "t=2", 200, `{"value":[2],"nextLink":"?`+query+`"}`) },
		"round": func(s *scriptedReader) {
			s.respond("west", "t=2", 200, `{"value":[2],"nextLink":"?t=3"}`)
			s.respond("west", "t=3", 200, `{"value":[2],"nextLink":"?t=4"}`)
			s.respond("west", "t=4", 200, `{"value":[2],"nextLink":"?t=2"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := (&scriptedReader{}).respond("west", query, 200, `{"value":[1],"nextLink":"?t=2"}`)
			second(s)
			_, err := readAllPages(collectionOf(t, s))
			var fault *arm.Error
			if !errors.As(err, &fault) || strings.Contains(fault.Message, "evil") {
				t.Errorf("got %v", err)
			}
			if calls := strings.Count(s.requested(), "?"); calls > 12 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// endless leads from each page to another one that was never seen before.
type endlessReader struct {
	calls int
	full  bool
}

func (e *endlessReader) Read(context.Context, upstream.Call) (upstream.Answer, error) {
	e.calls++
	element := ""
	if e.full {
		element = fmt.Sprint(e.calls)
	}
	return upstream.Answer{Status: 200, Body: fmt.Appendf(nil, `{"value":[%s],"nextLink":"?t=%d"}`, element, e.calls)}, nil
}

func TestPagesThatNeverEnd(t *testing.T) {
	for _, c := range []struct {
		full bool
		most int
	}{{false, maxEmptyPages + 1}, {true, maxRegionPages + 1}} {
		e := &endlessReader{full: c.full}
		if _, err := readAllPages(collectionOf(t, e)); err == nil || !strings.Contains(err.Error(), "never end") || e.calls != c.most {
			t.Errorf("%+v: %d calls, %v", c, e.calls, err)
		}
	}
	// Page by page, a client comes to the end of it too.
	e := &endlessReader{}
	l := newList(t, e, Options{}, "west")
	for pages := 1; ; pages++ {
		text, _, fault := l.next()
		if fault != nil {
			if fault.Status != 503 || !strings.Contains(fault.Details[0].Message, "never end") || pages > maxEmptyPages/maxEmptyPagesPerBuild+1 {
				t.Errorf("after %d pages %+v", pages, fault)
			}
			return
		}
		if !strings.HasPrefix(text, `{"value":[],"nextLink"`) || pages > maxEmptyPages {
			t.Fatalf("page %d: %s", pages, text)
		}
	}
}

// A circle of any length is noticed before it was walked three times.
func TestCircularPagesFail(t *testing.T) {
	for lead := range 20 {
		for length := 1; length < 40; length++ {
			r, turns := regionCursor{}, 0
			for ; turns < 4*(lead+length)+4; turns++ {
				n := turns
				if n >= lead {
					n = lead + (n-lead)%length
				}
				if !r.advance(fmt.Sprintf("t=%d", n), false) {
					break
				}
			}
			if turns < length || turns > 3*(lead+length)+3 {
				t.Fatalf("a circle of %d after %d was noticed after %d", length, lead, turns)
			}
		}
	}
	var r regionCursor
	for n := range maxRegionPages {
		if !r.advance(fmt.Sprintf("t=%d", n), n%2 == 0) {
			t.Fatalf("page %d was taken for seen", n)
		}
	}
}
