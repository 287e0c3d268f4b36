package wire

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func testQueries(t *testing.T, w *world) {
	g := w.group(t, "queries")
	vm := w.machine(t, g, "n", "westus")
	invalid := want{status: 400, code: "InvalidApiVersionParameter"}
	var rows []row
	for _, where := range []struct{ name, path string }{{"own route", g}, {"typed route", vm}} {
		for name, query := range map[string]string{
			"Q1 a semicolon":                      "api-version=2024-01-01;admin=1",
			"Q1 a semicolon, escaped":             "api-version=2024-01-01%3Badmin=1",
			"Q2 twice":                            "api-version=2024-01-01&api-version=2023-01-01",
			"Q2 twice the same":                   "api-version=2024-01-01&api-version=2024-01-01",
			"Q2 twice, one escaped":               "api-version=2024-01-01&api%2Dversion=2023-01-01",
			"Q2 twice, the first escaped":         "%61pi-version=2023-01-01&api-version=2024-01-01",
			"Q2 twice, one empty":                 "api-version=&api-version=2024-01-01",
			"Q2 twice, one without a value":       "api-version&api-version=2024-01-01",
			"Q2 twice, the second malformed":      "api-version=2024-01-01&x=1&api-version=x",
			"Q2 empty":                            "api-version=",
			"Q2 empty, with others":               "x=1&api-version=&y=2",
			"Q2 %zz":                              "api-version=%zz",
			"Q2 %zz after a version":              "api-version=2024-01-01%zz",
			"Q2 a percent sign alone":             "api-version=2024-01-01%",
			"Q2 a space":                          "api-version=2024-01-01+",
			"Q2 CRLF":                             "api-version=2024-01-01%0d%0aX-Evil:%201",
			"Q2 NUL":                              "api-version=2024-01-01%00",
			"Q2 a second version in one":          "api-version=2024-01-01,2023-01-01",
			"Q2 a question mark within":           "api-version=2024-01-01?api-version=2023-01-01",
			"Q2 full-width digits":                "api-version=" + url.QueryEscape("２０２４-01-01"),
			"Q2 invalid UTF-8":                    "api-version=2024-01-01%FF",
			"Q2 quoted":                           "api-version='2024-01-01'",
			"Q2 10 KiB of version":                "api-version=" + strings.Repeat("2", 10<<10),
			"Q2 an apostrophe and angle brackets": "api-version=%3Cscript%3E%27",
		} {
			rows = append(rows, row{where.name + " " + name, message{target: where.path + "?" + query}, invalid})
		}
		for name, query := range map[string]string{
			"a name without a value": "api-version",
		} {
			rows = append(rows, row{where.name + " Q2 " + name, message{target: where.path + "?" + query},
				want{status: 400, code: "InvalidApiVersionParameter", codes: []string{"MissingApiVersionParameter"}}})
		}
	}
	// What is the provider's reaches it untouched, in its order and escaping.
	for name, query := range map[string]string{
		"order and repetition": "b=2&a=1&b=3&" + V,
		"escapes":              V + "&x=%2f%2F%20+%C3%A9&%24y=%5B%5D",
		"empty parts":          "&&" + V + "&=&a=&b",
		"an unknown $ option":  V + "&$expand=a(b)&$select=*",
		"a long value":         V + "&x=" + strings.Repeat("y", 4000),
		"paths in it":          V + "&x=../..//subscriptions/..%2f",
		"a second ?":           V + "&x=a?b?c",
		"reserved-looking":     V + "&x-ms-client-tenant-id=evil&referer=http://evil.example/",
	} {
		rows = append(rows, row{"passed on unchanged: " + name, message{target: vm + "?" + query}, want{status: 200, reaches: "westus"}})
	}
	rows = append(rows, row{"Q1 a semicolon in another parameter is refused or passed on", message{target: vm + "?" + V + "&x=1;api-version=2023-01-01"},
		want{status: 200, oneOf: []int{400}, either: true, check: func(t *testing.T, got reply, reached []received) {
			if (got.status == 200) != (len(reached) == 1) || len(reached) == 1 && !strings.HasSuffix(reached[0].target, "&x=1;api-version=2023-01-01") {
				t.Errorf("answer %d, provider %v", got.status, reached)
			}
		}}})
	w.table(t, rows)

	t.Run("the version's name in another casing has one reading", func(t *testing.T) {
		w.forget(t)
		single := w.send(t, message{target: vm + "?API-VERSION=2024-01-01"})
		doubled := w.send(t, message{target: vm + "?api-version=2024-01-01&Api-Version=2023-01-01"})
		switch single.status {
		case 200: // the name matches without case, so the second form says two things
			if doubled.status != 400 {
				t.Errorf("API-VERSION is read, but a second one in another casing is not refused: %s", doubled)
			}
		case 400: // the name is what the contract spells
			if code := single.failure(t).Error.Code; code != "MissingApiVersionParameter" {
				t.Errorf("error.code %q, want MissingApiVersionParameter", code)
			}
			if doubled.status != 200 {
				t.Errorf("a parameter that is none of ours is not passed on: %s", doubled)
			}
		default:
			t.Errorf("API-VERSION: %s", single)
		}
	})
	t.Run("Q3", func(t *testing.T) { skipTokenSpelling(t, w) })
	t.Run("the next page keeps the public address", func(t *testing.T) { pageAddress(t, w) })
}

