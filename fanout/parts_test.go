package fanout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"portico/arm"
	"portico/regions"
	"portico/upstream"
)

// groups are parts of a list: g00, g01, … of which every third holds nothing. Hidden ones
// are not the caller's; one is a part of one resource.
type groups struct {
	t      *testing.T
	names  []string
	hidden []string
	one    string
	looked int // at names, for one page
}

func (g *groups) Next(ctx context.Context, after string) (*Part, string, error) {
	for _, name := range g.names {
		if name <= after || slices.Contains(g.hidden, name) {
			continue
		}
		if after, g.looked = name, g.looked+1; g.looked == 30 {
			return nil, after, nil
		}
		if strings.HasSuffix(name, "0") {
			continue
		}
		part, err := g.Named(ctx, name)
		part.Regions = []string{"east", "west"}
		return part, name, err
	}
	return nil, "", nil
}

func (g *groups) Named(_ context.Context, name string) (*Part, error) {
	if slices.Contains(g.hidden, name) {
		return nil, nil
	}
	p := &Part{Name: name, One: name == g.one}
	path := shownScope + "/resourceGroups/" + name + "/providers/N.S/things"
	if p.One {
		path += "/only"
	}
	return p, p.Path.Parse(path)
}

// partReader has two pages of each group in each region.
type partReader struct {
	mu    sync.Mutex
	calls []string
	down  string // a region that fails
}

func (r *partReader) Read(_ context.Context, call upstream.Call) (upstream.Answer, error) {
	r.mu.Lock()
	r.calls = append(r.calls, call.Endpoint.Region+" "+call.Path)
	r.mu.Unlock()
	referer := call.Header["Referer"]
	switch {
	case call.Endpoint.Region == r.down:
		return upstream.Answer{Status: http.StatusInternalServerError}, nil
	case len(referer) != 1 || !strings.HasPrefix(referer[0], "https://public.example"+call.Path+"?"):
		return upstream.Answer{}, fmt.Errorf("the referer of %s is %q", call.Path, referer)
	case strings.HasSuffix(call.Path, "/only"):
		if call.Endpoint.Region == "west" {
			return upstream.Answer{Status: 404, Body: []byte(`{"error":{"code":"ResourceNotFound","message":"m"}}`)}, nil
		}
		return upstream.Answer{Status: 200, Body: []byte(" {\"name\":\"only\",\"id\":\"" + call.Path + "\"}\n")}, nil
	}
	next, page := `,"nextLink":"https://public.example`+call.Path+`?api-version=v&page=2"`, "1"
	if strings.Contains(call.Query, "page=2") {
		next, page = "", "2"
	}
	return upstream.Answer{Status: 200, Body: []byte(`{"value":[{"id":"` + call.Path + "/" + call.Endpoint.Region + page + `"}]` + next + `}`)}, nil
}

func listOfParts(t *testing.T, r *partReader) (*listClient, *groups) {
	l := newList(t, r, Options{}, "east", "west")
	parts := &groups{t: t, one: "g03"}
	for i := range 70 {
		parts.names = append(parts.names, fmt.Sprintf("g%02d", i))
	}
	l.open("https://public.example" + shownScope + "/providers/N.S/things?" + query)
	l.Parts, l.Shows = parts, func(string) bool { return true }
	return l, parts
}

// walkParts walks a list and returns the ids in it.
func walkParts(t *testing.T, l *listClient, parts *groups, between func(page int)) (ids []string, last *MergedPage) {
	t.Helper()
	for n := 0; ; n++ {
		parts.looked = 0
		text, page := l.mustNext()
		var body struct{ Value []struct{ ID string } }
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			t.Fatal(text, err)
		}
		for _, e := range body.Value {
			ids = append(ids, e.ID[len(shownScope+"/resourceGroups/"):])
		}
		if between(n); page.NextLink == "" {
			return ids, page
		}
		if n > 400 {
			t.Fatal("the list does not end")
		}
	}
}

