package fanout

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portico/arm"
	"portico/regions"
	"portico/routing"
)

func keysOf(t testing.TB, names ...string) *Keys {
	t.Helper()
	var all []Key
	for _, name := range names {
		key := Key{ID: name}
		copy(key.Key[:], name)
		all = append(all, key)
	}
	keys, err := NewKeys(all...)
	must(t, err)
	return keys
}

// twoPages is a list of which the second page is to be asked for.
func twoPages(t testing.TB, o Options) (*listClient, *scriptedReader) {
	t.Helper()
	s := (&scriptedReader{}).respond("a", query, 200, `{"value":[1],"nextLink":"?t=2"}`).respond("a", "t=2", 200, `{"value":[2]}`).
		respond("b", query, 200, `{"value":[3],"nextLink":"?`+query+`&$skipToken=abc"}`).respond("b", query+"&$skipToken=abc", 200, `{"value":[4]}`).
		respond("b", "API-Version=%56&$skipToken=abc", 200, `{"value":[4]}`) // as the client spells it by then
	l := newList(t, s, o, "a", "b")
	l.mustNext()
	s.requested()
	return l, s
}

func TestTokenIsForItsListAlone(t *testing.T) {
	for name, change := range map[string]struct {
		from, to string
		good     bool
	}{
		"as it is":              {"", "", true},
		"lower case":            {"$skipToken", "$skiptoken", true},
		"upper case":            {"$skipToken", "$SKIPTOKEN", true},
		"encoded":               {"$skipToken", "%24skipToken", true},
		"encoded in lower case": {"$skipToken", "%24skiptoken", true},
		"another order":         {"?api-version=v&", "?$top=5&", true},
		"another casing":        {"/subscriptions/S/", "/SUBSCRIPTIONS/s/", true},
		"another spelling":      {"api-version=v", "API-Version=%56", true},
		"another subscription":  {"/subscriptions/S/", "/subscriptions/T/", false},
		"another group":         {"My%20(g)", "g", false},
		"another api-version":   {"api-version=v", "api-version=w", false},
		"a filter":              {"api-version=v", "api-version=v&$filter=x", false},
		"a parameter":           {"api-version=v", "api-version=v&x", false},
		"no api-version":        {"api-version=v&", "", false},
		"a byte more":           {"$skipToken=", "$skipToken=A", false},
		"padding":               {"", "=", false},
		"garbage":               {"$skipToken=", "$skipToken=xyz&a=", false},
	} {
		t.Run(name, func(t *testing.T) {
			l, s := twoPages(t, Options{})
			link := "https://public.example" + l.Path.Escaped() + "?" + l.Query.Raw
			if name == "another order" {
				link += "&api-version=v"
			}
			if change.from == "" {
				link += change.to
			} else {
				link = strings.Replace(link, change.from, change.to, 1)
			}
			l.open(link)
			text, _, fault := l.next()
			switch {
			case !change.good && (fault == nil || fault.Status != 400 || fault.Code != arm.InvalidSkipToken || s.requested() != ""):
				t.Errorf("got %s, %v", text, fault)
			case change.good && fault != nil:
				t.Errorf("got %v", fault)
			}
		})
	}
}

func TestChangedTokenIsRefused(t *testing.T) {
	l, s := twoPages(t, Options{})
	token, _ := l.Query.Get(skipToken)
	raw, err := base64.RawURLEncoding.DecodeString(token)
	must(t, err)
	wanted := func(token string) {
		t.Helper()
		l.Query = routing.Query{Raw: query + "&$skipToken=" + token}
		if fault := l.fault(); fault.Status != 400 || fault.Code != arm.InvalidSkipToken {
			t.Fatalf("got %+v", fault)
		}
	}
	for i := range 8 * len(raw) {
		flipped := bytes.Clone(raw)
		flipped[i/8] ^= 1 << (i % 8)
		wanted(base64.RawURLEncoding.EncodeToString(flipped))
	}
	for i := range len(token) {
		if i > 0 {
			wanted(token[:i])
		}
	}
	wanted(strings.Repeat("A", 1<<20))
	if requested := s.requested(); requested != "" {
		t.Errorf("asked %s", requested)
	}
}

