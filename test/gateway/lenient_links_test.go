package gateway_test

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// inUTF16 returns a text in little-endian UTF-16.
func inUTF16(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(unit)) //nolint:gosec // the lower half
		b.WriteByte(byte(unit >> 8))
	}
	return b.String()
}

// A foreign link is refused where an SDK may read it, though the text is not JSON here:
// its token would follow. What no one can read a link from passes as it is.
func TestForeignLinksForLenientReaders(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	poll := scriptOperations + "o"
	p.say("POST "+item+"/listKeys"+api, 202, "", "Location", p.at+poll+api)
	p.ok(202, "POST", item+"/listKeys"+api, "")
	const page = `{"value":[{"n":1}],"nextLink":"https://evil.example/x"}`
	const utf8 = "application/json; charset=utf-8"
	for _, c := range []struct{ name, text, contentType string }{
		{"a mark", byteOrderMark + page, utf8},
		{"a byte that is not UTF-8", strings.Replace(page, "1", "\"\xff\"", 1), utf8},
		{"not the shortest form", strings.Replace(page, "next", "n\xc1\xa5xt", 1), utf8},
		{"UTF-16", inUTF16(page), "application/json; charset=utf-16"},
		{"UTF-16 with a mark", inUTF16(byteOrderMark + page), "application/json"},
		{"a comment", "/* it */" + page, utf8},
		{"text behind", page + ";", utf8},
		{"other quotes", strings.ReplaceAll(page, `"`, `'`), "text/plain"},
		{"an escaped name", `{"\u006eextLink":"https://evil.example/x",}`, utf8},
		{"another casing", `{"NextLink":"https://evil.example/x",}`, ""},
		{"UTF-7", `{"value":[],"next+AEw-ink":"https://evil.example/x"}`, "application/json; charset=utf-7"},
		{"half of a character", `{"a":"あ\",\"nextLink\":\"https://evil.example/x\",\"b\":\""}`, "application/json;charset=Shift_JIS"},
	} {
		p.say("POST "+item+"/act"+api, 200, c.text, "Content-Type", c.contentType)
		p.say("GET "+poll+api, 200, c.text, "Content-Type", c.contentType)
		for _, got := range []seen{p.want(502, "InvalidProviderResponse", "POST", item+"/act"+api, ""), p.want(502, "InvalidProviderResponse", "GET", poll+api, "")} {
			if strings.Contains(got.text, "evil") {
				t.Errorf("%s: %s", c.name, got.text)
			}
		}
	}
	for _, text := range []string{
		`<html><script>var page = {"nextLink":"x"}</script></html>`, "id,nextLink\n1,2\n", "see nextLink: there", `[{"nextLink":"x"}]`, "{\"a\":\"\xff\"}", "PK\x03\x04\xff", byteOrderMark + `{"a":1}`,
	} {
		p.say("POST "+item+"/act"+api, 200, text, "Content-Type", "text/plain; charset=\"ISO-8859-1\"")
		p.say("GET "+poll+api, 200, text, "Content-Type", "text/plain; charset=")
		if got := p.ok(200, "POST", item+"/act"+api, ""); got.text != text {
			t.Errorf("%q became %q", text, got.text)
		}
		if got := p.ok(200, "GET", poll+api, ""); got.text != text {
			t.Errorf("%q became %q", text, got.text)
		}
	}
}
