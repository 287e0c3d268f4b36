package fanout

import (
	"testing"

	"portico/routing"
)

func TestPositionIsValidForItsListOnly(t *testing.T) {
	at := func(path, query string) Request {
		r := Request{Query: routing.Query{Raw: query}}
		must(t, r.Path.Parse(path))
		return r
	}
	old, next := NewLister(Options{Keys: keysOf(t, "a")}), NewLister(Options{Keys: keysOf(t, "b", "a")})
	token := old.SealPosition(at("/groups", "api-version=1&$top=1"), "behind this")
	for _, c := range []struct{ path, query, place string }{
		{"/GROUPS", "$skipToken=" + token + "&API-VERSION=1", "behind this"},
		{"/groups", "api-version=1&%24skiptoken=" + token + "&$top=9", "behind this"},
		{"/groups", "api-version=2&$skipToken=" + token, ""},
		{"/groups", "api-version=1&$filter=x&$skipToken=" + token, ""},
		{"/group", "api-version=1&$skipToken=" + token, ""},
		{"/groups", "api-version=1&$skipToken=" + token[1:], ""},
		{"/groups", "api-version=1&$skipToken=" + old.options.Keys.seal([]byte("x"), ownQueryOf(routing.Query{Raw: "api-version=1"}).digest(at("/groups", "").Path), ""), ""},
		{"/groups", "api-version=1&$skipToken=" + old.SealPosition(at("/groups", "api-version=1"), ""), ""},
	} {
		place, ok := next.OpenPosition(at(c.path, c.query))
		if place != c.place || ok != (c.place != "") {
			t.Errorf("%s?%s: %q %v", c.path, c.query, place, ok)
		}
	}
	if place, ok := next.OpenPosition(at("/groups", "api-version=1&$skipToken=")); place != "" || !ok {
		t.Errorf("without a token: %q %v", place, ok)
	}
}
