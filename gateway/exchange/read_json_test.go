package exchange

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a model of Portico's own does not take is told with its place, as ARM
// does.
func TestPlacesOfWrongMembers(t *testing.T) {
	type inner struct {
		Level string            `json:"level"`
		Any   json.RawMessage   `json:"any"`
		Tags  map[string]string `json:"tags"`
	}
	type model struct {
		inner
		Name       string   `json:"name,omitempty"`
		Properties *inner   `json:"properties"`
		List       []string `json:"list"`
	}
	const (
		begin = "The request content was invalid and could not be deserialized: '"
		wrong = "A value of the kind 'number' cannot stand here. Path '"
	)
	for _, c := range []struct{ content, want, target string }{
		{`{"NAME":"a","level":"b","properties":{"level":"c","any":{"x":1},"tags":{"y":"z"}}}`, "", ""},
		{`{"name":"a","foo":1}`, "Could not find member 'foo'. Path 'foo', line 1, position 18.", "foo"},
		{"{\n \"name\":\"a\",\r\n \"properties\": {\n  \"level\":\"b\",\n  \"name\" : 1}}", "Could not find member 'name'. Path 'properties.name', line 5, position 11.", "properties.name"},
		{`{"f\u006fo":null}`, "Could not find member 'foo'. Path 'foo', line 1, position 12.", "foo"},

		{"{\"name\":\n 1}", wrong + "name', line 2, position 2.", "name"},
		{`{"properties":{"level":7}}`, wrong + "properties.level', line 1, position 24.", "properties.level"},

		{`{"name":"a","properties":{"tags":{` + strings.Repeat(`"a":"",`, 2000) + `"a":""}}}`, "properties.tags holds 2001 members, and may hold 2000. Path 'properties.tags', line 1, position 33.", "properties.tags"},
		{`{"list":[` + strings.Repeat(`"",`, 2000) + `""]}`, "list holds 2001 elements, and may hold 2000. Path 'list', line 1, position 8.", "list"},
		{`{` + strings.Repeat(`"name":"",`, 100) + `"name":""}`, "The content holds 101 members, and may hold 100. Path '', line 1, position 0.", ""},
		{` {"properties": {` + strings.Repeat(`"a":"",`, 100) + `"name":""}}`, "properties holds 101 members, and may hold 100. Path 'properties', line 1, position 16.", "properties"},
		{``, "Unexpected end of content. Path ''", ""},
		{`{"name":}`, "Unexpected character '}', where a value should stand. Path 'name', line 1, position 8.", ""},
		{`{} {}`, "Unexpected character '{', where the end should stand. Path '', line 1, position 3.", ""},
	} {
		fault := ReadJSON([]byte(c.content), &model{})
		switch {
		case c.want == "" && fault == nil:
		case fault == nil:
			t.Errorf("%s is taken", c.content)
		case fault.Message != begin+c.want+"'." || fault.Target != c.target || fault.Status != 400 || fault.Code != "InvalidRequestContent":
			t.Errorf("%s\ngot  %q about %q\nwant %q about %q", c.content, fault.Message, fault.Target, begin+c.want+"'.", c.target)
		}
	}
}