type page struct {
	Value []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"value"`
	NextLink *string `json:"nextLink"`
}

func readPage(t *testing.T, got reply) page {
	t.Helper()
	var p page
	if err := json.Unmarshal(got.body, &p); err != nil || got.status != 200 || p.Value == nil {
		t.Fatalf("no page (%v): %s", err, got)
	}
	return p
}

// A skip token is read whatever the casing and escaping of its name, on every
// list of Portico's own.
func skipTokenSpelling(t *testing.T, w *world) {
	for i := range 4 {
		w.group(t, "queries-q3-"+string(rune('a'+i)))
	}
	g := w.group(t, "queries-q3")
	w.machine(t, g, "m1", "westus")
	w.machine(t, g, "m2", "eastus")
	w.machine(t, g, "m3", "eastus")
	for name, path := range map[string]string{"groups": S + "/resourceGroups", "resources": S + "/resources", "a group's resources": g + "/resources"} {
		t.Run(name, func(t *testing.T) {
			first := readPage(t, w.must(t, message{target: path + "?" + V + "&$top=1"}, 200))
			if len(first.Value) != 1 || first.NextLink == nil {
				t.Fatalf("want a page of one and a next link: %+v", first)
			}
			next, err := url.Parse(*first.NextLink)
			if err != nil {
				t.Fatal(err)
			}
			token := ""
			for key, values := range next.Query() {
				if strings.EqualFold(key, "$skiptoken") {
					token = values[0]
				}
			}
			if token == "" {
				t.Fatalf("no skip token in %s", *first.NextLink)
			}
			second := ""
			for _, spelling := range []string{"$skipToken", "$skiptoken", "$SkipToken", "$SKIPTOKEN", "%24skipToken", "%24skiptoken", "%24%73kipToken"} {
				p := readPage(t, w.send(t, message{target: path + "?" + V + "&$top=1&" + spelling + "=" + url.QueryEscape(token)}))
				if len(p.Value) != 1 || p.Value[0].ID == first.Value[0].ID || second != "" && p.Value[0].ID != second {
					t.Errorf("%s: %+v, after %+v (other spellings: %s)", spelling, p.Value, first.Value, second)
				}
				if len(p.Value) == 1 {
					second = p.Value[0].ID
				}
			}
			for _, spelling := range []string{"$TOP", "%24top", "$Top"} {
				if p := readPage(t, w.send(t, message{target: path + "?" + V + "&" + spelling + "=1"})); len(p.Value) != 1 {
					t.Errorf("%s=1: %d items", spelling, len(p.Value))
				}
			}
		})
	}
}

// A next link is absolute and on the public host, whatever Host the request
// named, and leads on to the end.
func pageAddress(t *testing.T, w *world) {
	seen := map[string]bool{}
	target := S + "/resourceGroups?" + V + "&$top=2"
	for pages := 0; ; pages++ {
		if pages > 1000 {
			t.Fatal("the list has no end")
		}
		p := readPage(t, w.must(t, message{target: target}, 200))
		for _, v := range p.Value {
			if seen[v.ID] {
				t.Errorf("%s twice", v.ID)
			}
			seen[v.ID] = true
		}
		if p.NextLink == nil {
			break
		}
		rest, ok := strings.CutPrefix(*p.NextLink, publicURL+"/")
		if !ok {
			t.Fatalf("nextLink %s is not on %s", *p.NextLink, publicURL)
		}
		target = "/" + rest
	}
	if !seen[S+"/resourceGroups/queries"] {
		t.Error("the walk missed a group")
	}
}
