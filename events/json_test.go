package events

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"portico/arm"
)

// texts are what may stand in a member.
var texts = []string{
	"", "plain", `quoted "and\slashed`, "<b>&amp;</b>", "é, 漢, 🙂", "line\nbreak\ttab\x00\x1f\x7f", "\u2028\u2029", "not \xff UTF-8 \xc3", "~ !",
}

// fill fills what v holds with values of its kinds, each zero now and then.
func fill(t *testing.T, v reflect.Value, draw *rand.Rand) {
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = []time.Time{{}, time.Unix(1700000000, int64(draw.IntN(1e9))).UTC(), time.Unix(1700000000, 0).In(time.FixedZone("", 5400))}[draw.IntN(3)]
		return
	case **arm.Error:
		*at = []*arm.Error{nil, {Status: 409, Code: "Conflict", Message: texts[draw.IntN(len(texts))], Target: texts[draw.IntN(len(texts))]}}[draw.IntN(2)]
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), draw)
		}
	case reflect.String:
		v.SetString(texts[draw.IntN(len(texts))])
	case reflect.Bool:
		v.SetBool(draw.IntN(2) == 0)
	case reflect.Int:
		v.SetInt(int64(draw.IntN(3)-1) * draw.Int64N(1<<40))
	default:
		t.Fatalf("no values for a %v", v.Type())
	}
}

func TestNotificationsAreWrittenAsByEncodingJSON(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var reported Payload
		fill(t, reflect.ValueOf(&reported).Elem(), draw)
		want, err := json.Marshal(reported)
		if err != nil {
			t.Fatal(err)
		}
		got, err := reported.AppendJSON([]byte("before"))
		if err != nil || !bytes.Equal(got, append([]byte("before"), want...)) {
			t.Fatalf("%v\n got %s\nwant       %s", err, got, want)
		}
	}
}

func TestATimeThatJSONDoesNotHaveIsRefused(t *testing.T) {
	reported := Payload{Began: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if text, err := reported.AppendJSON(nil); err == nil {
		t.Errorf("written: %s", text)
	}
}

func FuzzText(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cause := Cause{Name: text, URI: text}
		want, err := json.Marshal(cause)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cause.AppendJSON(nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	})
}
