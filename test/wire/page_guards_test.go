package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
)

// F1, F2, F4: the next link of a proxied page is absolute and on the public
// host, or the page fails.
func testPageGuards(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "pages")
	const list = "/providers/Contoso.Raw/locals" // of one region, whose pages are passed on
	w.must(t, message{method: "PUT", target: g + list + "/one" + q, body: located("westus")}, 201)
	own := w.scripted["westus"].url
	x := startTrap(t)
	tail := g + list + q + "&$skipToken=a%2Fb%26c"
	const elements = `[ {"id":"/a","n":12345678901234567890,"e":1e400,"s":"<\u003c\/é","nextLink":"https://evil-not.example/x" } ]`

	get := func(t *testing.T, m message, answer string, expected want) {
		t.Helper()
		w.scripted["westus"].on("/resourceGroups/pages"+list, always(answer))
		w.run(t, row{message: m, want: expected})
	}
	pageOf := func(next string) string { return `{"value":` + elements + `,"nextLink":` + next + `,"z":1.10}` }
	plain := message{target: g + list + q}
	refused := want{status: 502, code: "InvalidProviderResponse", reaches: "raw westus", like: "^" + quoteMeta("The resource provider 'Contoso.Raw' returned an invalid response: ") +
		"(its nextLink (leads to another host|leads to another path|is no URL)|it has the member 'value' or 'nextLink' twice or in another casing)\\.$", check: func(t *testing.T, got reply, _ []received) {
		t.Helper()
		if part := leaked(got.String()); part != "" {
			t.Errorf("%q reached the client: %s", part, got)
		}
	}}
	t.Run("F1 foreign: another port of loopback", func(t *testing.T) { get(t, plain, ok(200, pageOf(quote("http://"+x.address+tail))), refused) })
	t.Run("F1 the member's name escaped", func(t *testing.T) {
		get(t, plain, ok(200, `{"value":[],"next\u004cink":"https://evil.example/x"}`), refused)
	})
	t.Run("F1 twice, the second foreign", func(t *testing.T) {
		get(t, plain, ok(200, `{"value":[],"nextLink":`+quote(own+tail)+`,"nextLink":"https://evil.example/x"}`), refused)
	})
	t.Run("F1 twice, the first foreign", func(t *testing.T) {
		get(t, plain, ok(200, `{"nextLink":"https://evil.example/x","value":[],"nextLink":`+quote(own+tail)+`}`), refused)
	})
	t.Run("F1 before the value", func(t *testing.T) {
		get(t, plain, ok(200, `{"nextLink":"https://evil.example/x","value":[]}`), refused)
	})
	t.Run("F1 escaped letters", func(t *testing.T) {
		get(t, plain, ok(200, `{"value":[],"nextLink":"\u0068ttps:\/\/evil.example\/x"}`), refused)
	})
	t.Run("F1 as text/plain", func(t *testing.T) {
		text := pageOf(`"https://evil.example/x"`)
		get(t, plain, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(text), text), refused)
	})
	t.Run("F1 chunked", func(t *testing.T) {
		text := pageOf(`"https://evil.example/x"`)
		get(t, plain, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 10, text[:10], len(text)-10, text[10:]), refused)
	})
	zipped := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", b.Len(), b.String())
	}
	for name, m := range map[string]message{"asked for": {target: plain.target, header: []string{"Accept-Encoding: gzip"}}, "not asked for": plain} {
		t.Run("F1 compressed, "+name, func(t *testing.T) {
			get(t, m, zipped(pageOf(`"https://evil.example/x"`)), refused)
		})
	}

	same := func(next string) want {
		return want{status: 200, reaches: "raw westus", check: func(t *testing.T, got reply, _ []received) {
			t.Helper()
			if !bytes.Contains(got.body, []byte(elements)) || !bytes.Contains(got.body, []byte(`1.10`)) {
				t.Errorf("the other bytes changed: %s", got.body)
			}
			p := readPage(t, got)
			switch {
			case next == "" && p.NextLink != nil:
				t.Errorf("nextLink %q, want none", *p.NextLink)
			case next == "" && bytes.Contains(got.body, []byte(`"nextLink":""`)):
				t.Errorf("an empty nextLink is left: %s", got.body)
			case next != "" && (p.NextLink == nil || *p.NextLink != next):
				t.Errorf("nextLink %v, want %s\n%s", p.NextLink, next, got.body)
			}
			if length := got.header.Get("Content-Length"); length != "" && length != fmt.Sprint(len(got.body)) {
				t.Errorf("Content-Length %s, body %d", length, len(got.body))
			}
		}}
	}
	for _, c := range []struct{ name, next, want string }{
		{"F4 the provider's own", quote(own + tail), publicURL + tail},
		{"F4 the provider's own, escaped", `"` + strings.ReplaceAll(own+tail, "/", `\/`) + `"`, publicURL + tail},
		{"F4 the public one", quote(publicURL + tail), publicURL + tail},
		{"F2 relative", quote(tail), publicURL + tail},
		{"F2 empty", `""`, ""},
		{"F2 null", `null`, ""},
	} {
		t.Run(c.name, func(t *testing.T) { get(t, plain, ok(200, pageOf(c.next)), same(c.want)) })
	}
	t.Run("F2 missing", func(t *testing.T) { get(t, plain, ok(200, `{"value":`+elements+`,"z":1.10}`), same("")) })
	t.Run("F2 empty, alone", func(t *testing.T) {
		get(t, plain, ok(200, `{"nextLink":"","value":[]}`), want{status: 200, reaches: "raw westus", check: func(t *testing.T, got reply, _ []received) {
			if p := readPage(t, got); p.NextLink != nil {
				t.Errorf("nextLink %q: %s", *p.NextLink, got.body)
			}
		}})
	})
	t.Run("an action's page", func(t *testing.T) {
		m := message{method: "POST", target: g + list + "/one/listThings" + q}
		get(t, m, ok(200, `{"value":[],"nextLink":"https://evil.example/x"}`), refused)
	})
	for name, text := range map[string]string{
		"with a mark":      "\ufeff" + pageOf(`"https://evil.example/x"`),
		"not quite UTF-8":  `{"value":["` + "\xff" + `"],"nextLink":"https://evil.example/x"}`,
		"in UTF-16":        "{\x00\"\x00n\x00e\x00x\x00t\x00L\x00i\x00n\x00k\x00\"\x00:\x00\"\x00h\x00t\x00t\x00p\x00s\x00:\x00/\x00/\x00e\x00v\x00i\x00l\x00.\x00e\x00x\x00a\x00m\x00p\x00l\x00e\x00\"\x00}\x00",
		"with more behind": pageOf(`"https://evil.example/x"`) + "\n{}",
	} {
		t.Run("an action's page, "+name, func(t *testing.T) {
			anyhow := refused
			anyhow.like = ""
			get(t, message{method: "POST", target: g + list + "/one/listThings" + q}, ok(200, text), anyhow)
		})
	}
	// Clients take any success for a page.
	for _, status := range []int{201, 202, 203, 206, 299} {
		t.Run(fmt.Sprint("F1 with ", status), func(t *testing.T) { get(t, plain, ok(status, pageOf(`"https://evil.example/x"`)), refused) })
		t.Run(fmt.Sprint("F4 with ", status), func(t *testing.T) {
			get(t, plain, ok(status, pageOf(quote(own+tail))), want{status: status, reaches: "raw westus", check: func(t *testing.T, got reply, reached []received) {
				got.status = 200
				same(publicURL+tail).check(t, got, reached)
			}})
		})
		t.Run(fmt.Sprint("an action's page with ", status), func(t *testing.T) {
			get(t, message{method: "POST", target: g + list + "/one/listThings" + q}, ok(status, `{"value":[],"nextLink":"https://evil.example/x"}`), refused)
		})
	}
	t.Run("a further page is linked to as the first one was", func(t *testing.T) {
		for target, referer := range map[string]string{
			g + list + q + "&%24SkipToken=a%2Fb&$filter=x%20y": g + list + q + "&$filter=x%20y",
			g + list + "?$skiptoken=a&" + V:                    g + list + q,
			g + list + q + "&&$skip=1":                         g + list + q + "&&$skip=1",
			g + list + "/one/skus" + q + "&$skipToken=a":       g + list + "/one/skus" + q,
		} {
			get(t, message{target: target}, ok(200, pageOf("null")), want{status: 200, reaches: "raw westus", check: func(t *testing.T, _ reply, reached []received) {
				if got := reached[0].header.Get("Referer"); got != publicURL+referer {
					t.Errorf("%s has the referer %s", target, got)
				}
			}})
		}
	})
	t.Run("a part is not asked for", func(t *testing.T) {
		get(t, message{target: plain.target, header: []string{"Range: bytes=0-1", `If-Range: "x"`}}, ok(200, pageOf("null")), want{status: 200, reaches: "raw westus",
			check: func(t *testing.T, _ reply, reached []received) {
				for _, name := range []string{"Range", "If-Range"} {
					if values := reached[0].header.Values(name); len(values) > 0 {
						t.Errorf("%s: %q", name, values)
					}
				}
			}})
	})
	t.Run("no content is no page", func(t *testing.T) {
		get(t, plain, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", want{status: 204, reaches: "raw westus"})
		get(t, plain, ok(202, ""), want{status: 202, reaches: "raw westus"})
	})
	t.Run("an error with a next link is no page", func(t *testing.T) {
		get(t, plain, ok(404, `{"error":{"code":"a","message":"b"}}`), want{status: 404, reaches: "raw westus"})
	})
}
