package fanout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"portico/upstream"
)

// elementsOf is a page of so many elements of a name.
func elementsOf(name string, n int) string {
	elements := make([]string, n)
	for i := range elements {
		elements[i] = fmt.Sprintf(`{"id":"/%s/%d","properties":{"text":"%s"}}`, name, i, strings.Repeat(name, 20))
	}
	return `{"value":[` + strings.Join(elements, ",") + `]}`
}

// staticReader answers every call with the page of its region, and notes nothing.
type staticReader map[string]string

func (s staticReader) Read(ctx context.Context, call upstream.Call) (upstream.Answer, error) {
	text := s[call.Endpoint.Region]
	if err := call.Reserve(ctx, int64(len(text))); err != nil {
		return upstream.Answer{}, err
	}
	body := call.Buffer(int64(len(text)))
	copy(body, text)
	return upstream.Answer{Status: http.StatusOK, Header: http.Header{}, Body: body}, nil
}

// A region costs a list few allocations, and none that grows with its page.
func TestAllocationsOfARegion(t *testing.T) {
	allocations := func(regions, elements int) float64 {
		reader := staticReader{}
		var names []string
		for i := range regions {
			name := fmt.Sprintf("r%02d", i)
			names = append(names, name)
			reader[name] = elementsOf(name, elements)
		}
		l := newList(t, reader, Options{}, names...)
		return testing.AllocsPerRun(10, func() {
			l.ReceivedAt = time.Now()
			page, err := l.Page(t.Context(), l.Request)
			must(t, err)
			if _, err := page.WriteTo(io.Discard); err != nil || page.Count != regions*elements {
				t.Fatal(page.Count, err)
			}
			page.Release()
		})
	}
	one, nine, long := allocations(1, 300), allocations(9, 300), allocations(9, 3_000)
	t.Logf("%v allocations for one region, %v for nine, %v with longer pages", one, nine, long)
	const most = 24
	if perRegion := (nine - one) / 8; perRegion > most {
		t.Errorf("%v allocations for a region, want at most %d", perRegion, most)
	}
	if long > nine+mostForLongPages {
		t.Errorf("%v allocations for long pages, %v for short ones", long, nine)
	}
}

// keptPart fails, and remembers what it was given: as an HTTP/2 stream that was reset
// goes on reading.
type keptPart struct{ part []byte }

func (k *keptPart) Write(p []byte) (int, error) {
	if len(p) < textStep {
		return len(p), nil
	}
	k.part = p
	return 0, errors.New("the stream was reset")
}

// What a client gets that goes away is never another's list.
func TestMemoryThatIsReadIsNotGivenAway(t *testing.T) {
	reader := staticReader{"a": elementsOf("first", 1_000)}
	l := newList(t, reader, Options{}, "a")
	page, err := l.Page(t.Context(), l.Request)
	must(t, err)
	var kept keptPart
	if _, err := page.WriteTo(&kept); err == nil {
		t.Fatal("the writer has not failed")
	}
	before := string(kept.part)
	page.Release()
	reader["a"] = elementsOf("other", 1_000)
	for range 20 {
		if text, _ := l.mustNext(); !strings.Contains(text, "other") {
			t.Fatalf("%.100s", text)
		}
	}
	if string(kept.part) != before {
		t.Errorf("a list was written where another is still read: %.200s", kept.part)
	}
}
