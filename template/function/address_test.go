package function

import "testing"

func TestHosts(t *testing.T) {
	for _, c := range []struct {
		network string
		index   int64
		want    string // empty: there is none
	}{
		{"10.144.3.0/24", 0, "10.144.3.1"}, {"10.144.3.0/24", 253, "10.144.3.254"}, {"10.144.3.0/24", 254, ""}, {"10.144.3.0/24", -1, ""},
		{"fdad:3236:5555:3000::/52", 4, "fdad:3236:5555:3000::5"}, {"255.255.255.254/31", 0, "255.255.255.255"}, {"255.255.255.255/32", 0, ""},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", 0, ""}, {"::/0", 9223372036854775807, "::8000:0:0:0"},
	} {
		p, _ := parseNetwork(c.network)
		got, ok := hostAt(p, c.index)
		if ok != (c.want != "") || (ok && got.String() != c.want) {
			t.Errorf("host %d of %s is %s (%v), want %s", c.index, c.network, got, ok, c.want)
		}
	}
}

func TestURIs(t *testing.T) {
	for _, c := range [][3]string{
		{"http://contoso.com/resources/", "nested/azuredeploy.json", "http://contoso.com/resources/nested/azuredeploy.json"},
		{"http://contoso.org/firstpath", "myscript.sh", "http://contoso.org/myscript.sh"},
		{"http://contoso.org/firstpath/", "myscript.sh", "http://contoso.org/firstpath/myscript.sh"},
		{"http://contoso.org/firstpath/azuredeploy.json", "myscript.sh", "http://contoso.org/firstpath/myscript.sh"},
		{"http://contoso.org/firstpath/azuredeploy.json/", "myscript.sh", "http://contoso.org/firstpath/azuredeploy.json/myscript.sh"},
		{"https://github.com", "Azure/bicep", "https://github.com/Azure/bicep"},
		{"HTTPS://GitHub.com:443", "", "https://github.com/"},
		{"https://a/b/c?sig=x", "../d?e=f", "https://a/d?e=f"},
	} {
		if got, ok := combineURL(c[0], c[1]); !ok || got != c[2] {
			t.Errorf("%s from %s is %s, want %s", c[1], c[0], got, c[2])
		}
	}
	for _, base := range []string{"github.com", "http://", "http:", "", "://x", "/a"} {
		if got, ok := combineURL(base, "x"); ok {
			t.Errorf("%s is a base of %s", base, got)
		}
	}
}

func TestEscapes(t *testing.T) {
	if got, want := escapeData("UB*8h 0+=_)9h9n"), "UB%2A8h%200%2B%3D_%299h9n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for text, want := range map[string]string{"%20%25%20": " % ", "%": "%", "%zz%4": "%zz%4", "%2B%": "+%"} {
		if got := unescapeData(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
