package gateway_test

import (
	"strings"
	"testing"
)

// The result of an action may be a page: its link leads to the front door, like
// that of any other page, wherever its provider goes on.
func TestResultsThatArePages(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	poll := scriptOperations + "o"
	p.say("POST "+item+"/listKeys"+api, 202, "", "Location", p.at+poll+api)
	p.ok(202, "POST", item+"/listKeys"+api, "")
	page := func(link string) string { return `{"value":[{"n":1}],"nextLink":` + link + `,"more":2}` }
	for link, want := range map[string]string{
		`"` + p.at + poll + `?$skipToken=a b"`:                       `"http://portico.example` + poll + `?$skipToken=a%20b"`,
		`"` + p.at + item + `/listKeys?%24skipToken=x"`:              `"http://portico.example` + item + `/listKeys?%24skipToken=x"`,
		`"http://portico.example` + item + `/listKeys?$skipToken=x"`: `"http://portico.example` + item + `/listKeys?$skipToken=x"`,
		`"` + scriptOperations + `next?t=1"`:                         `"http://portico.example` + scriptOperations + `next?t=1"`,
		`"?$skipToken=x"`:                                            `"http://portico.example` + poll + `?$skipToken=x"`,
		`null`:                                                       `null`,
		`""`:                                                         `null`,
		`"https://evil.example` + item + `/listKeys?$skipToken=x"`:    "",
		`"//evil.example` + item + `/listKeys?$skipToken=x"`:          "",
		`"https://portico.example` + item + `/listKeys?$skipToken=x"`: "",
		`"` + p.at + `/a/%2e%2e/b?$skipToken=x"`:                      "",
		`7`:                                                           "",
	} {
		p.say("GET "+poll+api, 200, page(link))
		if want == "" {
			if got := p.want(502, "InvalidProviderResponse", "GET", poll+api, ""); strings.Contains(got.text, "evil") {
				t.Errorf("%s", got.text)
			}
			continue
		}
		if got := p.ok(200, "GET", poll+api, ""); got.text != page(want) {
			t.Errorf("%s\nbecame %s", link, got.text)
		}
	}
	for _, text := range []string{`{"status":"Running"}`, `{"properties":{"nextLink":"https://other.example/"}}`, `no JSON`} {
		p.say("GET "+poll+api, 200, text)
		if got := p.ok(200, "GET", poll+api, ""); got.text != text {
			t.Errorf("%s became %s", text, got.text)
		}
	}
}

// A page that is put together has no entity tag of its own: what asks for one
// representation on condition, or for a part of it, is no region's affair.
func TestMergedPagesKnowNoConditions(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.machine("g", "a", "westus")
	s.machine("g", "b", "eastus")
	for _, e := range s.providers {
		e.requests()
	}
	got := s.ok(200, "GET", machines+api, "", "If-None-Match", "*", "If-Match", `"x"`, "If-Modified-Since", "Sat, 01 Jan 2050 00:00:00 GMT", "If-Unmodified-Since", "Sat, 01 Jan 2000 00:00:00 GMT",
		"If-Range", `"x"`, "Range", "bytes=0-1", "Accept-Language", "de")
	if strings.Count(got.text, `"name"`) != 2 || got.header.Get("X-Ms-Portico-Completed") != "true" {
		t.Errorf("%v %s", got.header, got.text)
	}
	for _, region := range []string{"westus", "eastus"} {
		requests := s.at(region).requests()
		if len(requests) != 1 || requests[0].Headers.Get("Accept-Language") != "de" {
			t.Fatalf("%s: %+v", region, requests)
		}
		for _, name := range []string{"If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range"} {
			if got := requests[0].Headers.Get(name); got != "" {
				t.Errorf("%s got %s: %s", region, name, got)
			}
		}
	}
	// Those of one region's list, and of a resource, pass.
	p := newScripted(t, setup{})
	item := p.item("i")
	for _, call := range []string{item + api, groupPath("g") + "/providers/Contoso.Script/items" + api} {
		p.say("GET "+call, 304, "", "ETag", `"x"`, "X-Ms-Portico-Completed", "true")
		if got := p.ok(304, "GET", call, "", "If-None-Match", `"x"`); got.header.Get("ETag") != `"x"` || got.header.Get("X-Ms-Portico-Completed") != "" {
			t.Errorf("%s: %v", call, got.header)
		}
	}
}
