package fanout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"portico/arm"
	"portico/regions"
)

// shownList is what the lists of these tests are of; mine and theirs are groups of which
// the caller may read the first, with all of its resources.
const (
	shownScope = "/subscriptions/00000000-0000-0000-0000-000000000001"
	mine       = shownScope + "/resourceGroups/mine"
	theirs     = shownScope + "/resourceGroups/theirs"
)

func readsMine(id string) bool {
	folded := arm.Fold(id)
	return folded == arm.Fold(mine) || strings.HasPrefix(folded, arm.Fold(mine)+"/")
}

// showTo returns what of a page of a list is shown to a caller.
func showTo(t *testing.T, path string, shows func(string) bool, text string) string {
	t.Helper()
	s := (&scriptedReader{}).respond("east", query, 200, text)
	l := newList(t, s, Options{}, "east")
	l.open("https://public.example" + path + "?" + query)
	l.Shows = shows
	shown, _ := l.mustNext()
	return shown
}

func TestOnlyElementsThatMayBeReadAreShown(t *testing.T) {
	const things = "/providers/N.S/things"
	element := func(id string) string { return fmt.Sprintf(`{"name":"x","id":%q}`, id) }
	for _, c := range []struct {
		path, element string
		shown, toAll  bool // to who may read a part, and all
	}{
		{shownScope + things, element(mine + things + "/a"), true, true},
		{shownScope + things, element(strings.ToUpper(mine+things) + "/É"), true, true},
		{shownScope + things, element(strings.ToLower(mine+things) + "/a b"), true, true},
		{shownScope + things, `{"id":"` + strings.ReplaceAll(mine+things, "/", `\/`) + `/\u00e9"}`, true, true},
		{mine + things, element(mine + things + "/a#1"), true, true},
		{mine + things + "/a/parts", element(mine + things + "/a/parts/p"), true, true},
		{shownScope + "/providers/N.S/marks", element(mine + things + "/a/providers/N.S/marks/m"), true, true},

		{shownScope + things, element(theirs + things + "/a"), false, true},
		{shownScope + things, element(mine + "s" + things + "/a"), false, true},
		{shownScope + things, `{"name":"x"}`, false, true},
		{shownScope + things, `{"id":null}`, false, true},
		{shownScope + things, `{"id":7}`, false, true},
		{shownScope + things, `{"id":""}`, false, true},
		{shownScope + things, `7`, false, true},
		{shownScope + things, `"` + mine + things + `/a"`, false, true},
		{shownScope + things, `["id"]`, false, true},
		// Not one clear id.
		{shownScope + things, `{"id":"` + mine + things + `/a","id":"` + mine + things + `/a"}`, false, true},
		{shownScope + things, `{"id":"` + mine + things + `/a","ID":"` + theirs + things + `/a"}`, false, true},
		{shownScope + things, `{"Id":"` + mine + things + `/a"}`, false, true},
		{shownScope + things, `{"\u0069d":"` + mine + things + `/a"}`, false, true},
		{shownScope + things, `{"id":"` + mine + things + `/a","i\u0064":"` + theirs + things + `/a"}`, false, true},
		// Not one clear resource.
		{shownScope + things, element(mine + "/" + things + "/a"), false, true},
		{shownScope + things, element("/" + mine + things + "/a"), false, true},
		{shownScope + things, element(mine + things + "/a/"), false, true},
		{shownScope + things, element(mine + "/../theirs" + things + "/a"), false, false},
		{shownScope + things, element(mine + "/./" + things + "/a"), false, false},
		{shownScope + things, element(mine + things + "/.."), false, false},
		{shownScope + things, element(mine + things + "/a%2e"), false, true},
		{shownScope + things, element(mine + things + "/a."), false, true},
		{shownScope + things, element(mine + things + "/a?b"), false, true},
		{shownScope + things, element(mine + things + "/a\\b"), false, false},
		{shownScope + things, element("https://public.example" + mine + things + "/a"), false, false},
		{shownScope + things, element(mine[1:] + things + "/a"), false, true},
		// Not of the list.
		{shownScope + things, element(mine), false, false},
		{shownScope + things, element(mine + things), false, false},
		{shownScope + things, element(mine + "/providers/N.S/others/a"), false, false},
		{shownScope + things, element(mine + "/providers/N.T/things/a"), false, false},
		{shownScope + things, element(mine + things + "/a/parts/p"), false, false},
		{theirs + things, element(mine + things + "/a"), false, false},
		{shownScope[:len(shownScope)-1] + "2" + things, element(mine + things + "/a"), false, false},
		{mine + things + "/a/parts", element(mine + things + "/b/parts/p"), false, false},
		{mine + things + "/a/parts", element(mine + things + "/a/others/p"), false, false},
	} {
		want := `{"value":[]}`
		if c.shown {
			want = `{"value":[` + c.element + `]}`
		}
		// Its neighbours, and what the page says of all elements, are hidden.
		elements := `"value":[` + element(theirs+things+"/y") + " , " + c.element + ` ,{"secret":1}]`
		if got := showTo(t, c.path, readsMine, `{"count":3,`+elements+`}`); got != want {
			t.Errorf("%s: %s: got %s", c.path, c.element, got)
		}
		if want = `{"value":[{"secret":1}]}`; c.toAll {
			want = `{"value":[` + c.element + ` ,{"secret":1}],"count":2}`
		}
		if got := showTo(t, c.path, nil, `{"count":2,"value":[`+c.element+` ,{"secret":1}]}`); got != want {
			t.Errorf("%s: %s: who may read all is shown %s", c.path, c.element, got)
		}
	}
}

