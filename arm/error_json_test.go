package arm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
)

// An error as a provider writes it is read with all that it says, and written in ARM's form.
func TestErrorsOfProviders(t *testing.T) {
	deep, want := `{"code":"D"}`, `{"code":"D","message":""}`
	for range mostLevels {
		deep, want = `{"code":"D","details":[`+deep+`]}`, `{"code":"D","message":"","details":[`+want+`]}`
	}
	for text, want := range map[string]string{
		`{"error":{"code":"A","message":"m"}}`:                                      `{"code":"A","message":"m"}`,
		`{"Error":{"Code":"A","Message":"m","Target":"t","Details":[]}}`:            `{"code":"A","message":"m","target":"t"}`,
		`{"code":"A","message":"m","traceId":1}`:                                    `{"code":"A","message":"m","traceId":1}`,
		`{"error":{"code":"A","message":"<&>","innererror":{"x":[1,{"y":"<"}]}}}`:   `{"code":"A","message":"<&>","innererror":{"x":[1,{"y":"<"}]}}`,
		`{"error":{"code":"A","message":"m","a\"b":1e400,"c":null}}`:                `{"code":"A","message":"m","a\"b":1e400}`,
		`{"error":{"code":"A","message":"m","details":[{"code":"B","x":{"z":1}}]}}`: `{"code":"A","message":"m","details":[{"code":"B","message":"","x":{"z":1}}]}`,
		`{"error":{"code":"A","message":"m","additionalInfo":[{"type":"T","info":{"a":1}}]}}`: `{"code":"A","message":"m",` +
			`"additionalInfo":[{"type":"T","info":{"a":1}}]}`,
		`{"error":{"code":7,"message":"m","target":["t"],"details":"what","additionalInfo":{}}}`: `{"code":"","message":"m",` +
			`"additionalInfo":[{"type":"code","info":7},{"type":"target","info":["t"]},{"type":"details","info":"what"},{"type":"additionalInfo","info":{}}]}`,
		`{"error":{"code":"A","details":[{"code":"B"},"words"]}}`:   `{"code":"A","message":"","additionalInfo":[{"type":"details","info":[{"code":"B"},"words"]}]}`,
		`{"error":{"code":"A","message":"m","details":[{"code":"B"`: `{"code":"A","message":"m"}`,
		`{"code":"A","message":"m","error":"of old"}`:               `{"code":"A","message":"m","error":"of old"}`,
		deep:                                    want,
		`{"code":"A","details":[` + deep + `]}`: strings.Replace(`{"code":"A","message":"","details":[`+want+`]}`, `"details":[{"code":"D","message":""}]`, `"additionalInfo":[{"type":"details","info":[{"code":"D"}]}]`, 1),
	} {
		got := ReadError([]byte(text))
		written, err := got.MarshalJSON()
		if err != nil || strings.TrimSpace(string(written)) != want {
			t.Errorf("%s\ngot  %s %v\nwant %s", text, written, err, want)
		}
		var again Error
		if err := json.Unmarshal(written, &again); err != nil || !bytes.Equal(again.Body(), got.Body()) {
			t.Errorf("%s is read as %s %v", written, again.Body(), err)
		}
	}
	for _, text := range []string{``, `x`, `{}`, `[]`, `null`, `"x"`, `{"error":"no"}`, `{"error":{"target":"t"}}`, `{"error":{"code":null}}`, `<html>`} {
		if e := ReadError([]byte(text)); e != nil {
			t.Errorf("%s is %+v", text, e)
		}
	}
}

// A cut error is JSON within its bound, says that it is cut, and has parts of all that it had.
func TestErrorsWithinABound(t *testing.T) {
	if e := (*Error)(nil).Within(1); e != nil {
		t.Error("none becomes one")
	}
	small := &Error{Code: "A", Message: "m", Details: []Error{{Code: "B"}}}
	if small.Within(ErrorBytes) != small {
		t.Error("a small one is cut")
	}
	long := &Error{Code: "A", Message: strings.Repeat("é\"<", 9<<10), Target: "t", AdditionalInfo: []AdditionalInfo{{Type: "T", Info: json.RawMessage(`{"a":1}`)}},
		Further: []AdditionalInfo{{Type: "innererror", Info: json.RawMessage(`{"b":1}`)}, {Type: "huge", Info: json.RawMessage(`"` + strings.Repeat("x", 99<<10) + `"`)}}}
	for i := range 8 {
		long.Details = append(long.Details, Error{Code: Code(fmt.Sprint("D", i)), Message: strings.Repeat("word ", 900), Target: "t", Details: []Error{{Code: "Inner", Message: strings.Repeat("w", 5000)}}})
	}
	cut := long.Within(32 << 10)
	text := string(cut.Body())
	for _, part := range []string{`"code":"A"`, `"target":"t"`, `{"type":"T","info":{"a":1}}`, `"innererror":{"b":1}`, `"D0"`, `"D7"`, `"Inner"`, fmt.Sprintf("part of an error of %d bytes", sizeOf(*long))} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %s: %s", part, text)
		}
	}
	if strings.Contains(text, "xxxx") || len(long.Details) != 8 || strings.Contains(long.Message, "part") {
		t.Errorf("%s", text)
	}
	random := rand.New(rand.NewSource(1))
	for range 60 {
		e, bound := randomError(random, 3), 512+random.Intn(8<<10)
		if got := e.Within(bound); !json.Valid(got.Body()) || sizeOf(*got) > bound {
			t.Fatalf("%d of %d: %s", sizeOf(*got), bound, got.Body())
		}
	}
}

func randomError(r *rand.Rand, levels int) *Error {
	words := func() string {
		return strings.Repeat([]string{"w", "é", "\"", "\x01", "😀", "<"}[r.Intn(6)], r.Intn(1+r.Intn(200)))
	}
	member := func() AdditionalInfo {
		info, _ := json.Marshal(words())
		return AdditionalInfo{Type: words(), Info: info}
	}
	e := &Error{Code: Code(words()), Message: words(), Target: words()}
	for range r.Intn(3) {
		e.AdditionalInfo, e.Further = append(e.AdditionalInfo, member()), append(e.Further, member())
	}
	for range r.Intn(6) * min(levels, 1) {
		e.Details = append(e.Details, *randomError(r, levels-1))
	}
	return e
}

func TestDetailsOfResources(t *testing.T) {
	for target, want := range map[string]string{
		"": `{"code":"A","message":"m","target":"/r"}`, "/R": `{"code":"A","message":"m","target":"/r"}`,
		"sku": `{"code":"A","message":"m","target":"/r","additionalInfo":[{"type":"target","info":"sku"}]}`,
	} {
		if got := (&Error{Code: "A", Message: "m", Target: target}).DetailOf("/r"); string(got.Body()) != `{"error":`+want+`}` {
			t.Errorf("%s", got.Body())
		}
	}
}
