package contract

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"portico/test/harness"
)

// A provider that repeats every secret it sees: none gets into a result.
func TestExchangeHasNoSecrets(t *testing.T) {
	const token = "own/er+token-that-nobody-may-see"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		w.Header().Set("Set-Cookie", "session=cookie-that-nobody-may-see")
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("Ocp-Apim-Subscription-Key", "key-that-nobody-may-see")
		w.Header().Set("Location", "https://h.example/poll?t=own%2Fer%2Btoken-that-nobody-may-see")
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+` {"adminPassword" : "pass\"word-that-nobody-may-see", "primaryKey":"key-that-nobody-may-see"}`)
		_, _ = w.Write(sent)
	}))
	defer server.Close()
	adapter := ThroughDoor(Door{URL: server.URL, Regions: []string{"westus"}, Owner: Token{Raw: token}, Colleague: Token{Raw: "own"}})
	d, err := Load([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	s := newScene(t.Context(), Target{Adapter: adapter, Description: d, Limits: Limits{}.orDefault()}, trial{}, 1)
	defer func() {
		_ = recover()
		text, err := json.Marshal(Result{Faults: s.faults})
		if err != nil || len(s.faults) != 1 {
			t.Fatal(err, s.faults)
		}
		if strings.Contains(string(text), "nobody-may-see") {
			t.Errorf("a secret shows: %s", text)
		}
		for _, want := range []string{"$OWNER_TOKEN", `"adminPassword\" : \"(removed)`, `"size\":\"small`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s", text, want)
			}
		}
	}()
	s.put("/subscriptions/s/resourceGroups/g", Object{"size": "small", "clientSecret": "secret-that-nobody-may-see"},
		with("Cookie", "cookie-that-nobody-may-see")).status(418)
}

func TestConceal(t *testing.T) {
	a := &Adapter{}
	for text, want := range map[string]string{
		`{"password":"x"}`:                 `{"password":"(removed)"}`,
		`{"a":{"connectionStrings": "x"`:   `{"a":{"connectionStrings": "(removed)"`,
		`{"accessKey":"cut of`:             `{"accessKey":"(removed)"`,
		`{"accessKey":"cut of\`:            `{"accessKey":"(removed)"`,
		`{"ACCESS_KEY":"x\"y","b":"c"}`:    `{"ACCESS_KEY":"(removed)","b":"c"}`,
		`{"secretName":"x","keyName":"y"}`: `{"secretName":"x","keyName":"y"}`,
		`{"monkey":"x","skipToken":"y"}`:   `{"monkey":"x","skipToken":"y"}`,
		`the secret: x`:                    `the secret: x`,
	} {
		if got := a.conceal(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	a := &Adapter{}
	for _, row := range []struct {
		what, body, note string
		shown            int
	}{
		{"nothing", "", "", 0},
		{"a short one", "{}\r\n", "", 4},
		{"the longest", strings.Repeat("x", BodyLimit), "", BodyLimit},
		{"one byte more", strings.Repeat("x", BodyLimit+1), "the first 65536 of 65537 bytes", BodyLimit},
		{"a long one", strings.Repeat("é", 10*BodyLimit), "the first 65536 of 1310720 bytes", BodyLimit},
		{"a binary one", strings.Repeat("\x1f\x8b", 50), "binary, 100 bytes; the first 32 in hexadecimal", 95},
		{"a short binary one", "\x00\x01", "binary, 2 bytes; the first 2 in hexadecimal", 5},
	} {
		shown, note := a.showBody([]byte(row.body))
		if len(shown) != row.shown || note != row.note {
			t.Errorf("%s: %d bytes are shown, and %q; want %d and %q", row.what, len(shown), note, row.shown, row.note)
		}
	}
	if header := a.concealHeader(http.Header{"A": {strings.Repeat("a", 1<<20)}, "B": make([]string, 10_000)}); len(header["A"][0]) > longestValue+4 || len(header["B"]) != mostValues-1 {
		t.Errorf("a header is shown with %d bytes and %d values", len(header["A"][0]), len(header["B"]))
	}
	if f := a.newFault("x", strings.Repeat("é", 1<<20), nil); len(f.Got) > longestText+4 {
		t.Errorf("a fault has %d bytes", len(f.Got))
	}
}

// The line for a shell sends what the suite sent: a real shell and a real curl say so.
func TestCurl(t *testing.T) {
	harness.Installed(t, "curl")
	type got struct {
		Method, URI, Body string
		Header            http.Header
	}
	requests := make(chan got, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- got{r.Method, r.RequestURI, string(body), r.Header}
	}))
	defer server.Close()
	adapter := Straight(map[string]string{"westus": server.URL})
	for what, c := range map[string]call{
		"a GET":              {method: "GET", target: "/a/b?api-version=1"},
		"a HEAD":             {method: "HEAD", target: "/a"},
		"a DELETE":           {method: "DELETE", target: "/a"},
		"a GET with a body":  {method: "GET", target: "/a", body: []byte("{}")},
		"odd characters":     {method: "PUT", target: "/a[1-3]{x,y}'%27/../b?$filter=it's%20%22a%22", body: []byte("{\"it's\": \"$HOME `id` \\\\ é\"}\n")},
		"a body as a file":   {method: "PUT", target: "/a", body: []byte("@/etc/passwd")},
		"a binary body":      {method: "POST", target: "/a", body: []byte{0, 1, 0x1f, 0x8b, '%', '\\', '\'', '\n', 0xff}},
		"an empty header":    {method: "PUT", target: "/a", body: []byte("{}"), header: http.Header{"If-Match": {""}}},
		"a header's quotes":  {method: "PATCH", target: "/a", body: []byte("{}"), header: http.Header{"If-Match": {`W/"it's", "$HOME"`}}},
		"no kind of content": {method: "PUT", target: "/a", body: []byte("{}"), header: http.Header{"Content-Type": nil}},
	} {
		c.region = "westus"
		answer, err := adapter.send(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		answer.s = &Scene{Target: &Target{Adapter: adapter}}
		want, line := <-requests, answer.exchange().Curl
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput(); err != nil { //nolint:gosec // the line under test
			t.Fatalf("%s: %s: %v: %s", what, line, err, out)
		}
		repeated := <-requests
		for _, its := range []string{"User-Agent", "Accept", "Accept-Encoding"} {
			want.Header.Del(its)
			repeated.Header.Del(its)
		}
		if !reflect.DeepEqual(repeated, want) {
			t.Errorf("%s: %s\nsent  %+v\nwant  %+v", what, line, repeated, want)
		}
	}
}
