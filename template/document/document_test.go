package document_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"portico/template/document"
)

func TestReadingKeepsValuesAndOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want string
		form             document.Form
	}{
		{"scalars", `{"s":"a\nb\u00e9\ud83d\ude00\/","i":-9223372036854775808,"f":1.50,"e":1e3,"b":true,"n":null}`,
			`{"s":"a\nbé😀/","i":-9223372036854775808,"f":1.5,"e":1000.0,"b":true,"n":null}`, document.Strict},
		{"a larger integer is a float", `[9223372036854775808]`, `[9.223372036854776E+18]`, document.Strict},
		{"order and casing", `{"b":1,"A":[{},[]]}`, `{"b":1,"A":[{},[]]}`, document.Strict},
		{"the last of a name counts", `{"a":1,"b":2,"a":3}`, `{"b":2,"a":3}`, document.Strict},
		{"half a pair", `["\ud83dx","\udc00"]`, "[\"\ufffdx\",\"\ufffd\"]", document.Strict},
		{"byte order mark", "\ufeff[]", `[]`, document.Strict},
		{"as az sends it", "{\"mode\": \"Incremental\", template:{// why\n \"a\": /* is\n it */ \"x\ny\", $b2: [1,],}, /**/}", `{"mode":"Incremental","template":{"a":"x\ny","$b2":[1]}}`, document.Relaxed},
		{"single quotes", `{'a"': 'it\'s "x"', "b": 'y'}`, `{"a\"":"it's \"x\"","b":"y"}`, document.Relaxed},
		{"a comment at the end", "[] // end", `[]`, document.Relaxed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, faults := document.Read([]byte(c.text), c.form, "InvalidTemplate")
			if len(faults) > 0 {
				t.Fatal(faults[0])
			}
			if got := d.Root.Value.JSON(); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestNamesThatDifferInCasingAlone(t *testing.T) {
	t.Parallel()
	many := ""
	for i := range 20 {
		many += fmt.Sprintf(`"m%d":0,`, i)
	}
	for name, more := range map[string]string{"few": "", "many": many} {
		d, faults := document.Read([]byte(`{`+more+`"x":1,"X":2,"Xy":3,"y":4,"x":5}`), document.Strict, "C")
		if len(faults) != 0 {
			t.Fatal(name, faults)
		}
		for member, want := range map[string]int64{"x": 5, "X": 2, "xy": 3, "Y": 4} {
			if got := d.Root.Member(member); got == nil || got.Value.Int() != want {
				t.Errorf("%s: %s is %v", name, member, got)
			}
		}
		if d.Root.Member("z") != nil || d.Root.Value.Len() != len(d.Root.Members) {
			t.Errorf("%s: %d members", name, len(d.Root.Members))
		}
		if got := d.Root.NameClashes("C"); len(got) != 1 || !strings.HasSuffix(got[0].Error(), ": $.x: C: the members 'X' and 'x' of one object differ in casing alone") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFaultsNameTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want string
		form             document.Form
	}{
		{"empty", ``, "1:1: $: C: the document ends where a value is expected", document.Relaxed},
		{"no comma", "{\n  \"a\": [1 2]}", "2:11: $.a: C: '2' stands where ',' or ']' is expected", document.Strict},
		{"behind the end", `{} x`, "1:4: $: C: 'x' stands where the end of the document is expected", document.Strict},
		{"comment", "[ // no\n]", "1:3: $: C: comments are not allowed in JSON", document.Strict},
		{"endless comment", "[ /* no\n]", "1:3: $: C: the comment that begins here has no end", document.Relaxed},
		{"unquoted", `{a: 1}`, "1:2: $: C: 'a' stands where a member's name in double quotes is expected", document.Strict},
		{"single quotes", `['a']`, "1:2: $[0]: C: '\\'' stands where a value is expected", document.Strict},
		{"line break", "{\"é\": \"x\ny\"}", "1:9: $['é']: C: a control character stands in a string without being escaped", document.Strict},
		{"open string", `["a`, "1:2: $[0]: C: the string that begins here has no closing quote", document.Strict},
		{"escape", `["\x"]`, "1:3: $[0]: C: the escape sequence that begins here is none of JSON's", document.Strict},
		{"number", `{"a":01}`, "1:6: $.a: C: what begins here is not a number of JSON", document.Strict},
		{"exponent", `[1e+-2]`, "1:2: $[0]: C: what begins here is not a number of JSON", document.Strict},
		{"word", `[nul]`, "1:2: $[0]: C: 'n' stands where a value is expected", document.Strict},
		{"encoding", "[\"\xff\"]", "1:3: $: C: the document is not in UTF-8 here", document.Strict},
		{"depth", strings.Repeat("[", 101), "1:101: $" + strings.Repeat("[0]", 100) + ": C: the document nests deeper than 100 levels", document.Strict},
		{"values", "[" + strings.Repeat("1,", 299_999) + "1]", "1:600000: $[299999]: C: the document holds more than 300000 values", document.Strict},
		{"size", strings.Repeat(" ", 4<<20+1), "1:1: $: C: the document has 4194305 bytes, and 4194304 are the most", document.Strict},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, faults := document.Read([]byte(c.text), c.form, "C")
			if len(faults) != 1 {
				t.Fatalf("%d faults", len(faults))
			}
			if got := faults[0].Error(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestFaultInsideAStringCountsItsEscapes(t *testing.T) {
	t.Parallel()
	d, _ := document.Read([]byte("{\"a\": [true,\n \"[a\\u0020\\n'é'b]\"]}"), document.Strict, "C")
	got := d.Root.Member("A").Elements[1].FaultAt(len("[a \n'é'"), "D", "here").Error()
	if want := "2:16: $.a[1]: D: here"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatIsWrittenReadsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(\{"[a-z]{1,3}":[0-9]{1,4}(,"[A-Z]{4}":\[(true|null|"[\\]n?é")\])?\}|-?[1-9][0-9]{0,3}(\.5)?)`).Draw(t, "text")
		d, faults := document.Read([]byte(text), document.Strict, "C")
		if len(faults) > 0 {
			t.Skip(faults[0])
		}
		written := d.Root.Value.JSON()
		again, faults := document.Read([]byte(written), document.Strict, "C")
		if len(faults) > 0 || !again.Root.Value.Equal(d.Root.Value) {
			t.Fatalf("%s became %s: %v", text, written, faults)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(`{"a":[1,-2.5e3,"x\u00e9\n"],b:{/* */}} // end`)
	f.Add(`{"a":1,"A":2,"a":3}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range []document.Form{document.Strict, document.Relaxed} {
			d, faults := document.Read([]byte(text), form, "C")
			for _, fault := range faults {
				if fault.Line < 1 || fault.Column < 1 || fault.Message == "" {
					t.Errorf("a fault without a place: %v", fault)
				}
			}
			if len(faults) > 0 {
				continue
			}
			if _, faults := document.Read(d.Root.Value.AppendJSON(nil), document.Strict, "C"); len(faults) > 0 {
				t.Errorf("%q is written with %v", text, faults)
			}
		}
	})
}