// idSpellings are ways to write an id of group g; the first ones are plain.
var idSpellings = []func(id string) string{
	func(id string) string { return id },
	strings.ToUpper,
	strings.ToLower,
	func(id string) string { return strings.Replace(id, "/providers", "//providers", 1) },
	func(id string) string { return strings.Replace(id, "/providers", "/../theirs/providers", 1) },
	func(id string) string { return id + "/" },
	func(id string) string { return strings.Replace(id, "mine", "m%69ne", 1) },
}

// Of random pages in several regions exactly that is shown, over all pages of the list,
// which a decoder finds readable.
func TestShownElementsAreThoseOfAModel(t *testing.T) {
	plain := regexp.MustCompile(`(?i)^/subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/([a-z]+)/providers/n\.s/things/[a-z0-9]+$`)
	rapid.Check(t, func(r *rapid.T) {
		s := &scriptedReader{}
		granted := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"mine", "other", "third"}), rapid.ID[string]).Draw(r, "granted")
		var want []string
		seen := map[string]bool{}
		names := []string{"east", "north", "west"}
		number := 0
		for _, region := range names {
			ask := query
			for page := range rapid.IntRange(1, 3).Draw(r, "pages") {
				var elements []string
				for range rapid.IntRange(0, 5).Draw(r, "elements") {
					number++
					group := rapid.SampledFrom([]string{"mine", "other", "third", "theirs"}).Draw(r, "group")
					spelling := rapid.IntRange(0, len(idSpellings)-1).Draw(r, "spelling")
					id := idSpellings[spelling](fmt.Sprintf("%s/resourceGroups/%s/providers/N.S/things/t%d", shownScope, group, number))
					key := rapid.SampledFrom([]string{"id", "id", "id", "Id", `i\u0064`}).Draw(r, "key")
					element := fmt.Sprintf(`{"n":%d,"%s":"%s"}`, number, key, id)
					elements = append(elements, element)
					if m := plain.FindStringSubmatch(id); m != nil && key == "id" && slices.Contains(granted, strings.ToLower(m[1])) && !seen[strings.ToLower(id)] {
						seen[strings.ToLower(id)] = true
						want = append(want, element)
					}
				}
				next := ""
				if page < 2 && rapid.Bool().Draw(r, "more") {
					next = fmt.Sprintf(`,"nextLink":"?p=%d"`, page+1)
				}
				s.respond(region, ask, 200, `{"value":[`+strings.Join(elements, ",")+`]`+next+`}`)
				if ask = fmt.Sprintf("p=%d", page+1); next == "" {
					break
				}
				s.respond(region, ask, 200, `{"value":[]}`)
			}
		}
		l := newList(t, s, Options{}, names...)
		l.open("https://public.example" + shownScope + "/providers/N.S/things?" + query)
		l.Shows = func(id string) bool {
			for _, group := range granted {
				if strings.HasPrefix(strings.ToLower(id), strings.ToLower(shownScope+"/resourceGroups/"+group+"/")) {
					return true
				}
			}
			return false
		}
		var got []string
		for pages := 0; ; pages++ {
			text, page := l.mustNext()
			var body struct{ Value []json.RawMessage }
			if err := json.Unmarshal([]byte(text), &body); err != nil || pages > 10 {
				r.Fatal(text, err)
			}
			if len(body.Value) != page.Count {
				r.Fatalf("%d elements, not %d", len(body.Value), page.Count)
			}
			for _, e := range body.Value {
				got = append(got, string(e))
			}
			if page.NextLink == "" {
				break
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Fatalf("got %q, want %q", got, want)
		}
	})
}

