package terminal

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// odd is a document with what YAML could take for something else.
const odd = `{"value":[{"id":"/a/B c","n":12345678901234567890,"f":1e3,"t":true,"z":null,"e":[],"o":{},"nested":[[1,[2]],{"a":{"b":["x"]}}]},
	"yes","No","null","~","1.5","0x1f","- a","a: b","a #b","","  x ","2026-01-02T03:04:05Z","=","<<","&a","*a","!t","|","%","@","a\nb","\"q\"","日本","\u001b[31m\u009b\u202e","\udb40\udc01","a\r\nb\n\n","\u00a0x","\\u0041","---","...","1:30","0o17","x:","😀"],
	"? a":1,"y":12345678901234567890,"a\u001b":1E-2,"":[],"<<":{},"{x":-0.5,"k: v":[[]],"\"q":"- ","nextLink":""}`

// What is written means the same as what came, and has nothing in it that a terminal
// obeys.
func TestDocumentsMeanWhatCame(t *testing.T) {
	var want any
	if err := json.Unmarshal([]byte(odd), &want); err != nil {
		t.Fatal(err)
	}
	for format, read := range map[Format]func([]byte, any) error{
		JSON: json.Unmarshal,
		YAML: func(text []byte, into any) error {
			var value any
			if err := yaml.Unmarshal(text, &value); err != nil {
				return err
			}
			inJSON, err := json.Marshal(value)
			if err != nil {
				return err
			}
			return json.Unmarshal(inJSON, into)
		},
	} {
		var b strings.Builder
		if err := format.WriteDocument(&b, []byte(odd)); err != nil {
			t.Fatal(err)
		}
		var got any
		if err := read([]byte(b.String()), &got); err != nil {
			t.Fatalf("%s: %v\n%s", format, err, b.String())
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s means\n%v\nwant\n%v\n%s", format, got, want, b.String())
		}
		if i := strings.IndexAny(b.String(), "\x1b\u009b\u202e\U000e0001"); i >= 0 {
			t.Errorf("%s holds a character that is not seen", format)
		}
	}
}

func TestListsAreDocuments(t *testing.T) {
	for format, wants := range map[Format][2]string{
		JSON: {"{\n  \"value\": []\n}\n", "{\n  \"value\": [\n    {\n      \"a\": 1\n    },\n    {\n      \"b\": [\n        2\n      ]\n    }\n  ]\n}\n"},
		YAML: {"value: []\n", "value:\n- a: 1\n- b:\n    - 2\n"},
	} {
		for n, want := range wants {
			var b strings.Builder
			err := format.WriteList(&b, func(yield func(json.RawMessage, error) bool) {
				if n == 1 {
					_ = yield(json.RawMessage(`{"a":1}`), nil) && yield(json.RawMessage(`{"b":[2]}`), nil)
				}
			}, nil)
			if err != nil || b.String() != want {
				t.Errorf("%s: %v\n%s\nwant\n%s", format, err, b.String(), want)
			}
		}
	}
}

func TestCleanLeavesNothingThatATerminalObeys(t *testing.T) {
	if got := Clean("a\x1b[2J\r\nb\u202e\u009bc\td 👩‍🚀"); got != "a�[2J  b��c d 👩‍🚀" {
		t.Errorf("%q", got)
	}
}
