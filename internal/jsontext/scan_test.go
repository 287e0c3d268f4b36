package jsontext

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/bits"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestObjectHandsOutBytesUnchanged(t *testing.T) {
	text := []byte(` {"a": 12345678901234567890 , "b\u0063":{"z":1,"a":[1e400, "<\u003c"]},"value":[ {} ,[]],"s":"x\ny"} `)
	var got []string
	if err := Object(text, func(m Member) error {
		got = append(got, string(m.Key)+"="+string(m.Value))
		if !bytes.Equal(m.Value, text[m.Offset:m.Offset+len(m.Value)]) {
			t.Errorf("%s is not at %d", m.Value, m.Offset)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := `a=12345678901234567890|bc={"z":1,"a":[1e400, "<\u003c"]}|value=[ {} ,[]]|s="x\ny"`
	if strings.Join(got, "|") != want {
		t.Errorf("got %s", strings.Join(got, "|"))
	}
}

func TestFaultsAreLocated(t *testing.T) {
	for text, want := range map[string]string{
		``:                                  "Unexpected end of content, where an object should stand. Path '', line 1, position 0.",
		`[]`:                                "Unexpected character '[', where an object should stand. Path '', line 1, position 0.",
		"{\n  \"a\": {\"b\": [1, x]}\n}":    "Unexpected character 'x', where a value should stand. Path 'a.b[1]', line 2, position 17.",
		`{"a":{"":[x]}}`:                    "Unexpected character 'x', where a value should stand. Path 'a.[0]', line 1, position 10.",
		`{"a":1,}`:                          "Unexpected character '}', where a property name should stand. Path '', line 1, position 7.",
		`{"a":01}`:                          "Unexpected character '1', where ',' or '}' should stand. Path '', line 1, position 6.",
		`{"a":"` + "\x01" + `"}`:            "Unexpected character '\\x01', where non-control character should stand. Path 'a', line 1, position 6.",
		`{} {}`:                             "Unexpected character '{', where the end should stand. Path '', line 1, position 3.",
		"{\"a\":\"\xff\"}":                  "the text is not UTF-8. Path '', line 1, position 6.",
		`{"a":` + strings.Repeat("[", 600):  "The content is nested deeper than 512 levels. Path 'a" + strings.Repeat("[0]", 511) + "', line 1, position 516.",
		`{"a":[1,]}`:                        "Unexpected character ']', where a value should stand. Path 'a', line 1, position 8.",
		`{"a":[1,{"b":2]}`:                  "Unexpected character ']', where ',' or '}' should stand. Path 'a', line 1, position 14.",
		`{"a":{"b":1}`:                      "Unexpected end of content. Path '', line 1, position 12.",
		`{"a":[1,tr`:                        "Unexpected end of content. Path 'a[1]', line 1, position 10.",
		`{"a`:                               "Unexpected end of content. Path '', line 1, position 3.",
		`{"a":"\u1`:                         "Unexpected end of content. Path 'a', line 1, position 9.",
		`{"a":-}`:                           "Unexpected character '}', where digit should stand. Path 'a', line 1, position 6.",
		`{1:2}`:                             "Unexpected character '1', where a property name should stand. Path '', line 1, position 1.",
		`{"a":}`:                            "Unexpected character '}', where a value should stand. Path 'a', line 1, position 5.",
		`{"a" 1}`:                           "Unexpected character '1', where ':' should stand. Path 'a', line 1, position 5.",
		`{"a/b~":[{"1":[x]}]}`:              "Unexpected character 'x', where a value should stand. Path 'a/b~[0].1[0]', line 1, position 15.",
		`{"a":"\ud8zz"}`:                    "Unexpected character 'u', where an escaped character should stand. Path 'a', line 1, position 7.",
		`{"a":"\x"}`:                        "Unexpected character 'x', where an escaped character should stand. Path 'a', line 1, position 7.",
		"{\"properties\":{\"size\":tru\n}}": "Unexpected character '\\n', where 'e' should stand. Path 'properties.size', line 1, position 25.",
	} {
		err := Object([]byte(text), nil)
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

// All ways to read a text count its levels from the outermost one.
func TestAllReadersBoundDepth(t *testing.T) {
	for levels, fits := range map[int]bool{maxDepth: true, maxDepth + 1: false} {
		nested := func(outside, inside string) []byte {
			n := levels - strings.Count(outside, "[") - strings.Count(outside, "{")
			return []byte(outside + strings.Repeat("[", n) + strings.Repeat("]", n) + inside)
		}
		object, page := nested(`{"v":`, "}"), nested(`{"v":[{"id":`, "}]}")
		for name, err := range map[string]error{
			"a value":   Valid(nested("", "")),
			"an object": Object(object, nil),
			"an array":  Array(nested("", ""), func(Element) error { return nil }),
			"elements":  Elements(object, "v", "id", nil, func(Element) error { return nil }),
			"a key":     Elements(page, "v", "id", nil, func(Element) error { return nil }),
		} {
			if (err == nil) != fits || !fits && !strings.Contains(err.Error(), "nested deeper than 512 levels") {
				t.Errorf("%s of %d levels: %v", name, levels, err)
			}
		}
	}
}

func TestVisitorStopsTheScan(t *testing.T) {
	stop := errors.New("stop")
	if err := Object([]byte(`{"a":1,"b":}`), func(Member) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	text := []byte(`{"location":"westus","tags":{"a":"b"},"properties":{"size":[1,2,3,{"deep":"er"}]}}`)
	var location []byte
	if n := testing.AllocsPerRun(100, func() {
		if err := Object(text, func(m Member) error {
			if string(m.Key) == "location" {
				location = m.Value
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}); n > 1 || string(location) != `"westus"` {
		t.Errorf("%v allocations, location %s", n, location)
	}
}

// The scanner must accept exactly what encoding/json accepts, but for what it
// bounds (depth, UTF-8).
func FuzzAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-0.5e+3,null,true,"\u00e9"]}`, `{"a":1,}`, `[}`, ` "x" `, `-`, `{"a" 1}`, "\xff", `{"\ud800":1}`, ` {"id" : "a\u0062" , "id":1}`, `{"i\u0064":"x","id":"y"}`, `{"x":{"id":"z"},"id":{"id":[1]}}`, `{"x":"\\","id":"\""}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Valid(text)
		want := json.Valid(text) && utf8.Valid(text)
		if (err == nil) != want && (err == nil || !strings.Contains(err.Error(), "nested deeper")) {
			t.Fatalf("%q: %v, encoding/json says %v", text, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), ". Path '") {
			t.Fatalf("%q: %v", text, err)
		}
		var members []string
		err = Object(text, func(m Member) error { members = append(members, string(m.Key)); return nil })
		if again := Elements(text, "a", "b", nil, func(Element) error { return nil }); (again == nil) != (err == nil) {
			t.Fatalf("%q: %v, in one pass %v", text, err, again)
		}
		if err != nil {
			return
		}
		var id []byte
		_ = Object(text, func(m Member) error {
			if string(m.Key) == "id" && id == nil {
				id = m.Value
			}
			return nil
		})
		wrapped := append(append([]byte(`{"v":[`), text...), "]}"...)
		if err := Elements(wrapped, "v", "id", nil, func(e Element) error {
			if !bytes.Equal(e.Key, id) || !bytes.Equal(e.Text, bytes.TrimSpace(text)) || e.Key != nil && !bytes.HasPrefix(wrapped[e.KeyAt:], id) {
				t.Fatalf("%q: the element %q has the id %q at %d, want %q", text, e.Text, e.Key, e.KeyAt, id)
			}
			return nil
		}); err != nil && !strings.Contains(err.Error(), "nested deeper") {
			t.Fatalf("%q: %v", text, err)
		}
		var decoded map[string]json.RawMessage
		if err := json.Unmarshal(text, &decoded); err != nil {
			t.Fatalf("%q is an object to the scanner alone: %v", text, err)
		}
		for _, m := range members {
			if _, known := decoded[m]; !known {
				t.Fatalf("%q: member %q is unknown to encoding/json", text, m)
			}
		}
	})
}

func TestElementsInOnePass(t *testing.T) {
	text := []byte(` {"n":[{"id":"no"}], "v\u0061lue" : [ {"x":{"id":0},"\u0069d":"\/a","id":"/b"} , 7,[{"id":1}],{"ID":1}, {} ] ,"value":{"id":1},"z":[]}`)
	var got []string
	err := Elements(text, "value", "id", func(m Member) error {
		got = append(got, "member "+string(m.Key))
		return nil
	}, func(e Element) error {
		if !bytes.Equal(e.Text, text[e.Offset:e.Offset+len(e.Text)]) {
			t.Errorf("%s is not at %d", e.Text, e.Offset)
		}
		got = append(got, string(e.Text)+" "+string(e.Key))
		return nil
	})
	want := `member n|{"x":{"id":0},"\u0069d":"\/a","id":"/b"} "\/a"|7 |[{"id":1}] |{"ID":1} |{} |member value|member value|member z`
	if strings.Join(got, "|") != want || err != nil {
		t.Errorf("got %s, %v", strings.Join(got, "|"), err)
	}
	stop := errors.New("stop")
	if err := Elements(text, "value", "id", nil, func(Element) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]string{
		`{"value":[1,{"a":x}]}`: "Path 'value[1].a', line 1, position 17.",
		`{"value":[1,]}`:        "Path 'value', line 1, position 12.",
		`{"value":[1 2]}`:       "Path 'value', line 1, position 12.",
		`{"value":[`:            "Path 'value', line 1, position 10.",
	} {
		err := Elements([]byte(text), "value", "id", nil, func(Element) error { return nil })
		if err == nil || !strings.HasSuffix(err.Error(), want) || err.Error() != Object([]byte(text), nil).Error() {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestArrayHandsOutElements(t *testing.T) {
	text := []byte(` [ {"a":[1]},"x" , null,[] ] `)
	var got []string
	if err := Array(text, func(e Element) error {
		got = append(got, string(e.Text))
		if !bytes.Equal(e.Text, text[e.Offset:e.Offset+len(e.Text)]) {
			t.Errorf("%s is not at %d", e.Text, e.Offset)
		}
		return nil
	}); err != nil || strings.Join(got, "|") != `{"a":[1]}|"x"|null|[]` {
		t.Errorf("got %s, %v", strings.Join(got, "|"), err)
	}
	stop := errors.New("stop")
	if err := Array([]byte(`[1,}`), func(Element) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if err := Array([]byte(`{}`), nil); err == nil || !strings.Contains(err.Error(), "where an array should stand") {
		t.Errorf("got %v", err)
	}
}

// What a string says is what encoding/json reads in it.
func TestTextOfEscapes(t *testing.T) {
	for _, quoted := range []string{
		`""`, `"a"`, `"\\"`, `"\/\"\b\f\n\r\t"`, `"x\u0041y\u00e9\u20AC\u0000"`, `"\ud83d\ude00"`, `"\uD83D\uDE00z"`,
		`"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"é\u00e9\\u0041"`,
	} {
		var want string
		if err := json.Unmarshal([]byte(quoted), &want); err != nil {
			t.Fatal(err)
		}
		got, ok := Text([]byte(quoted))
		if !ok || got != want {
			t.Errorf("%s: got %q, want %q", quoted, got, want)
		}
	}
}

// The path to a fault shows long names cut.
func TestPathsAreShort(t *testing.T) {
	err := Valid([]byte(`{"` + strings.Repeat("é", 1<<20) + `":x}`))
	if err == nil || len(err.Error()) > 400 || !strings.Contains(err.Error(), "éé…'") {
		t.Errorf("got %.1000v", err)
	}
}

// A fault at the bottom is looked for once, not once from each level.
func TestDeepFaultsAreCheap(t *testing.T) {
	text := []byte(strings.Repeat("[", 500) + strings.Repeat(`"",`, 1<<20) + "x")
	reads := testing.AllocsPerRun(1, func() {
		err := Valid(text)
		if err == nil || !strings.Contains(err.Error(), "[1048576]'") {
			t.Errorf("got %v", err)
		}
	})
	if reads > 2000 {
		t.Errorf("%v allocations", reads)
	}
}

// special finds the first byte that a string cannot hold as it is, whatever is beside it.
func TestSpecialBytes(t *testing.T) {
	for c := range 256 {
		want := c < ' ' || c == '"' || c == '\\'
		for _, beside := range []byte{' ', '!', '#', 'a', 0x7f, 0x80, 0xff} {
			for place := range 8 {
				var eight [8]byte
				for i := range eight {
					eight[i] = beside
				}
				eight[place] = byte(c)
				found := special(binary.LittleEndian.Uint64(eight[:]))
				if (found != 0) != want || want && bits.TrailingZeros64(found)/8 != place {
					t.Fatalf("%x: %x", eight, found)
				}
			}
		}
	}
}
