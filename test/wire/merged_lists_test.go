package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A collection whose resources lie in two regions: every page of every region, each
// element byte by byte, each resource once, or an error.
func testMergedLists(t *testing.T, w *world) {
	const q = "?" + V
	const list = "/providers/Contoso.Raw/pages"
	g := w.group(t, "merged")
	for _, region := range []string{"westus", "eastus"} {
		w.must(t, message{method: "PUT", target: g + list + "/in-" + region + q, body: located(region)}, 201)
	}
	x := startTrap(t)
	path := g + list
	const part = "/resourceGroups/merged" + list

	// pages scripts a region's answers by the requested $skipToken, the first under "".
	pages := func(region string, answers map[string]string) {
		w.scripted[region].on(part, func(r received) string {
			_, token, _ := strings.Cut(r.target, "$skipToken=")
			token, _, _ = strings.Cut(token, "&")
			if a, found := answers[token]; found {
				return a
			}
			return ok(400, `{"error":{"code":"UnknownToken","message":"m"}}`)
		})
	}
	item := func(id string, more ...string) string {
		return `{"id":"` + path + "/" + id + `","name":"` + id + `"` + strings.Join(more, "") + `}`
	}
	page := func(next string, items ...string) string {
		if next != "" {
			next = `,"nextLink":` + next
		}
		return ok(200, `{"value":[`+strings.Join(items, ",")+`]`+next+`}`)
	}
	ask := func(t *testing.T, query string) (reply, []received) {
		t.Helper()
		w.forget(t)
		got := w.send(t, message{target: path + q + query})
		return got, w.received(t)
	}
	names := func(t *testing.T, got reply) []string {
		t.Helper()
		var all []string
		for _, v := range readPage(t, got).Value {
			all = append(all, v.Name)
		}
		return all
	}
	count := func(all []string) map[string]int {
		n := map[string]int{}
		for _, name := range all {
			n[name]++
		}
		return n
	}
	// walk follows the gateway's own pages, if there are several, to their end.
	walk := func(t *testing.T, query string) []string {
		t.Helper()
		got, _ := ask(t, query)
		all := names(t, got)
		for n := 0; ; n++ {
			next := readPage(t, got).NextLink
			if next == nil {
				return all
			}
			rest, found := strings.CutPrefix(*next, publicURL+"/")
			if !found || n > 50 {
				t.Fatalf("after %d pages nextLink %s", n, *next)
			}
			got = w.send(t, message{target: "/" + rest})
			all = append(all, names(t, got)...)
		}
	}
	expect := func(t *testing.T, all []string, wanted ...string) {
		t.Helper()
		n := count(all)
		for _, name := range wanted {
			if n[name] != 1 {
				t.Errorf("%s came %d times: %q", name, n[name], all)
			}
		}
		if len(all) != len(wanted) {
			t.Errorf("%q, want %q", all, wanted)
		}
	}

	t.Run("both regions, once each", func(t *testing.T) {
		pages("westus", map[string]string{"": page("", item("w1"), item("w2"))})
		pages("eastus", map[string]string{"": page("", item("e1"))})
		got, reached := ask(t, "&$filter=a%20eq%20'b+c'")
		expect(t, names(t, got), "w1", "w2", "e1")
		seen := map[string]int{}
		for _, r := range reached {
			seen[r.region]++
			if r.method != "GET" || !strings.Contains(r.target, "$filter=a%20eq%20'b+c'") && !strings.Contains(r.target, "%24filter=") {
				t.Errorf("%s got %s %s", r.region, r.method, r.target)
			}
			if r.header.Get("x-ms-client-tenant-id") != tenant || !strings.HasPrefix(r.header.Get("Referer"), publicURL+"/") || r.header.Get("x-ms-correlation-request-id") == "" {
				t.Errorf("the call of %s lacks stamps:\n%s", r.region, r.head)
			}
		}
		if len(seen) != 2 || seen["raw westus"] != 1 || seen["raw eastus"] != 1 {
			t.Errorf("calls: %v", seen)
		}
	})
	t.Run("F10 bytes are unchanged", func(t *testing.T) {
		odd := item("w1", `,"n":12345678901234567890,"e":1e400,"f":1.10,"z":-0,"s":"<\u003C\/\ud83d\ude00é\u00e9","d":{"b":1,"a":2,"b":3},"sp" : [ 1,2 , {} ]`)
		pages("westus", map[string]string{"": page("", odd)})
		pages("eastus", map[string]string{"": page("", item("e1", `,"x":null`))})
		got, _ := ask(t, "")
		for _, element := range []string{odd, item("e1", `,"x":null`)} {
			if !bytes.Contains(got.body, []byte(element)) {
				t.Errorf("%s\nlacks %s", got.body, element)
			}
		}
		if !json.Valid(got.body) {
			t.Errorf("no JSON: %s", got.body)
		}
	})
	t.Run("F9 the same id twice", func(t *testing.T) {
		pages("westus", map[string]string{"": page("", item("same"), item("w1"))})
		pages("eastus", map[string]string{"": page("", `{"id":"`+strings.ToUpper(path)+`/SAME","name":"same"}`, item("e1"))})
		const strays = "portico_list_strays_total"
		before := w.metric(t, strays)
		expect(t, walk(t, ""), "same", "w1", "e1")
		if n := w.metric(t, strays) - before; n != 1 {
			t.Errorf("%v strays were counted, want 1", n)
		}
	})
	own := w.scripted["westus"].url
	t.Run("F2 next links on the provider's own host", func(t *testing.T) {
		next := func(token string) string { return quote(own + path + q + "&$skipToken=" + token) }
		pages("westus", map[string]string{"": page(next("2"), item("w1")), "2": page(next("3%2B%20")), "3%2B%20": page("", item("w3"))})
		pages("eastus", map[string]string{"": page("", item("e1"))})
		expect(t, walk(t, ""), "w1", "w3", "e1")
	})

	// fails requests a list that fails as a whole, because the region in the west fails.
	fails := func(t *testing.T, query string, west fault) {
		t.Helper()
		got, reached := ask(t, query)
		status, code := 503, "ServiceUnavailable"
		if west.Code == "Slow" {
			status, code = 429, "TooManyRequests"
		}
		requested := "2"
		if query != "" {
			requested = "1" // the other one has no second page
		}
		row{want: want{status: status, code: code, text: "The list could not be completed: 1 of " + requested + " regions of 'Contoso.Raw' did not answer as they should. Please see details."}}.failed(t, got)
		if got.status != status {
			t.Errorf("status %d, want %d: %s", got.status, status, got)
		}
		if f := got.failure(t).Error; len(f.Details) != 1 || f.Details[0].Code != west.Code || f.Details[0].Target != "westus" || west.Message != "" && f.Details[0].Message != west.Message || f.Details[0].Message == "" {
			t.Errorf("details %+v, want %+v of westus", f.Details, west)
		}
		if got.header.Get("x-ms-portico-completed") != "false" {
			t.Errorf("x-ms-portico-completed %q", got.header.Values("x-ms-portico-completed"))
		}
		if part := leaked(got.String()); part != "" || strings.Contains(string(got.body), `"e1"`) {
			t.Errorf("%q or an element reached the client: %s", part, got)
		}
		for _, r := range reached {
			if before, _, _ := strings.Cut(r.target, "?"); before != path {
				t.Errorf("%s was asked for %s", r.region, r.target)
			}
			if r.header.Get("Authorization") != "" {
				t.Errorf("a credential was sent to %s", r.region)
			}
		}
	}
	t.Run("F1 another port of loopback", func(t *testing.T) {
		pages("westus", map[string]string{"": page(quote("http://"+x.address+path+q+"&$skipToken=2"), item("w1")), "2": page("", item("w2"))})
		pages("eastus", map[string]string{"": page("", item("e1"))})
		fails(t, "", fault{Code: "InvalidProviderResponse"})
	})
	good := page("", item("e1"))
	for name, answer := range badPages(item("w1"), x) {
		t.Run("F8 one region: "+name, func(t *testing.T) {
			pages("westus", map[string]string{"": answer})
			pages("eastus", map[string]string{"": good})
			reported, plain := badPageFaults[name]
			if !plain {
				reported = fault{Code: "InvalidProviderResponse"}
			}
			fails(t, "", reported)
		})
	}
	t.Run("F8 the second page of one region", func(t *testing.T) {
		pages("westus", map[string]string{"": page(quote(own+path+q+"&$skipToken=2"), item("w1")), "2": ok(503, "{}")})
		pages("eastus", map[string]string{"": good})
		got, _ := ask(t, "")
		next := readPage(t, got).NextLink
		if next == nil || got.header.Get("x-ms-portico-completed") != "true" {
			t.Fatalf("no second page: %s", got)
		}
		fails(t, strings.TrimPrefix(*next, publicURL+path+q), fault{Code: "InvalidProviderResponse",
			Message: "The resource provider 'Contoso.Raw' returned an invalid response: status 503."})
	})

	t.Run("the reference provider in three regions", func(t *testing.T) {
		var wanted []string
		for i, region := range []string{"westus", "eastus", "northeurope", "westus", "eastus"} {
			name := fmt.Sprintf("merged%d", i)
			w.machine(t, g, name, region)
			wanted = append(wanted, name)
		}
		for _, top := range []string{"", "&$top=2", "&$top=3", "&$top=100"} {
			var all []string
			for target, pages := g+"/providers/Contoso.Compute/virtualMachines"+q+top, 0; target != "" && pages < 10; pages++ {
				got := w.send(t, message{target: target, header: []string{"x-contoso-page-size: 1"}})
				all = append(all, names(t, got)...)
				target = ""
				if next := readPage(t, got).NextLink; next != nil {
					target = strings.TrimPrefix(*next, publicURL)
				}
			}
			expect(t, all, wanted...)
		}
	})
}