// A list of parts is complete, in the order of the parts, with and without a size of pages;
// a page asks for a bounded number of them, and looks at a bounded number.
func TestListOfParts(t *testing.T) {
	for _, top := range []string{"", "&$top=1", "&$top=3"} {
		r := &partReader{}
		l, parts := listOfParts(t, r)
		l.open("https://public.example" + shownScope + "/providers/N.S/things?" + query + top)
		ids, _ := walkParts(t, l, parts, func(int) {
			if len(r.calls) > maxParts || parts.looked > 30 {
				t.Errorf("%d calls for a page, %d parts were looked at", len(r.calls), parts.looked)
			}
			r.calls = nil
		})
		var want []string
		for _, name := range parts.names {
			switch {
			case name == parts.one:
				want = append(want, name+"/providers/N.S/things/only")
			case !strings.HasSuffix(name, "0"):
				for _, e := range []string{"east1", "east2", "west1", "west2"} {
					want = append(want, name+"/providers/N.S/things/"+e)
				}
			}
		}
		if top == "" { // regions side by side
			slices.Sort(ids)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%q: got %q, want %q", top, ids, want)
		}
	}
}

// Rights are those at each page: parts that are lost are asked for no more, and those that
// were won behind the present ones are.
func TestPartsFollowRights(t *testing.T) {
	r := &partReader{}
	l, parts := listOfParts(t, r)
	parts.names, parts.hidden = parts.names[1:20], []string{"g18"}
	ids, _ := walkParts(t, l, parts, func(page int) {
		if page == 0 {
			parts.hidden, r.calls = []string{"g02", "g19"}, nil
		}
	})
	requested := strings.Join(r.calls, " ")
	if strings.Contains(requested, "g02") || strings.Contains(requested, "g19") || !slices.Contains(ids, "g18/providers/N.S/things/west2") || slices.Contains(ids, "g02/providers/N.S/things/east2") {
		t.Errorf("got %q by %s", ids, requested)
	}
	if l.open("https://public.example" + shownScope + "/providers/N.S/things?" + query); true {
		_, page := l.mustNext()
		l.open(page.NextLink)
		l.Parts = nil
		if fault := l.fault(); fault.Code != arm.InvalidSkipToken {
			t.Errorf("got %v", fault)
		}
	}
}

// A region that fails for one part fails the list; given up, it is named once, and not asked
// again for further parts.
func TestRegionFailsForParts(t *testing.T) {
	r := &partReader{down: "east"}
	l, parts := listOfParts(t, r)
	if fault := l.fault(); fault.Status != 503 || len(fault.Details) != 1 || fault.Details[0].Target != "east" || !strings.Contains(fault.Message, "1 of 2 regions") {
		t.Errorf("got %v %v", fault, fault.Details)
	}
	l.ClientMode, parts.looked = regions.Partial, 0
	ids, last := walkParts(t, l, parts, func(page int) {
		if page > 0 && strings.Contains(strings.Join(r.calls, " "), "east") {
			t.Errorf("page %d asked %q", page, r.calls)
		}
		r.calls = nil
	})
	if len(ids) != 2*(70-7-1) || last.Complete || !slices.Equal(last.Unreachable, []string{"east"}) {
		t.Errorf("%d ids, %+v", len(ids), last)
	}
}

type noParts struct{ err error }

func (n noParts) Next(context.Context, string) (*Part, string, error) { return nil, "", n.err }
func (n noParts) Named(context.Context, string) (*Part, error)        { return nil, n.err }

func TestListWithoutParts(t *testing.T) {
	l, _ := listOfParts(t, &partReader{})
	l.Parts = noParts{}
	if text, page := l.mustNext(); text != `{"value":[]}` || !page.Complete {
		t.Errorf("got %s %+v", text, page)
	}
	failure := errors.New("the store")
	l.Parts = noParts{failure}
	if _, err := l.Page(t.Context(), l.Request); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}
