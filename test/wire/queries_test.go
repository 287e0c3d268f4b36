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
	var rows []row
	for _, where := range []struct{ name, path, supported string }{{"own route", g, ownVersions}, {"typed route", vm, typeVersions}} {
		invalid := want{status: 400, code: "InvalidApiVersionParameter", about: "api-version",
			like: "^(?s:The api-version '.*' is invalid\\. )" + quoteMeta("The supported versions are '"+where.supported+"'.") + "$"}
		for name, query := range map[string]string{
			"Q1 a semicolon":                      "api-version=2024-01-01;admin=1",
			"Q2 twice":                            "api-version=2024-01-01&api-version=2023-01-01",
			"Q2 twice the same":                   "api-version=2024-01-01&api-version=2024-01-01",
			"Q2 empty":                            "api-version=",
			"Q2 %zz":                              "api-version=%zz",
			"Q2 CRLF":                             "api-version=2024-01-01%0d%0aX-Evil:%201",
			"Q2 NUL":                              "api-version=2024-01-01%00",
			"Q2 invalid UTF-8":                    "api-version=2024-01-01%FF",
			"Q2 10 KiB of version":                "api-version=" + strings.Repeat("2", 10<<10),
			"Q2 an apostrophe and angle brackets": "api-version=%3Cscript%3E%27",
		} {
			rows = append(rows, row{where.name + " " + name, message{target: where.path + "?" + query}, invalid})
		}
		rows = append(rows, row{where.name + " Q2 a name without a value", message{target: where.path + "?api-version"}, invalidVersion("", where.supported)})
	}
	// The provider's parameters reach it unchanged, in their order and escaping.
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
	rows = append(rows,
		row{"Q1 a version behind another parameter's semicolon", message{target: vm + "?" + V + "&x=1;api-version=2023-01-01"}, invalidVersion("1;api-version=2023-01-01", typeVersions)},
		row{"Q1 any other semicolon is passed on", message{target: w.thing(t, g, "queries", "westus") + "?" + V + "&$expand=a(b;c)"}, want{status: 200, reaches: "raw westus"}},
		row{"the version's name in another casing", message{target: vm + "?API-VERSION=2024-01-01"}, want{status: 200, reaches: "westus"}},
		row{"Q2 twice, one in another casing", message{target: vm + "?api-version=2024-01-01&Api-Version=2023-01-01"}, invalidVersion("2024-01-01,2023-01-01", typeVersions)},
		row{"Q2 the same version twice", message{target: vm + "?" + V + "&" + V}, invalidVersion("2024-01-01,2024-01-01", typeVersions)},
		row{"%zz in another parameter", message{target: vm + "?" + V + "&x=%zz"}, want{status: 400, code: "InvalidQueryParameter", about: "x",
			text: "The query parameter 'x' is invalid: a percent sign begins two hexadecimal digits."}},
	)
	w.table(t, rows)

	t.Run("options given twice", func(t *testing.T) { optionsTwice(t, w, g, vm) })
	t.Run("Q3", func(t *testing.T) { skipTokenSpelling(t, w) })
}

// An option that is given twice is refused wherever the gateway reads options, and is the
// provider's affair elsewhere.
func optionsTwice(t *testing.T, w *world, g, vm string) {
	w.must(t, message{method: "PUT", target: g + "/providers/Contoso.Compute/virtualMachines/e?" + V, body: located("eastus")}, 201)
	empty := w.group(t, "queries-empty")
	var rows []row
	for name, path := range map[string]string{
		"subscriptions": "/subscriptions", "groups": S + "/resourceGroups", "resources": S + "/resources", "tag names": S + "/tagNames", "locks": g + "/providers/Microsoft.Authorization/locks",
		"a merged list": g + "/providers/Contoso.Compute/virtualMachines", "a merged list of nothing": empty + "/providers/Contoso.Raw/pages", "a group": g,
	} {
		for query, about := range map[string]string{
			"$skipToken=a&$skipToken=a":     "$skipToken",
			"$skiptoken=&%24skipToken=a":    "$skipToken",
			"$top=1&$TOP=1":                 "$TOP",
			"$top=1&$filter=&%24%66ilter=a": "$filter",
		} {
			rows = append(rows, row{name + " " + query, message{target: path + "?" + V + "&" + query}, want{status: 400, code: "InvalidQueryParameter", about: about,
				text: "The query parameter '" + about + "' is invalid: it is given more than once."}})
		}
	}
	rows = append(rows,
		row{"a resource", message{target: vm + "?" + V + "&$top=1&$top=2&$expand=a&$expand=b"}, want{status: 200, reaches: "westus"}},
		row{"a list of one region", message{target: vm + "/disks?" + V + "&$filter=a&$filter=b"}, want{status: 200, reaches: "westus"}},
	)
	w.table(t, rows)
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

// A skip token is read in any casing and escaping of its name, on every list of
// Portico's own.
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
