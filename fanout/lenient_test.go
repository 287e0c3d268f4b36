package fanout

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// encoded returns a text in UTF-16 or UTF-32, by the size of a unit.
func encoded(text string, order binary.AppendByteOrder, size int) []byte {
	var out []byte
	if size == 4 {
		for _, r := range text {
			out = order.AppendUint32(out, uint32(r)) //nolint:gosec // not negative
		}
		return out
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

const foreignPage = `{"value":[],"nextLink":"https://evil.example/x"}`

// lenient are texts that are not JSON here and hold the member to some reader.
func lenient() map[string]string {
	return map[string]string{
		"UTF-16LE":                   string(encoded(foreignPage, binary.LittleEndian, 2)),
		"UTF-16BE with a mark":       string(encoded("\ufeff"+foreignPage, binary.BigEndian, 2)),
		"UTF-16, a trick":            string(encoded("\u4e5c\u3c00"+foreignPage, binary.LittleEndian, 2)),
		"UTF-32LE":                   string(encoded("\ufeff"+foreignPage, binary.LittleEndian, 4)),
		"UTF-32BE":                   string(encoded(foreignPage, binary.BigEndian, 4)),
		"UTF-16, escaped":            string(encoded(`{"\u006eextLink":"x"}`, binary.LittleEndian, 2)),
		"two marks":                  "\ufeff\ufeff" + foreignPage,
		"not UTF-8 elsewhere":        `{"value":[{"a":"` + "\xff" + `"}],"nextLink":"x"}`,
		"not UTF-8 in the name":      "{\"next\xffLink\":\"x\"}",
		"not the shortest form":      "{\"\xc1\xaeextLink\":\"x\"}",
		"nor here":                   "{\"\xe0\x81\xaeextLink\":\"x\"}",
		"cut off":                    foreignPage[:len(foreignPage)-1],
		"text behind":                foreignPage + " x",
		"text before":                ")]}',\n" + foreignPage,
		"a call":                     "callback(" + foreignPage + ")",
		"a second object":            `{}` + foreignPage,
		"a comment before":           "/* < */ // x\n" + foreignPage,
		"a comment in the member":    `{"nextLink"/* , */:"x"}`,
		"single quotes":              `{'value':[],'nextLink':'x'}`,
		"no quotes":                  `{value:[],nextLink:'x'}`,
		"no quotes, a space":         `{value:[],nextLink :'x'}`,
		"an equals sign":             `{"nextLink"="x"}`,
		"NaN":                        `{"value":[{"n":NaN}],"nextLink":"x"}`,
		"a trailing comma":           `{"value":[1,],"nextLink":"x"}`,
		"a leading zero":             `{"value":[01],"nextLink":"x"}`,
		"a line break in a string":   "{\"value\":[\"\n\"],\"nextLink\":\"x\"}",
		"another casing":             `{"value":[1,],"NEXTLINK":"x"}`,
		"the Kelvin sign":            "{\"value\":[1,],\"nextLin\u212a\":\"x\"}",
		"escaped":                    `{"value":[1,],"n\u0065xt\u004Cink":"x"}`,
		"escaped otherwise":          `{"n\x65xt\u{4c}ink":"x",}`,
		"escaped as in JSON5":        `{"ne\xxt":1,'n\ext\Link':"x"}`,
		"escaped, eight digits":      `{"\U0000006eextLink":"x",}`,
		"on two lines":               "{\"next\\\r\nLink\":\"x\",}",
		"twice, the first no link":   `{"a":"nextLink","nextLink":"x",}`,
		"what some leave out":        "{\"\xe0\x81\xaenextLink\":\"x\"}",
		"what is not seen within":    "{\"next\u200b\x01Link\":\"x\"}",
		"nested deeper than is read": `{"nextLink":"x","value":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`,
	}
}

func TestLenientReaders(t *testing.T) {
	for name, text := range lenient() {
		if _, err := ParseLink([]byte(text)); err == nil {
			t.Errorf("%s: it is JSON", name)
		}
		if !MayHoldLink([]byte(text)) {
			t.Errorf("%s: %q holds no link", name, text)
		}
	}
	for name, text := range map[string]string{
		"nothing":                 "",
		"plain text":              "the member nextLink: see there",
		"a page of HTML":          `<html><script>var page = {"nextLink":"x"}</script></html>`,
		"HTML with a mark":        "\ufeff\n<p>{nextLink: x}</p>",
		"HTML in UTF-16":          string(encoded(`<p>{nextLink: x}</p>`, binary.LittleEndian, 2)),
		"a table":                 "id,nextLink\n1,2\n",
		"an array":                `[{"nextLink":"x"}]`,
		"a text":                  `"{\"nextLink\":\"x\"}"`,
		"a number":                `7`,
		"JSON that has it within": `{"properties":{"nextLink":"x"}}`,
		"a value":                 `{"a":"nextLink","b":["nextLink",],}`,
		"a longer name":           `{"theNextLink":"x","nextLinks":"y","@odata.nextLink":"z","é-nextLink":1,}`,
		"the brace behind it":     `nextLink: {}`,
	} {
		if MayHoldLink([]byte(text)) {
			t.Errorf("%s: %q holds a link", name, text)
		}
	}
}

// FuzzMayHoldLink looks for a text in which a less strict reader finds a link that is not
// found here.
func FuzzMayHoldLink(f *testing.F) {
	for _, text := range lenient() {
		f.Add([]byte(text))
	}
	for _, text := range []string{foreignPage, `{"NextLink":"x"}`, `[{"nextLink":"x"}]`, `{"a":{"nextLink":"x"}}`, "\ufeff{}", "{\"\xff\":1,\"nextLink\":\"x\"} x"} {
		f.Add([]byte(text))
	}
	readers := map[string]func([]byte) []byte{
		"as it is":         func(text []byte) []byte { return text },
		"by what is UTF-8": func(text []byte) []byte { return bytes.ToValidUTF8(text, nil) },
		"as UTF-16LE": func(text []byte) []byte {
			units := make([]uint16, len(text)/2)
			for i := range units {
				units[i] = binary.LittleEndian.Uint16(text[2*i:])
			}
			return []byte(string(utf16.Decode(units)))
		},
		"as UTF-32BE": func(text []byte) []byte {
			var out []byte
			for ; len(text) >= 4; text = text[4:] {
				out = utf8.AppendRune(out, rune(binary.BigEndian.Uint32(text))) //nolint:gosec // any other is replaced
			}
			return out
		},
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, read := range readers {
			var page struct{ NextLink *string }
			plain := bytes.TrimLeft(read(text), "\ufeff")
			if json.NewDecoder(bytes.NewReader(plain)).Decode(&page) == nil && page.NextLink != nil && !MayHoldLink(text) {
				t.Errorf("%q, read %s, has the link %q", text, name, *page.NextLink)
			}
		}
	})
}
