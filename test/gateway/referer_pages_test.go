package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// literalPager lists five elements, one on a page, and makes its links as the
// contract writes them: the referer with a token behind it.
func literalPager(t *testing.T, name string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens := r.URL.Query()["$skipToken"]
		at := 0
		if len(tokens) > 1 {
			t.Errorf("%s was asked %s", name, r.RequestURI)
		}
		if len(tokens) > 0 {
			if _, err := fmt.Sscanf(tokens[0], "at%d", &at); err != nil {
				t.Errorf("%s was asked %s", name, r.RequestURI)
			}
		}
		next := ""
		if at < 4 {
			next = fmt.Sprintf(`,"nextLink":"%s&$skipToken=at%d"`, r.Header.Get("Referer"), at+1)
		}
		fmt.Fprintf(w, `{"value":[{"id":"/%[1]s/%[2]d","name":"%[1]s%[2]d"}]%[3]s}`, name, at, next)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestLinksOfLiteralProviders(t *testing.T) {
	west := literalPager(t, "w")
	s := newSite(t, setup{uncovered: true, types: `
regions: [{name: westus, displayName: West US}, {name: eastus, displayName: East US}]
providers:
  - namespace: Contoso.Script
    registration: automatic
    endpoints: {global: ["` + west + `"], westus: ["` + west + `"], eastus: ["` + literalPager(t, "e") + `"]}
    resourceTypes:
      - {name: items, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: plans, kind: proxyOnly, routing: global, apiVersions: ["2024-01-01"]}
`})
	list := inSubscription + "/providers/Contoso.Script/items" + api
	for _, target := range []string{list, list + "&$top=3", list + "&$filter=x%20eq%201"} {
		names := strings.Fields(strings.Join(s.walk(target), " "))
		slices.Sort(names)
		if got := strings.Join(names, " "); got != "e0 e1 e2 e3 e4 w0 w1 w2 w3 w4" {
			t.Errorf("%s: %s", target, got)
		}
	}
	// Of what one place serves the links are its own.
	const here = inSubscription + "/providers/Contoso.Script"
	for _, path := range []string{here + "/plans", here + "/plans/p/skus", here + "/locations/westus/usages", "/providers/Contoso.Script/operations"} {
		if got := strings.Join(s.walk(path+api), " "); got != "w0 w1 w2 w3 w4" {
			t.Errorf("%s: %s", path, got)
		}
	}
}
