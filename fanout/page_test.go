package fanout

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"portico/arm"
)

func TestParsePage(t *testing.T) {
	for _, c := range []struct{ text, elements, link string }{
		{`{"value":[]}`, "", ""},
		{` { "value" : [ {"z":1,"a":1e400 } , 2,"<\u003c" ] , "nextLink" : "x" , "count":3 } `, `{"z":1,"a":1e400 }|2|"<\u003c"`, `"x"`},
		{`{"nextLink":null,"value":[{}]}`, `{}`, "null"},
		{`{"\u0076alue":[1],"properties":{"value":2,"Value":3,"nextLink":"y"}}`, "1", ""},
	} {
		page, err := ParsePage([]byte(c.text))
		var elements [][]byte
		for _, e := range page.Elements {
			elements = append(elements, page.Text[e.begin:e.end])
		}
		if got := string(bytes.Join(elements, []byte("|"))); err != nil || got != c.elements || string(page.NextLink) != c.link || string(page.Text) != c.text {
			t.Errorf("%s: got %s, %s, %v", c.text, got, page.NextLink, err)
		}
		if page.NextLink != nil && !strings.HasPrefix(c.text[page.NextLinkOffset:], c.link) {
			t.Errorf("%s: the link is not at %d", c.text, page.NextLinkOffset)
		}
	}
	for _, text := range []string{
		"", "[]", "<html></html>", `{"value":[1,]}`, `{"value":[{"id":"/a"},{"id":`, `{"value":[]} x`, `{"value":["` + "\xff" + `"]}`,
		`{}`, `{"value":{}}`, `{"value":null}`, `{"value":"[]"}`, `{"values":[]}`, `{"properties":{"value":[]}}`,
		// Two readers could see two lists.
		`{"value":[],"value":[1]}`, `{"value":[],"Value":[1]}`, `{"VALUE":[]}`, `{"value":[],"v\u0061lue":[1]}`,
		`{"value":[],"nextLink":"a","nextLink":"b"}`, `{"value":[],"NextLink":"a"}`, `{"value":[],"nextlink":null}`, `{"nextLink":"a","value":[],"nextLin` + "\u212a" + `":"b"}`,
	} {
		if page, err := ParsePage([]byte(text)); err == nil {
			t.Errorf("%s: got %+v", text, page)
		}
	}
}

func TestParseLink(t *testing.T) {
	for _, c := range []struct{ text, link string }{
		{`{}`, ""},
		{`{"Value":1,"value":{},"VALUE":2}`, ""}, // an answer that is no list
		{` {"a":{"NextLink":"x"},"nextLink" : "y" } `, `"y"`},
		{`{"nextLink":null}`, "null"},
	} {
		page, err := ParseLink([]byte(c.text))
		if err != nil || string(page.NextLink) != c.link || string(page.Text) != c.text || page.NextLink != nil && !strings.HasPrefix(c.text[page.NextLinkOffset:], c.link) {
			t.Errorf("%s: got %+v, %v", c.text, page, err)
		}
	}
	for text, ambiguous := range map[string]bool{
		`{"nextLink":"a","nextLink":"b"}`: true, `{"NEXTLINK":"a"}`: true, `{"nextLink":null,"nextlink":"b"}`: true,
		"": false, `[{"nextLink":"a"}]`: false, `{"nextLink":"a"`: false,
	} {
		if page, err := ParseLink([]byte(text)); err == nil || errors.Is(err, ErrAmbiguous) != ambiguous {
			t.Errorf("%s: got %+v, %v", text, page, err)
		}
	}
}

func TestWithNextLink(t *testing.T) {
	for _, c := range []struct{ text, link, want string }{
		{"{ \"value\" : [1e400 , \"\\u003c<\"] ,\n\"nextLink\" : \"https://a/b\" , \"z\":1.10 }", `"c"`, "{ \"value\" : [1e400 , \"\\u003c<\"] ,\n\"nextLink\" : \"c\" , \"z\":1.10 }"},
		{`{"nextLink":"a","value":[{"nextLink":"a"}]}`, `null`, `{"nextLink":null,"value":[{"nextLink":"a"}]}`},
		{`{"value":[],"nextLink":"a"}`, `"a much longer link"`, `{"value":[],"nextLink":"a much longer link"}`},
		{`{"value":[],"nextLink":"same"}`, `"same"`, `{"value":[],"nextLink":"same"}`},
		{`{"value":[],"nextLink":null}`, `"b"`, `{"value":[],"nextLink":"b"}`},
		{`{"value":[]}`, `"b"`, `{"value":[]}`},
	} {
		page, err := ParsePage([]byte(c.text))
		must(t, err)
		if got := string(page.WithNextLink([]byte(c.link))); got != c.want || string(page.Text) != c.text {
			t.Errorf("%s with %s:\n got %s\nwant %s", c.text, c.link, got, c.want)
		}
	}
}

// Ids are folded as everywhere, also where that is done eight bytes at a time.
func TestFoldedIDs(t *testing.T) {
	for c := range 0x300 {
		for _, id := range []string{strings.Repeat("a", c%9) + string(rune(c)), "/SUBSCRIPTIONS/@[`{" + string(rune(c)) + "/resourceGroups/xyzXYZ"} {
			quoted, err := json.Marshal(id)
			must(t, err)
			page, err := ParsePage([]byte(`{"value":[{"id":` + string(quoted) + `}]}`))
			must(t, err)
			if got := string(foldID(nil, page, page.Elements[0])); got != arm.Fold(id) {
				t.Errorf("%q: got %q, want %q", id, got, arm.Fold(id))
			}
		}
	}
}
