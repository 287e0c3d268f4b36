package gateway_test

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

// Merged lists carry the long skip tokens of their regions, one region after the other.
func TestLongSkipTokens(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	var want []string
	for _, region := range []string{"westus", "eastus"} {
		for i := range 3 {
			want = append(want, region+fmt.Sprint(i))
			s.machine("g", want[len(want)-1], region)
		}
		s.rule(region, "GET", "/virtualMachines", "long-next=9000", -1)
	}
	slices.Sort(want)
	small := []string{"x-contoso-page-size", "1"}
	target := machines + api
	var all []string
	for range 20 {
		page := decode[named](t, s.ok(200, "GET", target, "", small...))
		for _, v := range page.Value {
			all = append(all, v.Name)
		}
		if page.NextLink == "" {
			break
		}
		target = s.local(page.NextLink)
	}
	slices.Sort(all)
	if !slices.Equal(all, want) {
		t.Errorf("%s", all)
	}
	// What no request carries is no failure that passes.
	s.at("eastus").do("DELETE", "/contoso/faults", "", 204)
	s.rule("eastus", "GET", "/virtualMachines", "long-next=16000", -1)
	got := s.want(502, "InvalidProviderResponse", "GET", machines+api, "", small...)
	got.says(t, "The resource provider 'Contoso.Compute' returned an invalid response: in the region 'eastus' its nextLink is too long: path and query of the client's next request may have 15360 bytes.")
	if got := s.ok(200, "GET", machines+api, "", append(small, "x-ms-portico-on-region-failure", "partial")...); !strings.Contains(got.text, "westus0") {
		t.Errorf("%s", got.text)
	}
}
