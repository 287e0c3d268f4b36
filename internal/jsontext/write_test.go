package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"
)

// written is a struct with a member of each kind.
type written struct {
	Text     string         `json:"text"`
	Left     string         `json:"left,omitempty"`
	True     bool           `json:"true,omitempty"`
	Number   int            `json:"number"`
	Count    int            `json:"count,omitempty"`
	Time     time.Time      `json:"time,omitzero"`
	Bytes    [3]byte        `json:"bytes"`
	Nested   struct{}       `json:"nested"`
	Anything map[string]int `json:"anything"`
}

func (w *written) appendJSON(behind []byte) ([]byte, error) {
	o := BeginObject(behind)
	o.Text("text", w.Text)
	o.OptionalText("left", w.Left)
	o.OptionalTrue("true", w.True)
	o.Number("number", w.Number)
	o.OptionalNumber("count", w.Count)
	o.OptionalTime("time", w.Time)
	o.Bytes("bytes", w.Bytes[:])
	o.Append("nested", func(behind []byte) ([]byte, error) { return BeginObject(behind).End() })
	o.Value("anything", w.Anything)
	return o.End()
}

func TestObjectsAreAsEncodingJSONWritesThem(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, w := range []written{
		{},
		{Text: "a", Left: "b", True: true, Number: -7, Count: math.MaxInt, Time: time.Unix(1, 5).UTC(), Bytes: [3]byte{0, 9, 255}, Anything: map[string]int{"a": 1}},
		{Text: string(every), Left: "{"},
	} {
		want, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := w.appendJSON([]byte("{")); err != nil || string(got) != "{"+string(want) {
			t.Errorf("%v\n got %s\nwant {%s", err, got, want)
		}
	}
	for c := range every { // alone, so that none hides behind another
		want, err := json.Marshal(struct {
			Text string `json:"t"`
		}{string(every[c : c+1])})
		if err != nil {
			t.Fatal(err)
		}
		o := BeginObject(nil)
		o.Text("t", string(every[c:c+1]))
		if got, err := o.End(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%#x: %s, want %s", c, got, want)
		}
	}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	broken := errors.New("broken")
	for name, write := range map[string]func(*ObjectWriter){
		"a time":  func(o *ObjectWriter) { o.OptionalTime("a", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) },
		"a value": func(o *ObjectWriter) { o.Value("a", math.NaN()) },
		"a part":  func(o *ObjectWriter) { o.Append("a", func([]byte) ([]byte, error) { return nil, broken }) },
	} {
		o := BeginObject(nil)
		write(o)
		o.Text("b", "c")
		if text, err := o.End(); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}