func TestTokenLifetime(t *testing.T) {
	l, s := twoPages(t, Options{TokenLifetime: time.Nanosecond})
	if fault := l.fault(); fault.Status != 410 || fault.Code != arm.ExpiredSkipToken || s.requested() != "" {
		t.Errorf("got %+v", fault)
	}
}

func TestTokenOfARemovedRegionExpires(t *testing.T) {
	l, s := twoPages(t, Options{})
	there := l.Endpoint
	l.Endpoint = func(region string) *regions.Endpoint {
		if region == "b" {
			return nil
		}
		return there(region)
	}
	if fault := l.fault(); fault.Status != 410 || fault.Code != arm.ExpiredSkipToken || !strings.Contains(fault.Message, "'b'") || s.requested() != "" {
		t.Errorf("got %+v", fault)
	}
}

// Keys are changed under a list: the new one is known first, then seals, then is
// the only one.
func TestKeysRotate(t *testing.T) {
	s := &scriptedReader{}
	s.respond("a", query, 200, `{"value":[0],"nextLink":"?t=0"}`)
	for i := range 9 {
		s.respond("a", fmt.Sprintf("t=%d", i), 200, fmt.Sprintf(`{"value":[%d],"nextLink":"?t=%d"}`, i, i+1))
	}
	l := newList(t, s, Options{Keys: keysOf(t, "old")}, "a")
	l.mustNext()
	replica := func(names ...string) {
		o := l.options
		o.Keys = keysOf(t, names...)
		l.Lister = NewLister(o)
	}
	for _, ring := range [][]string{{"old", "new"}, {"new", "old"}, {"new"}} {
		replica(ring...)
		l.mustNext()
	}
	replica("old", "older")
	if fault := l.fault(); fault.Status != 400 || fault.Code != arm.InvalidSkipToken {
		t.Errorf("got %+v", fault)
	}
	// One id, two keys.
	k, err := NewKeys(Key{ID: "new"})
	must(t, err)
	l.Lister = NewLister(Options{Keys: k})
	if fault := l.fault(); fault.Status != 400 {
		t.Errorf("got %+v", fault)
	}
	if _, err := NewKeys(); err == nil {
		t.Error("no key")
	}
}

// A provider's query that only repeats the request's own costs little.
func TestTokenIsShort(t *testing.T) {
	q := routing.Query{Raw: "api-version=2024-01-01&$filter=" + url.QueryEscape(strings.Repeat("name eq 'x' or ", 60)) + "&$top=10"}
	own := ownQueryOf(q)
	w := &cursor{issued: time.Unix(1<<31, 0)}
	for i := range 32 {
		w.regions = append(w.regions, &regionCursor{name: fmt.Sprintf("region%d", i), state: inProgress, pagesRead: 1, query: q.Raw + "&%24skiptoken=" + fmt.Sprintf("%040x", i*i*i*7919)})
	}
	if token := NewRandomKeys().seal(w.encode(own), own.digest(arm.Path{}), ""); len(token) > 4<<10 {
		t.Errorf("%d bytes", len(token))
	}
}

func drawCursor(t *rapid.T) (*cursor, ownQuery) {
	part := rapid.SampledFrom([]string{"api-version=v", "$filter=a%20eq%20'b'", "%24filter=a+eq+'b'", "$top=3", "$skipToken=x%2f", "%24skiptoken=", "x", "x=1", "x=1", "", "é=ü", "a;b"})
	query := func(label string) string {
		return strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, label), "&")
	}
	own := ownQueryOf(routing.Query{Raw: query("own")})
	w := &cursor{
		issued: time.Unix(rapid.Int64Range(0, 1<<40).Draw(t, "issued"), 0), partial: rapid.Bool().Draw(t, "partial"),
		anyAnswered: rapid.Bool().Draw(t, "answered"), width: rapid.IntRange(0, 100).Draw(t, "width"),
	}
	for i := range rapid.IntRange(1, 40).Draw(t, "regions") {
		r := &regionCursor{name: fmt.Sprintf("r%d", i), state: rapid.SampledFrom([]regionState{notStarted, inProgress, givenUp}).Draw(t, "state")}
		if r.state == inProgress {
			r.pagesRead, r.emptyPages = rapid.IntRange(0, maxRegionPages).Draw(t, "pages"), rapid.IntRange(0, maxEmptyPages).Draw(t, "idle")
			r.queryHash, r.query = rapid.Uint64().Draw(t, "mark"), query("query")
		}
		w.regions = append(w.regions, r)
	}
	return w, own
}

