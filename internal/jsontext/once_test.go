package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestOnce(t *testing.T) {
	for text, want := range map[string]bool{
		`{"id":"a"}`: true,
		`{ "x" : {"id":1,"ID":2} , "id" : [ ] , "y":1}`: true,
		`{"id":{"a":1},"idd":2,"i":3,"Name":"id"}`:      true,
		`{}`:                        false,
		`{ }`:                       false,
		`{"x":{"id":1}}`:            false,
		`{"id":1,"id":1}`:           false,
		`{"id":1,"ID":2}`:           false,
		`{"Id":1,"id":2}`:           false,
		`{"Id":1}`:                  false,
		`{"\u0069d":1}`:             false,
		`{"id":1,"\u0069d":2}`:      false,
		`{"id":1,"i\u0044":2}`:      false,
		`{"x\u0069":"\"","id":"}"}`: true,
		`["id"]`:                    false,
		`"id"`:                      false,
		``:                          false,
	} {
		if got := Once([]byte(text), "id"); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
	text := []byte(`{"id":"/a","tags":{"id":"x"},"n":[1,2,{"id":3}]}`)
	if n := testing.AllocsPerRun(100, func() { Once(text, "id") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzOnce compares with a decoder that hands out all names.
func FuzzOnce(f *testing.F) {
	for _, seed := range []string{`{"id":1}`, `{"Id":{"id":2},"i\u0064":3}`, `{"a":[{}],"id" : "x"}`, "{\"\u0131d\":1,\"id\":2}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimSpace(text)
		if Object(text, nil) != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(text))
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		times, exact := 0, 0
		for d.More() {
			name, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
			if s, ok := name.(string); ok && strings.EqualFold(s, "id") {
				times++
				if s == "id" {
					exact++
				}
			}
		}
		if got := Once(text, "id"); got && (times != 1 || exact != 1) || !got && times == 1 && exact == 1 && !bytes.Contains(text, []byte(`\u`)) {
			t.Errorf("%s: got %v, %d times, %d as it is", text, got, times, exact)
		}
	})
}
