package hostile

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A redirect may send a client, and maybe its token, to hosts that the map lists, or
// back to the gateway, and nowhere else.
func TestRedirectsLeadToKnownHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Evil: "    redirectHosts: [files.example, \"files.example:8443\", \"*.blob.example\"]\n"})
	w.group(t, "rg")
	public := w.Portico.URL
	own := w.provider.URLs["westus"]
	for i, c := range []struct{ location, want string }{
		{"https://files.example/a?sig=%2B%2f", "https://files.example/a?sig=%2B%2f"},
		{"https://FILES.example:443/a", "https://FILES.example:443/a"},
		{"https://files.example:8443/a", "https://files.example:8443/a"},
		{"https://x.y.blob.example/a", "https://x.y.blob.example/a"},
		{own + "/subscriptions/x?y=z", public + "/subscriptions/x?y=z"},
		{public + "/subscriptions/x", public + "/subscriptions/x"},
		{"/subscriptions/x", public + "/subscriptions/x"},

		{"https://evil.example/", ""}, {"https://files.example:444/", ""}, {"https://x.files.example/", ""}, {"https://blob.example/", ""}, {"https://evilblob.example/", ""},
		{"https://files.example@evil.example/", ""}, {"https://user@files.example/", ""}, {"https://files.example.evil.example/", ""}, {"//files.example/a", ""}, {"//evil.example/a", ""},
		{`https://evil.example\.blob.example/`, ""}, {`https://evil.example%2f.blob.example/`, ""}, {"https:files.example/a", ""}, {"https:///evil.example", ""}, {`https:\\evil.example`, ""},
		{"javascript:alert(1)", ""}, {"data:text/html,x", ""}, {"ftp://files.example/", ""}, {"https://files.example\t/", ""}, {`https://evil".blob.example/`, ""}, {"https://[::1]/", ""},
	} {
		for _, status := range []int{301, 302, 303, 307, 308, 300} {
			for _, method := range []string{"GET", "POST", "PUT"} {
				if method != "GET" && status != 302 {
					continue
				}
				path := w.thing("rg", fmt.Sprintf("t%d-%d-%s", i, status, method))
				w.put(t, path)
				w.provider.On(method, path, func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Location"] = []string{c.location}
					w.Header()["Content-Language"] = []string{"en"}
					w.WriteHeader(status)
				})
				target, body := path+api, ""
				switch method {
				case "POST":
					target, body = path+"/start"+api, "{}"
				case "PUT":
					body = located("westus")
				}
				got := w.as(t, alice, method, target, body)
				what := fmt.Sprintf("%s %d to %s", method, status, c.location)
				switch {
				case c.want != "" && (got.Status != status || !strings.EqualFold(got.Header.Get("Location"), c.want)):
					t.Errorf("%s: %d %q, want %s", what, got.Status, got.Header.Get("Location"), c.want)
				case c.want == "" && (got.Status != 502 || got.ErrorCode() != "InvalidProviderResponse" || got.Header.Get("Location") != "" || got.Header.Get("Content-Language") != ""):
					t.Errorf("%s: %d %v %s", what, got.Status, got.Header, got.Body)
				}
			}
		}
	}
}

// If the map lists no host, no redirect leaves the gateway.
func TestRedirectsLeadNowhereByDefault(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	w.provider.On("GET", thing, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{"https://evil.example/steal"}
		w.WriteHeader(http.StatusFound)
	})
	got := w.as(t, alice, "GET", thing+api, "")
	if got.Status != 502 || got.ErrorCode() != "InvalidProviderResponse" || strings.Contains(string(got.Body), "evil.example") {
		t.Errorf("%d %v %s", got.Status, got.Header, got.Body)
	}
	if got := w.as(t, alice, "HEAD", thing+"/notes/n"+api, ""); got.Status != 502 || got.Header.Get("Location") != "" {
		t.Errorf("HEAD: %d %v", got.Status, got.Header)
	}
	if got := w.inBatch(t, "GET", thing+api, nil); got.HTTPStatusCode != 502 || got.Headers["Location"] != "" {
		t.Errorf("in a batch: %d %v", got.HTTPStatusCode, got.Headers)
	}
}
