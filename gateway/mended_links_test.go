package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// oddPager lists five elements, one on a page, and makes its links by a function of the
// referer and the token of the next page. It takes nothing but such tokens.
func oddPager(t *testing.T, link func(referer, token string) string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := 0
		if token := r.URL.Query().Get("$skipToken"); token != "" {
			if _, err := fmt.Sscanf(token, "%d", &at); err != nil {
				t.Errorf("asked %s", r.RequestURI)
			}
		}
		next := ""
		if at < 4 {
			next = fmt.Sprintf(`,"nextLink":%q`, link(r.Header.Get("Referer"), fmt.Sprint(at+1)))
		}
		fmt.Fprintf(w, `{"value":[{"name":"%d"}]%s}`, at, next)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Links that no client could follow are mended: relayed lists are walked as merged ones.
func TestLinksThatAreMended(t *testing.T) {
	for name, link := range map[string]func(referer, token string) string{
		"without an api-version": func(referer, token string) string {
			path, _, _ := strings.Cut(referer, "?")
			return path + "?$skipToken=" + token
		},
		"a second question mark": func(referer, token string) string { return referer + "?$skipToken=" + token },
		"a stray percent sign":   func(referer, token string) string { return referer + "&$skipToken=" + token + "%" },
		"the api-version twice":  func(referer, token string) string { return referer + "&api-version=2024-01-01&$skipToken=" + token },
		"another api-version": func(referer, token string) string {
			return referer + "&$skipToken=" + token + "&API-version=2019-01-01"
		},
		"another api-version alone": func(referer, token string) string { return "?api-version=2019-01-01&$skipToken=" + token },
		"an empty api-version":      func(referer, token string) string { return "?api-version=&$skipToken=" + token },
		"semicolons":                func(referer, token string) string { return "?$skipToken=" + token + "&x=1;api-version=2" },
		"spaces, and a long context": func(referer, token string) string {
			return "?" + api[1:] + "&$skipToken=" + token + "&c=a b" + strings.Repeat("c", 9<<10)
		},
		"too long": func(referer, token string) string {
			return referer + "&$skipToken=" + token + strings.Repeat("0", 20<<10)
		},
	} {
		west, east := oddPager(t, link), oddPager(t, link)
		s := newSite(t, setup{uncovered: true, types: `
regions: [{name: westus, displayName: West US}, {name: eastus, displayName: East US}]
providers:
  - namespace: Contoso.Script
    registration: automatic
    endpoints: {global: ["` + west + `"], westus: ["` + west + `"], eastus: ["` + east + `"]}
    resourceTypes:
      - {name: items, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: plans, kind: proxyOnly, routing: global, apiVersions: ["2024-01-01"]}
`})
		const provider = inSubscription + "/providers/Contoso.Script/"
		for path, want := range map[string]string{"plans": "0 1 2 3 4", "items": "0 0 1 1 2 2 3 3 4 4", "locations/westus/usages": "0 1 2 3 4"} {
			target := provider + path + api
			if name == "too long" || name == "semicolons" && path != "items" {
				got := s.want(502, "InvalidProviderResponse", "GET", target, "")
				if long := strings.Contains(got.text, "its nextLink is too long: path and query of the client's next request may have 15360 bytes"); long != (name == "too long") {
					t.Errorf("%s: %s: %s", name, path, got.text)
				}
				continue
			}
			names := strings.Fields(strings.Join(s.walk(target), " "))
			slices.Sort(names)
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%s: %s: %s", name, path, got)
			}
		}
	}
}