// FuzzShown looks for a page of which a decoder reads something that it should not.
func FuzzShown(f *testing.F) {
	const things = "/providers/N.S/things/"
	for _, seed := range []string{
		`{"value":[{"id":"` + mine + things + `a"},{"id":"` + theirs + things + `b"}]}`,
		`{"value":[{"id":"` + mine + things + `a","Id":"` + theirs + things + `b"}],"count":2}`,
		`{"value":[{"i\u0064":"` + mine + things + `a","x":{"id":1}},{"id":"` + mine + `/..` + things + `b"}] , "nextLink":null}`,
		`{"value":[{"id":"` + mine + `/providers/N.S/others/1/resourceGroups/theirs` + things + `b"},{"id":"` + mine + `/x/..` + things + `b"}]}`,
		`{"value":[{"id":"` + mine + `/providers/N?S/others/1` + things + `b"},{"id":"` + mine + `/providers/N.S/oth?ers/1` + things + `b"}]}`,
		`{"value":[{"id":"\/subscriptions` + mine[len("/subscriptions"):] + things + `\u0061"},{},[],"x",1]}`,
	} {
		f.Add([]byte(seed))
	}
	// Of the list's type, at the group or at a resource in it.
	exact := regexp.MustCompile(`^(?i:/subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/mine/([^\\%?]+/)?providers/n\.s/things/)[^/\\%?]+$`)
	dots := regexp.MustCompile(`/\.\.?(/|$)`)
	f.Fuzz(func(t *testing.T, text []byte) {
		page, err := ParsePage(text)
		if err != nil {
			return
		}
		var list arm.Path
		must(t, list.Parse(shownScope+"/providers/N.S/things"))
		visibility{readsMine, &list}.hide(&page)
		m := &MergedPage{buffers: &buffers{}}
		m.build([]Page{page})
		var out bytes.Buffer
		if _, err := m.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		var body map[string]json.RawMessage
		var elements []map[string]json.RawMessage
		if err := json.Unmarshal(out.Bytes(), &body); err != nil || len(body) != 1 {
			t.Fatal(out.String(), err)
		}
		if err := json.Unmarshal(body["value"], &elements); err != nil || len(elements) != m.Count {
			t.Fatal(out.String(), err)
		}
		for _, e := range elements {
			ids := 0
			for name, value := range e {
				if !strings.EqualFold(name, "id") {
					continue
				}
				var id string
				if ids++; json.Unmarshal(value, &id) != nil || !exact.MatchString(id) || strings.Contains(id, "//") || dots.MatchString(id) {
					t.Errorf("%s is shown of %s", value, text)
				}
			}
			if ids != 1 {
				t.Errorf("%d ids in %s", ids, out.String())
			}
		}
	})
}

