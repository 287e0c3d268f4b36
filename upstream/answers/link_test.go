package answers

import (
	"net/url"
	"testing"

	"portico/regions"
)

func parseURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// westus is the endpoint of a provider.
func westus(t testing.TB) *regions.Endpoint {
	return &regions.Endpoint{Region: "westus", URLs: []*url.URL{parseURL(t, "http://127.0.0.1:7")}}
}

func TestPublicLink(t *testing.T) {
	public := parseURL(t, "https://public.example:8443")
	if got := PublicLink(public, "/a%20b", "x=1&$skipToken=a%3D"); got != "https://public.example:8443/a%20b?x=1&$skipToken=a%3D" {
		t.Error(got)
	}
	if got := PublicLink(public, "/a", ""); got != "https://public.example:8443/a" {
		t.Error(got)
	}
}

func TestSameOrigin(t *testing.T) {
	public := parseURL(t, "https://public.example")
	for link, same := range map[string]bool{
		"https://public.example/x":     true,
		"https://PUBLIC.example:443/x": true,
		"http://public.example/x":      false,
		"https://public.example:80/x":  false,
		"https://other.example/x":      false,
		"//public.example/x":           true, // the scheme is that of the page
		"//other.example/x":            false,
		"/x":                           false,
		"https:/x":                     false,
	} {
		if sameOrigin(parseURL(t, link), public) != same {
			t.Errorf("%s: %v", link, !same)
		}
	}
	if !sameOrigin(parseURL(t, "http://a.example:80/x"), parseURL(t, "http://a.example")) {
		t.Error("80 is the port of http")
	}
}

// No URL passes that clients could be led away by.
func TestOwnLinks(t *testing.T) {
	public, endpoint := parseURL(t, "http://portico.example"), westus(t)
	for link, want := range map[string]string{
		"http://portico.example/a?b=c":    "http://portico.example/a?b=c",
		"HTTP://PORTICO.example:80/a":     "http://portico.example/a",
		"http://127.0.0.1:7/a%2Fb?c":      "http://portico.example/a%2Fb?c",
		"/a?b":                            "http://portico.example/a?b",
		"http://127.0.0.1:7/a#fragment":   "http://portico.example/a",
		"http://127.0.0.1:8/a":            "",
		"https://portico.example/a":       "",
		"http://evil.example/a":           "",
		"//evil.example/a":                "",
		"//portico.example/a":             "", // not absolute
		"http://user@portico.example/a":   "",
		"http:a":                          "",
		"a":                               "",
		"":                                "",
		"http://portico.example":          "",
		"http://portico.example.evil/a":   "",
		"http://portico.example\\@evil/a": "",
		"http://%zz/":                     "",
	} {
		got, own := OwnLink(link, public, endpoint)
		if own != (want != "") || own && got.String() != want {
			t.Errorf("%q became %v %v, want %q", link, got, own, want)
		}
	}
}
