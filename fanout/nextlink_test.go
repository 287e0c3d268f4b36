package fanout

import (
	"net/url"
	"strings"
	"testing"

	"portico/regions"
)

func parseURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	must(t, err)
	return u
}

const listPath = "/subscriptions/S/resourceGroups/My (g)/providers/N.S/things"

func TestNextLinks(t *testing.T) {
	const path = "/subscriptions/S/resourceGroups/My%20(g)/providers/N.S/things"
	links := NextLinks{
		Public: parseURL(t, "https://Public.example"),
		Endpoint: &regions.Endpoint{Region: "westus", URLs: []*url.URL{
			parseURL(t, "http://10.0.0.1:8443"), parseURL(t, "https://backup.example:8443"),
		}},
		Path: listPath,
	}
	for _, c := range []struct{ link, query string }{
		// The end.
		{"", ""}, {"null", ""}, {`""`, ""},

		// The front door and the endpoint, in every spelling of them.
		{`"https://public.example` + path + `?a=1&%24skiptoken=x%2fY=="`, "a=1&%24skiptoken=x%2fY=="},
		{`"https://PUBLIC.example:443` + path + `?a=1"`, "a=1"},
		{`"HTTPS://public.example:` + path + `?a=1"`, "a=1"},
		{`"//public.example` + path + `?a=1"`, "a=1"},
		{`"https://public.example` + strings.ToUpper(path) + `/?a=1"`, "a=1"},
		{`"https://public.example/` + path + `?a=1"`, "a=1"},
		{`"https://public.example` + strings.ReplaceAll(path, "(", "%28") + `?a=1"`, "a=1"},
		{`"https://public.example` + strings.ReplaceAll(path, "%20", " ") + `?a=1"`, "a=1"},
		{`"\u0068ttps:\/\/public.example` + path + `?a=1"`, "a=1"},
		{`"http://10.0.0.1:8443` + path + `?a=1"`, "a=1"},
		{`"https://backup.example:8443` + path + `?a=1#fragment"`, "a=1"},

		// Relative ones.
		{`"` + path + `?a=1"`, "a=1"},
		{`"?a=1;b=2"`, "a=1;b=2"},

		// What cannot stand in a request line is encoded, the rest is not touched.
		{`"?t=100%&u=%4&v=%zz%41%"`, "t=100%25&u=%254&v=%25zz%41%25"},

		// A question mark that stands for a separator is one, and no other.
		{`"?api-version=v?$skipToken=a?b"`, "api-version=v&$skipToken=a?b"},
		{`"?api-version=v?t=a"`, "api-version=v&t=a"},
		{`"?$filter=a eq 'b?'&x=c?%24SKIPtoken=d"`, "$filter=a%20eq%20'b?'&x=c&%24SKIPtoken=d"},
		{`"??$skipToken=a"`, "$skipToken=a"},
		{`"?t=a?skipToken=b?$skipToken"`, "t=a?skipToken=b?$skipToken"},
		{`"?$filter=name eq 'é'&t=%2f+\"<"`, "$filter=name%20eq%20'%C3%A9'&t=%2f+\"<"},
	} {
		query, err := links.Query([]byte(c.link))
		if err != nil || query != c.query {
			t.Errorf("%s: got %q, %v; want %q", c.link, query, err, c.query)
		}
	}
	for _, link := range []string{
		`1`, `{}`, `["https://public.example` + path + `?a=1"]`, `true`,
		`"https://169.254.169.254` + path + `?a=1"`,
		`"//evil.example` + path + `?a=1"`,
		`"///evil.example` + path + `?a=1"`,
		`"\\\\evil.example` + path + `?a=1"`,
		`"/\\evil.example` + path + `?a=1"`,
		`"http://public.example` + path + `?a=1"`,     // downgraded
		`"http://public.example:443` + path + `?a=1"`, // the port alone proves nothing
		`"https://10.0.0.1:8443` + path + `?a=1"`,     // another scheme than configured
		`"https://public.example@evil.example` + path + `?a=1"`,
		`"https://user:secret@public.example` + path + `?a=1"`,
		`"https://@public.example` + path + `?a=1"`,
		`"https://public.example:8443` + path + `?a=1"`,
		`"https://backup.example` + path + `?a=1"`,
		`"https://public.example.` + path + `?a=1"`,
		`"https://public.example.evil.example` + path + `?a=1"`,
		`"https://evil.example/https://public.example` + path + `?a=1"`,
		`"https:public.example` + path + `?a=1"`,
		`"https:///` + path + `?a=1"`,
		`"javascript:alert(1)"`,
		`"https://public.example/subscriptions/S/resourceGroups/other/providers/N.S/things?a=1"`,
		`"https://public.example` + path + `/more?a=1"`,
		`"https://public.example` + path + `/../things?a=1"`,
		`"https://public.example` + path + `%2f?a=1"`,
		`"https://public.example?a=1"`,
		`"https://public.example/?a=1"`,
		`"things?a=1"`, `"./?a=1"`,
		`"https://public.example` + path + `"`,
		`"https://public.example` + path + `?"`,
		`"https://public.example` + path + `?#a=1"`,
		`"#a=1"`, `" "`,
		`"https://public.example` + path + `?a=1\r\nX: y"`,
		`"https://public.example:99999999` + path + `?a=1\u0000"`,
		`"https://[::1` + path + `?a=1"`,
		`"https://public.example/%zz?a=1"`,
	} {
		if query, err := links.Query([]byte(link)); err == nil {
			t.Errorf("%s: got %q, want a refusal", link, query)
		} else if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "evil") {
			t.Errorf("%s: the refusal quotes it: %v", link, err)
		}
	}
}
