package wire

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// The test double is checked first: otherwise rows that pass prove nothing.
func TestScriptedProvider(t *testing.T) {
	p := startScripted(t, "raw westus")
	address := strings.TrimPrefix(p.url, "http://")
	send := func(m message) reply { t.Helper(); return exchange(t, address, m.verb(), m.bytes(address)) }

	put := message{method: "PUT", target: "/x/y?z=%2f", header: []string{"X_Odd: a", "X-Odd: b", "X-Odd: c"}, body: `{"a":1}`}
	if got := send(put); got.status != http.StatusCreated || !strings.Contains(string(got.body), `"location":"westus"`) {
		t.Errorf("unscripted: %s", got)
	}
	all := p.received()
	if len(all) != 1 || all[0].target != put.target || string(all[0].body) != put.body || all[0].region != "raw westus" {
		t.Fatalf("the record: %+v", all)
	}
	if !strings.Contains(all[0].head, "X_Odd: a\r\n") || len(all[0].header["X-Odd"]) != 2 {
		t.Errorf("the record's headers: %q", all[0].head)
	}

	p.on("/x", always(ok(418, `{}`, "X-A: b")))
	p.on("/x/longer", always(ok(200, "")))
	if got := send(message{target: "/x/y"}); got.status != 418 || got.header.Get("X-A") != "b" || string(got.body) != "{}" {
		t.Errorf("scripted: %s", got)
	}
	if got := send(message{target: "/x/longer/y"}); got.status != 200 {
		t.Errorf("the longest part decides: %s", got)
	}
	p.on("/x", always(hangUp))
	if answers := pipeline(t, address, message{target: "/x/y"}.bytes(address), 1); len(answers) != 0 {
		t.Errorf("hung up, and answered: %v", answers)
	}

	// One connection serves several requests: the rows on repeated writes need that.
	p.forget()
	c := dial(t, address)
	r := bufio.NewReader(c)
	for _, target := range []string{"/a", "/b"} {
		if _, err := c.Write(message{target: target}.bytes(address)); err != nil {
			t.Fatal(err)
		}
		if got, err := readReply(r, http.MethodGet); err != nil || got.status != 200 {
			t.Fatalf("%s: %v %s", target, err, got)
		}
	}
	if all := p.received(); len(all) != 2 || all[0].target != "/a" || all[1].target != "/b" {
		t.Errorf("the record after forget: %v", all)
	}
	if !p.everSaw("/x/longer") || p.everSaw("/none") {
		t.Error("everSaw forgets, or makes up")
	}
}

// A row with a wrong expectation must fail, so the checks are tried on answers that
// break them.
func TestLeaked(t *testing.T) {
	for text, part := range map[string]string{
		"Location: https://evil.example/x": "evil.example", "http://127.0.0.1:1/": "127.0.0.", publicURL + ":444/x": ":444/", publicURL + "/x": "", "": "",
	} {
		if got := leaked(text); got != part {
			t.Errorf("%q: %q, want %q", text, got, part)
		}
	}
}