// An endpoint that serves a list alone is asked as for a caller who may read all of it:
// its errors are the list's, and links of either kind go on.
func TestSoleEndpoint(t *testing.T) {
	element := func(group, name string) string {
		return `{"id":"` + shownScope + "/resourceGroups/" + group + "/providers/N.S/things/" + name + `"}`
	}
	s := (&scriptedReader{}).
		respond("east", query, 200, `{"value":[`+element("mine", "a")+`,`+element("theirs", "b")+`],"nextLink":"?`+query+`&$skipToken=b"}`).
		respond("east", query+"&$skipToken=b", 200, `{"value":[`+element("theirs", "c")+`],"nextLink":"?`+query+`&$skipToken=c"}`).
		respond("east", query+"&$skipToken=c", 200, `{"value":[`+element("mine", "d")+`]}`)
	l := newList(t, s, Options{}, "east")
	link := "https://public.example" + shownScope + "/providers/N.S/things?" + query
	l.Shows, l.Sole = readsMine, true
	for _, from := range []string{link, link + "&$skipToken=b"} {
		l.open(from)
		want := []string{`{"value":[]`, `{"value":[` + element("mine", "d") + `]}`}
		if from == link {
			want = append([]string{`{"value":[` + element("mine", "a") + `]`}, want...)
		}
		for _, begin := range want {
			text, page := l.mustNext()
			if !strings.HasPrefix(text, begin) || strings.Contains(text, "theirs") || strings.Contains(page.NextLink, "oken=c") || strings.Contains(page.NextLink, "oken=b") {
				t.Errorf("got %s, want %s", text, begin)
			}
		}
	}
	for _, c := range []struct {
		status int
		body   string
		want   int
		code   arm.Code
	}{
		{404, `{"error":{"code":"ParentResourceNotFound","message":"m"}}`, 404, "ParentResourceNotFound"},
		{403, `{"error":{"code":"Denied","message":"m"}}`, 403, "Denied"},
		{429, `{"error":{"code":"Slow","message":"m"}}`, 429, "Slow"},
		{500, `<html>`, 500, arm.InvalidProviderResponse},
		{204, ``, 502, arm.InvalidProviderResponse},
	} {
		s.requested()
		l.ClientMode = regions.Partial
		l.open(link)
		s.respond("east", query, c.status, c.body)
		if fault := l.fault(); fault.Status != c.want || fault.Code != c.code || fault.Details != nil {
			t.Errorf("%d: got %d %s %v", c.status, fault.Status, fault.Code, fault.Details)
		}
		if requested := s.requested(); requested != "east?"+query {
			t.Errorf("%d: asked %s", c.status, requested)
		}
	}
}

// A page of hidden elements ends the page, and endless ones end as those that are shown.
func TestHiddenPagesEnd(t *testing.T) {
	hidden := `{"value":[{"id":"` + theirs + `/providers/N.S/things/b"}],"nextLink":"?p=%d"}`
	s := &scriptedReader{}
	s.respond("east", query, 200, fmt.Sprintf(hidden, 1)).respond("east", "p=1", 200, fmt.Sprintf(hidden, 2)).respond("east", "p=2", 200, fmt.Sprintf(hidden, 1))
	l := newList(t, s, Options{}, "east", "west")
	s.respond("west", query, 200, `{"value":[]}`)
	l.open("https://public.example" + shownScope + "/providers/N.S/things?" + query)
	l.Shows = readsMine
	for range 10 {
		text, page, fault := l.next()
		if fault != nil {
			if !strings.Contains(fault.Details[0].Message, "never end") {
				t.Errorf("got %+v", fault.Details)
			}
			return
		}
		if page.Count != 0 || page.NextLink == "" || strings.Contains(text, "theirs") {
			t.Fatalf("got %s", text)
		}
		if requested := s.requested(); strings.Count(requested, "east") != 1 {
			t.Errorf("asked %s", requested)
		}
	}
	t.Error("the list does not end")
}

// To decide what is shown allocates nothing for an element.
func TestHidingAllocatesNothing(t *testing.T) {
	var text strings.Builder
	text.WriteString(`{"value":[`)
	for i := range 1000 {
		group := "theirs"
		if i%10 == 0 {
			group = "mine"
		}
		fmt.Fprintf(&text, `{"id":"%s/resourceGroups/%s/providers/N.S/things/t%d","properties":{"a":[1,2]}},`, shownScope, group, i)
	}
	text.WriteString(`{}]}`)
	page, err := ParsePage([]byte(text.String()))
	must(t, err)
	var list arm.Path
	must(t, list.Parse(shownScope+"/providers/N.S/things"))
	elements := slices.Clone(page.Elements)
	some := func(id string) bool { return len(id) > len(mine) && strings.EqualFold(id[:len(mine)+1], mine+"/") }
	for want, v := range map[int]visibility{100: {some, &list}, 1001: {nil, &list}} {
		if n := testing.AllocsPerRun(100, func() {
			copy(page.Elements, elements)
			page.hidden = 0
			v.hide(&page)
		}); n > 2 || len(page.Elements)-page.hidden != want {
			t.Errorf("%v allocations, %d of %d elements hidden", n, page.hidden, len(page.Elements))
		}
	}
}
