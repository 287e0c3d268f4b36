package yamltree

import (
	"reflect"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	r := &Report{}
	n := r.Parse("x.yaml", []byte(`
text: plain
quoted: "1"
single: 'true'
block: |
  a
whole: 8080
negative: -3
hexadecimal: 0x10
fraction: 1.5
power: 1.0e+3
"yes": true
"no": false
none: null
empty:
date: 2024-01-01
version: 1.2.3
list: [1, "1", {a: b}]
below: {deep: {er: []}, nothing: {}}
`))
	got := r.JSON(n)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"text": "plain", "quoted": "1", "single": "true", "block": "a\n", "whole": 8080.0, "negative": -3.0, "hexadecimal": 16.0,
		"fraction": 1.5, "power": 1000.0, "yes": true, "no": false, "none": nil, "empty": nil, "date": "2024-01-01", "version": "1.2.3",
		"list": []any{1.0, "1", map[string]any{"a": "b"}}, "below": map[string]any{"deep": map[string]any{"er": []any{}}, "nothing": map[string]any{}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

func TestWhatJSONCannotSayIsReported(t *testing.T) {
	r := &Report{}
	r.JSON(r.Parse("x.yaml", []byte("a: 1\nb: [.inf, .nan]\n")))
	faults := r.Err()
	if faults == nil || strings.Count(faults.Error(), "\n") != 1 || !strings.Contains(faults.Error(), `x.yaml:2: ".inf" cannot be written as JSON`) {
		t.Errorf("%v", faults)
	}
}
