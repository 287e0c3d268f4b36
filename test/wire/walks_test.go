package wire

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// pagesOfRegions is a list over two scripted regions, without a group in its path: any
// gateway before them can answer its further pages.
const pagesOfRegions = S + "/providers/Contoso.Raw/pages"

// holdPages puts elements of both regions into the index.
func (w *world) holdPages(t *testing.T, group string) {
	t.Helper()
	g := w.group(t, group)
	for _, region := range []string{"westus", "eastus"} {
		w.must(t, message{method: "PUT", target: g + "/providers/Contoso.Raw/pages/" + group + region + "?" + V, body: located(region)}, 201)
	}
}

// pages scripts a region's answers by the requested $skipToken, the first under "".
func (w *world) pages(region string, answers map[string]string) {
	w.scripted[region].on(pagesOfRegions, func(r received) string {
		_, token, _ := strings.Cut(r.target, "$skipToken=")
		token, _, _ = strings.Cut(token, "&")
		if a, found := answers[token]; found {
			return a
		}
		return ok(400, `{"error":{"code":"UnknownToken","message":"m"}}`)
	})
}

// pageText is a page whose link has that token.
func pageText(token string, elements ...string) string {
	link := ""
	if token != "" {
		link = `,"nextLink":` + quote(publicURL+pagesOfRegions+"?"+V+"&$skipToken="+token)
	}
	return ok(200, `{"value":[`+strings.Join(elements, ",")+`]`+link+`}`)
}

// nextOf is the path and query of a page's nextLink.
func nextOf(t *testing.T, got reply) string {
	t.Helper()
	var page struct{ NextLink string }
	err := json.Unmarshal(got.body, &page)
	target, found := strings.CutPrefix(page.NextLink, publicURL)
	if err != nil || got.status != 200 || !found {
		t.Fatalf("no next page on the public host (%v): %s", err, got)
	}
	return target
}

// F3, F5, F6, F7: a walk over several pages continues for its caller, at any gateway;
// for no one and nothing else.
func testWalks(t *testing.T, w *world) {
	w.holdPages(t, "walks")
	const first = pagesOfRegions + "?" + V
	w.pages("westus", map[string]string{"": pageText("2", `"w1"`), "2": pageText("3", `"w2"`), "3": pageText("", `"w3"`)})
	w.pages("eastus", map[string]string{"": pageText("", `"e1"`)})
	second := nextOf(t, w.must(t, message{target: first}, 200))
	if !strings.HasPrefix(second, first+"&$skipToken=") {
		t.Fatalf("the next page is %s", second)
	}
	const otherKey = "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXphYmNkZWY="
	with := func(lists string) gateway {
		return w.start(t, "", func(c string) string {
			return strings.Replace(c, "lists: {tokenKeys: [{id: one, key: "+tokenKey+"}]}", "lists: {"+lists+"}", 1)
		})
	}
	replica := with("tokenKeys: [{id: two, key: " + otherKey + "}, {id: one, key: " + tokenKey + "}]")
	body := func(t *testing.T, got reply, want string) {
		t.Helper()
		if got.status != 200 || !strings.HasPrefix(string(got.body), want) {
			t.Errorf("want %s: %s", want, got)
		}
	}
	t.Run("another gateway goes on, by a new key", func(t *testing.T) {
		got := replica.send(t, message{target: second})
		body(t, got, `{"value":["w2"],"nextLink":`)
		third := nextOf(t, got)
		body(t, replica.send(t, message{target: third}), `{"value":["w3"]}`)
		wantRefused(t, w, w.gateway, third, 400, "InvalidSkipToken") // it does not know the new key yet
	})
	t.Run("F7 garbage", func(t *testing.T) {
		wantRefused(t, w, w.gateway, first+"&$skipToken=garbage", 400, "InvalidSkipToken")
	})
	t.Run("F5 a filter", func(t *testing.T) {
		wantRefused(t, w, w.gateway, strings.Replace(second, "$skipToken", "$filter=a&$skipToken", 1), 400, "InvalidSkipToken")
	})
	t.Run("F5 a retired key", func(t *testing.T) {
		wantRefused(t, w, with("tokenKeys: [{id: two, key: "+otherKey+"}]"), second, 400, "InvalidSkipToken")
	})
	t.Run("F6 a region that left the map", func(t *testing.T) {
		w.pages("eastus", map[string]string{"": pageText("2", `"e1"`), "2": pageText("", `"e2"`)})
		defer w.pages("eastus", map[string]string{"": pageText("", `"e1"`)})
		target := nextOf(t, w.must(t, message{target: first}, 200))
		moved := w.start(t, "", func(c string) string {
			c = strings.Replace(c, "  - {name: eastus, displayName: East US, pairedRegion: westus}\n", "", 1)
			c = strings.Replace(c, ", pairedRegion: eastus", "", 1)
			return regexp.MustCompile(`eastus: \["[^"]*"\], `).ReplaceAllString(c, "")
		})
		wantRefused(t, w, moved, target, 410, "ExpiredSkipToken")
		body(t, w.send(t, message{target: target}), `{"value":["e2","w2"],"nextLink":`)
	})
	t.Run("F3 the same token for ever", func(t *testing.T) {
		w.pages("westus", map[string]string{"": pageText("2", `"w1"`), "2": pageText("2", `"w1"`)})
		w.endsWithAnError(t, first, 3)
	})
}

// wantRefused sends a request that must be refused before any provider is called.
func wantRefused(t *testing.T, w *world, g gateway, target string, status int, code string) {
	t.Helper()
	w.forget(t)
	got := g.send(t, message{target: target})
	ownAnswer(t, got)
	if f := got.failure(t).Error; got.status != status || f.Code != code || f.Target == "" {
		t.Errorf("%.200s\nwant %d %s: %s", target, status, code, got)
	}
	for _, r := range w.received(t) {
		t.Errorf("%s was asked for %s", r.region, r.target)
	}
}

// endsWithAnError walks a list that must fail within that many pages.
func (w *world) endsWithAnError(t *testing.T, target string, most int) {
	t.Helper()
	for n := 1; ; n++ {
		got := w.send(t, message{target: target})
		if got.status != 200 {
			if f := got.failure(t).Error; got.status != 503 || f.Code != "ServiceUnavailable" || !strings.Contains(string(got.body), "never end") {
				t.Errorf("after %d pages: %s", n, got)
			}
			return
		}
		if n > most {
			t.Fatalf("%d pages, and no end", n)
		}
		target = nextOf(t, got)
	}
}
