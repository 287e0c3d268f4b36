package routing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"portico/arm"
)

func TestReadObject(t *testing.T) {
	for _, c := range []struct {
		text string
		want Body
	}{
		{`{}`, Body{}},
		{` {"location":"West US","name":1} `, Body{Location: "West US", HasLocation: true}},
		{`{"location":""}`, Body{HasLocation: true}},
		{`{"location":null,"tags":null}`, Body{}},
		{`{"loc\u0061tion":"\u0077estus"}`, Body{Location: "westus", HasLocation: true}},
		{`{"properties":{"location":"a","Location":1,"tags":2},"x":[{"location":3}],"locations":4,"tag":5}`, Body{}},
		{`{"tags":{}}`, Body{Tags: map[string]string{}, HasTags: true}},
		{`{"tags":{"a":"1","A":"2","b":"","\u0063":"\u00e9"}}`, Body{Tags: map[string]string{"a": "1", "A": "2", "b": "", "c": "é"}, HasTags: true}},
	} {
		got, fault := ReadObject([]byte(c.text))
		if fault != nil || got.Location != c.want.Location || got.HasLocation != c.want.HasLocation ||
			got.HasTags != c.want.HasTags || !maps.Equal(got.Tags, c.want.Tags) {
			t.Errorf("%s: got %+v, %v", c.text, got, fault)
		}
	}
}

func TestReadObjectRefusals(t *testing.T) {
	for _, c := range []struct{ text, message, target string }{
		{``, "Unexpected end of content, where an object should stand. Path '', line 1, position 0.", ""},
		{`[]`, "Unexpected character '[', where an object should stand. Path '', line 1, position 0.", ""},
		{"{\"a\":\n{\"b\":x}}", "Unexpected character 'x', where a value should stand. Path 'a.b', line 2, position 5.", ""},
		{`{"location":"a"} x`, "Unexpected character 'x', where the end should stand. Path '', line 1, position 17.", ""},
		{`{"location":"a","location":"a"}`, "The member 'location' occurs twice. Path 'location'", "location"},
		{`{"location":null,"location":"a"}`, "The member 'location' occurs twice. Path 'location'", "location"},
		{`{"location":"a","Location":"a"}`, "The member 'location' occurs twice. Path 'location'", "location"},
		{`{"location":"a","loc\u0061tion":"b"}`, "The member 'location' occurs twice. Path 'location'", "location"},
		{`{"LOCATION":"a"}`, "The member 'LOCATION' is spelled 'location'. Path 'LOCATION'", "LOCATION"},
		{`{"Tags":{}}`, "The member 'Tags' is spelled 'tags'. Path 'Tags'", "Tags"},
		{`{"tagſ":{}}`, "The member 'tagſ' is spelled 'tags'. Path 'tagſ'", "tagſ"},
		{`{"tags":{},"tags":{}}`, "The member 'tags' occurs twice. Path 'tags'", "tags"},
		{`{"tags":null,"TAGS":{}}`, "The member 'tags' occurs twice. Path 'tags'", "tags"},
		{`{"location":1}`, "The location is no string. Path 'location'", "location"},
		{`{"location":["a"]}`, "The location is no string. Path 'location'", "location"},
		{`{"tags":"a"}`, "The tags are no object. Path 'tags'", "tags"},
		{`{"tags":[]}`, "The tags are no object. Path 'tags'", "tags"},
		{`{"tags":{"a":1}}`, "A tag's value is no string. Path 'tags'", "tags"},
		{`{"tags":{"a":"1","b":null}}`, "A tag's value is no string. Path 'tags'", "tags"},
		{`{"tags":{"a":{}}}`, "A tag's value is no string. Path 'tags'", "tags"},
		{`{"tags":{"a":"1","\u0061":"2"}}`, "The tag name 'a' occurs twice. Path 'tags'", "tags"},
	} {
		_, fault := ReadObject([]byte(c.text))
		want := "The request content was invalid and could not be deserialized: '" + c.message + "'."
		if fault == nil || fault.Code != arm.InvalidRequestContent || fault.Status != 400 || fault.Message != want || fault.Target != c.target {
			t.Errorf("%s:\n got %+v\nwant %s", c.text, fault, want)
		}
	}
}

// Tags beyond MaxTags are counted, not read; a location that is too long is refused.
func TestReadObjectCountsFirst(t *testing.T) {
	for n, kept := range map[int]int{3: 3, arm.MaxTags: arm.MaxTags, arm.MaxTags + 1: 0} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `,"%d":""`, i)
		}
		body, fault := ReadObject([]byte(`{"tags":{` + text.String()[1:] + `}}`))
		if fault != nil || !body.HasTags || body.TagCount != n || len(body.Tags) != kept {
			t.Errorf("%d: got %d, %d kept, %v", n, body.TagCount, len(body.Tags), fault)
		}
	}
	_, fault := ReadObject([]byte(`{"location":"` + strings.Repeat("x", 1023) + `"}`))
	if fault == nil || !strings.Contains(fault.Message, "The location has 1025 bytes, and may have 1024. Path 'location'") || fault.Target != "location" {
		t.Errorf("got %v", fault)
	}
}

