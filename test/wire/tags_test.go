package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Tags: 50 at most, names up to 512 characters without < > % & \ ? / and
// control characters, values up to 256 characters.
func testTags(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "tags")
	vm := w.machine(t, g, "n", "westus")

	many := func(n int) map[string]string {
		tags := map[string]string{}
		for i := range n {
			tags[fmt.Sprintf("t%03d", i)] = "v"
		}
		return tags
	}
	one := func(name, value string) map[string]string { return map[string]string{name: value} }
	encode := func(tags map[string]string) string {
		text, err := json.Marshal(tags)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var rows []row
	both := func(name string, tags map[string]string, refusal want) {
		for _, x := range []struct {
			name, method, target, body string
			reaches                    string
		}{
			{"put ", "PUT", vm + q, `{"location":"westus","tags":` + encode(tags) + `}`, "westus"},
			{"patch ", "PATCH", vm + q, `{"tags":` + encode(tags) + `}`, "westus"},
			{"put group ", "PUT", g + q, `{"location":"westus","tags":` + encode(tags) + `}`, ""},
			{"patch group ", "PATCH", g + q, `{"tags":` + encode(tags) + `}`, ""},
		} {
			expected := refusal
			if expected.code == "" {
				expected.status, expected.reaches = 200, x.reaches
				expected.check = func(t *testing.T, got reply, _ []received) {
					t.Helper()
					var v struct {
						Tags map[string]string `json:"tags"`
					}
					if err := json.Unmarshal(got.body, &v); err != nil || encode(v.Tags) != encode(tags) {
						t.Errorf("tags (%v)\n%s", err, got)
					}
				}
			}
			rows = append(rows, row{x.name + name, message{method: x.method, target: x.target, body: x.body}, expected})
		}
	}
	tooMany := func(n int) want {
		return want{status: 400, code: "TagCountExceeded", about: "tags", text: fmt.Sprintf("The number of tags '%d' exceeds the maximum of '50'.", n)}
	}
	longName := func(name string) want {
		return want{status: 400, code: "InvalidTagNameLength", about: "tags", text: "The tag name '" + name + "' is invalid: a tag name has 1 to 512 characters."}
	}
	reserved := func(names string) want {
		return want{status: 400, code: "InvalidTagNameCharacters", about: "tags", text: "The tag names '" + names + `' have reserved characters '<,>,%,&,\,?,/' or control characters.`}
	}
	both("50 tags", many(50), want{})
	both("51 tags", many(51), tooMany(51))
	both("name of 512", one(strings.Repeat("k", 512), "v"), want{})
	both("name of 513", one(strings.Repeat("k", 513), "v"), longName(strings.Repeat("k", 513)))
	both("value of 256", one("a", strings.Repeat("v", 256)), want{})
	both("value of 257", one("a", strings.Repeat("v", 257)), want{status: 400, code: "InvalidTagValueLength", about: "tags.a",
		text: "The value of the tag 'a' is invalid: a tag value has at most 256 characters."})
	both("value of 257 letters of three bytes", one("a", strings.Repeat("日", 257)), want{status: 400, code: "InvalidTagValueLength", about: "tags.a",
		text: "The value of the tag 'a' is invalid: a tag value has at most 256 characters."})
	both("empty value", one("a", ""), want{})
	both("any characters in a value", one("a", `<>%&\?/`+"\t"), want{})
	both("a name of other signs", one(`a b:c#d.e-f_g+h@i(j)"k'é日`, "v"), want{})
	for _, c := range []string{"<", ">", "%", "&", `\`, "?", "/"} {
		name := "a" + c + "b"
		both("name with "+c, one(name, "v"), reserved(name))
	}
	for _, c := range []string{"\x00", "\n", "\x1f", "\x7f", "\u0085"} {
		both(fmt.Sprintf("name with %q", c), one("a"+c+"b", "v"), reserved("a"+c+"b"))
	}
	both("two bad names", map[string]string{"a<": "v", "b>": "v", "good": "v"}, reserved("a<, b>"))
	rows = append(rows, row{"create with 51 tags", message{method: "PUT", target: g + "/providers/Contoso.Compute/virtualMachines/new" + q,
		body: `{"location":"westus","tags":` + encode(many(51)) + `}`}, tooMany(51)})
	w.table(t, rows)
}