// badPageFaults are the details of those bad pages whose error is more specific than an
// invalid response: the provider's own, or one without its words.
var badPageFaults = map[string]fault{
	"429":                     {Code: "Slow", Message: "m"},
	"hang up":                 {Code: "BadGatewayConnection", Message: "The network connectivity issue encountered for 'Contoso.Raw' in the location 'westus'; cannot fulfill the request."},
	"reset":                   {Code: "BadGatewayConnection", Message: "The network connectivity issue encountered for 'Contoso.Raw' in the location 'westus'; cannot fulfill the request."},
	"broken off in the array": {Code: "BadGatewayConnection", Message: "The network connectivity issue encountered for 'Contoso.Raw' in the location 'westus'; cannot fulfill the request."},
	"no gzip":                 {Code: "BadGatewayConnection"},
	"another encoding":        {Code: "BadGatewayConnection"},
	"over 8 MiB":              {Code: "ResponseTooLarge", Message: "The response of 'Contoso.Raw' exceeds the maximum size of a page and was dropped."},
}

// badPages are invalid pages that a provider may send, by what a client of HTTP makes of them.
// What their text may be wrong in is shown by package fanout.
func badPages(item string, x *trap) map[string]string {
	return map[string]string{
		"HTML": "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>", "hang up": hangUp, "reset": reset, "a redirect": ok(307, "", "Location: http://"+x.address+"/"), "over 8 MiB": ok(200, `{"value":[],"x":"`+strings.Repeat("x", 9<<20)+`"}`),
		"broken off in the array": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n{\"value\":[" + item + ",",
		"no gzip":                 ok(200, `{"value":[]}`, "Content-Encoding: gzip"), "another encoding": ok(200, `{"value":[]}`, "Content-Encoding: br"),
		"429": ok(429, `{"error":{"code":"Slow","message":"m"}}`, "Retry-After: 3600"),
	}
}