func TestCheckJSON(t *testing.T) {
	for _, text := range []string{"", "{}", " [1] ", `"x"`, "null"} {
		if fault := CheckJSON([]byte(text)); fault != nil {
			t.Errorf("%q: %v", text, fault)
		}
	}
	for _, text := range []string{" ", "{", "x", "{} {}", "\xff"} {
		if fault := CheckJSON([]byte(text)); fault == nil || fault.Code != arm.InvalidRequestContent {
			t.Errorf("%q: %v", text, fault)
		}
	}
}

func TestCheckContentType(t *testing.T) {
	content := []byte("{}")
	for _, sent := range []string{"application/json", "APPLICATION/JSON", "application/json; charset=utf8", "  application/json  ;  charset=utf-8", "text/json", "application/merge-patch+json", "application/json;", `application/json; charset="US-ASCII"`, "application/json; charset=ISO-8859-1", "application/json; x"} {
		if err := CheckContentType(http.Header{"Content-Type": {sent}}, content); err != nil {
			t.Errorf("%q: %v", sent, err)
		}
	}
	for _, sent := range [][]string{
		nil, {""}, {"text/plain"}, {"plain/text"}, {"application/xml"}, {"json"}, {"application/jsonx"}, {"text/x+json"}, {"application/json, application/json"},
		{"application/json", "text/plain"}, {"application/json; a=b", "application/json"},
		{"application/json; charset=utf-7"}, {"application/json; charset=UTF-16"}, {"application/json; x; charset=utf-16"}, {"application/json; charset=utf-8; charset=utf-7"},
	} {
		err := CheckContentType(http.Header{"Content-Type": sent}, content)
		fault, ok := err.(*arm.Error) //nolint:errorlint // it is returned bare
		if !ok || fault.Status != 415 || fault.Code != arm.UnsupportedMediaType || fault.Target != "Content-Type" {
			t.Errorf("%q: %v", sent, err)
		}
	}
	for _, coding := range [][]string{{"gzip"}, {"identity, gzip"}, {"identity", "br"}, {"aws-chunked"}} {
		err := CheckContentType(http.Header{"Content-Type": {"application/json"}, "Content-Encoding": coding}, content)
		fault, ok := err.(*arm.Error) //nolint:errorlint // as above
		if !ok || fault.Status != 415 || fault.Code != arm.UnsupportedMediaType || fault.Target != "Content-Encoding" {
			t.Errorf("%q: %v", coding, err)
		}
	}
	for _, coding := range []string{"", "Identity"} {
		if err := CheckContentType(http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {coding}}, content); err != nil {
			t.Errorf("%q: %v", coding, err)
		}
	}
	if err := CheckContentType(http.Header{"Content-Type": {"text/plain"}, "Content-Encoding": {"gzip"}}, nil); err != nil {
		t.Errorf("without content: %v", err)
	}
}

// What encoding/json reads, ReadObject reads alike, except texts that two parsers could
// read in two ways.
func FuzzReadObject(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		body, fault := ReadObject(text)
		if fault != nil && (fault.Code != arm.InvalidRequestContent || fault.Status != 400) {
			t.Fatalf("%q: %+v", text, fault)
		}
		location, plain := decodeLocation(text)
		switch {
		case fault == nil && !json.Valid(text):
			t.Fatalf("%q: accepted, and no JSON", text)
		case fault != nil && plain && !strings.Contains(fault.Message, "nested deeper"):
			t.Fatalf("%q: %v", text, fault)
		case fault == nil && plain && (body.HasLocation != (location != nil) || location != nil && *location != body.Location):
			t.Fatalf("%q: got %+v, encoding/json has %v", text, body, location)
		}
	})
}

// decodeLocation reads the location by encoding/json, nil if it is absent or null.
// plain reports whether the content is an object without tags, with a string as
// location and an unambiguous spelling.
func decodeLocation(text []byte) (location *string, plain bool) {
	var decoded struct {
		Location *string `json:"location"`
	}
	if !utf8.Valid(text) || !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) || json.Unmarshal(text, &decoded) != nil {
		return nil, false
	}
	members := json.NewDecoder(bytes.NewReader(text))
	_, _ = members.Token() // this is the brace: the text is an object
	for seen := 0; members.More(); {
		token, err := members.Token()
		key, ok := token.(string)
		var value json.RawMessage
		if err != nil || !ok || members.Decode(&value) != nil {
			return nil, false
		}
		if strings.EqualFold(key, "location") {
			seen++
		}
		if strings.EqualFold(key, "tags") || seen > 1 || strings.EqualFold(key, "location") && key != "location" {
			return nil, false
		}
	}
	return decoded.Location, true
}