// What a walk is written as says the same again, up to how the parameters are
// spelled that are the request's own.
func TestCursorSurvivesEncoding(t *testing.T) {
	keys := keysOf(t, "k")
	rapid.Check(t, func(t *rapid.T) {
		w, own := drawCursor(t)
		digest := own.digest(arm.Path{})
		text, ok := keys.open(keys.seal(w.encode(own), digest, ""), digest, "")
		if !ok {
			t.Fatal("a token does not open")
		}
		again, ok := decodeCursor(text, own)
		if !ok {
			t.Fatalf("%q does not decode", text)
		}
		same := func(a, b string) bool {
			as, bs := strings.Split(a, "&"), strings.Split(b, "&")
			for i := range as {
				x, y := parameterOf(as[i]), parameterOf(bs[i])
				if as[i] != bs[i] && (x.name != y.name || x.value != y.value) {
					return false
				}
			}
			return len(as) == len(bs)
		}
		for i, r := range again.regions {
			if !same(r.query, w.regions[i].query) {
				t.Fatalf("%q became %q", w.regions[i].query, r.query)
			}
			r.query = w.regions[i].query
		}
		if !reflect.DeepEqual(again, w) {
			t.Fatalf("%+v became %+v", w, again)
		}
	})
}

// Whatever stands in a token: it opens to a cursor, or it is refused.
func FuzzToken(f *testing.F) {
	keys := keysOf(f, "k")
	path, q := arm.Path{}, routing.Query{Raw: query}
	own := ownQueryOf(q)
	digest := own.digest(path)
	w := &cursor{issued: time.Unix(1, 0), width: 3, regions: []*regionCursor{
		{name: "a"}, {name: "b", state: givenUp}, {name: "c", state: inProgress, pagesRead: 2, query: query + "&$skipToken=xyz&t=2"},
	}}
	f.Add(w.encode(own), []byte(keys.seal(w.encode(own), digest, "")))
	f.Add([]byte{}, []byte("AQAA"))
	f.Add([]byte{1, 0, 0, 1, 1, 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 9}, []byte("$"))
	f.Fuzz(func(t *testing.T, text, token []byte) {
		if opened, ok := keys.open(string(token), digest, ""); ok {
			if _, ok := decodeCursor(opened, own); !ok {
				t.Fatalf("%q opens to %q", token, opened)
			}
		}
		w, ok := decodeCursor(text, own)
		if !ok {
			return
		}
		// What is the request's own takes on its spelling, once.
		once, ok := decodeCursor(w.encode(own), own)
		if !ok || len(once.regions) != len(w.regions) {
			t.Fatalf("%q is %+v, then %+v", text, w, once)
		}
		if twice, ok := decodeCursor(once.encode(own), own); !ok || !reflect.DeepEqual(once, twice) {
			t.Fatalf("%q is %+v, then %+v", text, once, twice)
		}
		opened, ok := keys.open(keys.seal(text, digest, ""), digest, "")
		if !ok || !bytes.Equal(opened, text) {
			t.Fatalf("%q became %q", text, opened)
		}
	})
}

// A token is its caller's alone, and what is not as it was sealed is not open.
func TestTokenIsForItsCallerAlone(t *testing.T) {
	keys, digest := keysOf(t, "k"), [32]byte{1}
	for _, n := range []int{0, 1, 100, compressFrom - 1, compressFrom, 5000, maxCursor} {
		cursor := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{}).Read(cursor) // never fails
		for _, cursor := range [][]byte{cursor, bytes.Repeat([]byte("a"), n)} {
			token := keys.seal(cursor, digest, "ann")
			if len(token) > 2*maxToken {
				continue
			}
			if got, ok := keys.open(token, digest, "ann"); !ok || !bytes.Equal(got, cursor) {
				t.Errorf("%d bytes: %v", n, ok)
			}
			for _, other := range []string{"bob", ""} {
				if _, ok := keys.open(token, digest, other); ok {
					t.Errorf("%d bytes are open to %q", n, other)
				}
			}
		}
	}
	for _, bad := range []string{"", "\x01", "\x01\x01", "\x01\x01\x05\x00\xfa\xff1234", "\x02x"} {
		if text, ok := decompress([]byte(bad)); ok {
			t.Errorf("%q is %q", bad, text)
		}
	}
}
