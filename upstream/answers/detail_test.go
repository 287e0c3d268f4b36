package answers

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a provider said of a resource that it did not delete has its code and
// message as members, wherever it has them, and its details in ARM's form.
func TestDetails(t *testing.T) {
	const id = "/subscriptions/s/resourceGroups/g/providers/N.S/things/t"
	for text, want := range map[string]string{
		`{"error":{"code":"InUse","message":"by \"b\""}}`:                                   `"code":"InUse","target":"` + id + `","message":"by \"b\"","details":null,"additionalInfo":null`,
		`{"Error":{"Code":"InUse","Message":"m","Details":[]}}`:                             `"code":"InUse","target":"` + id + `","message":"m","details":null,"additionalInfo":null`,
		`{"code":"InUse","message":"m"}`:                                                    `"code":"InUse","target":"` + id + `","message":"m","details":null,"additionalInfo":null`,
		`{"error":{"code":"A","message":"m","target":"t","innererror":{"x":1}}}`:            `"code":"A","target":"` + id + `","message":"m","details":null,"additionalInfo":null`,
		`{"error":{"code":"A","message":"m","details":[{"code":"B","message":"n","x":1}]}}`: `"code":"A","target":"` + id + `","message":"m","details":[{"code":"B","message":"n","x":1}],"additionalInfo":null`,
		`{"error":{"code":"A","message":"m","additionalInfo":[{"type":"T","info":{"a":1}}]}}`: `"code":"A","target":"` + id + `","message":"m","details":null,` +
			`"additionalInfo":[{"type":"T","info":{"a":1}}]`,
		`{"error":{"code":"A","message":"m","details":"what","additionalInfo":7}}`: `"code":"A","target":"` + id + `","message":"m","details":null,` +
			`"additionalInfo":[{"type":"details","info":"what"},{"type":"additionalInfo","info":7}]`,
		`{"error":{"code":"A","message":"m","additionalInfo":[{"type":"T"}]}}`: `"code":"A","target":"` + id + `","message":"m","details":null,"additionalInfo":[{"type":"T","info":null}]`,
		// Of what is no such error the text is the message.
		`{"error":{"code":"A"}}`:             `"code":"A","target":"` + id + `","message":"{\"error\":{\"code\":\"A\"}}","details":null,"additionalInfo":null`,
		`{"error":{"message":"m"}}`:          `"code":null,"target":"` + id + `","message":"m","details":null,"additionalInfo":null`,
		`{"error":"no"}`:                     `"code":null,"target":"` + id + `","message":"{\"error\":\"no\"}","details":null,"additionalInfo":null`,
		`{"error":{"code":7,"message":"m"}}`: `"code":null,"target":"` + id + `","message":"m","details":null,"additionalInfo":[{"type":"code","info":7}]`,
		`"x"`:                                `"code":null,"target":"` + id + `","message":"\"x\"","details":null,"additionalInfo":null`,
		`Gone away.`:                         `"code":null,"target":"` + id + `","message":"Gone away.","details":null,"additionalInfo":null`,
	} {
		got, err := json.Marshal(NewDetail(id, text, 1<<10))
		if err != nil || string(got) != "{"+want+"}" {
			t.Errorf("%s\ngot  %s %v\nwant {%s}", text, got, err, want)
		}
	}
	// A bound shortens it, and breaks nothing.
	long := `{"error":{"code":"A","message":"` + strings.Repeat("é", 100) + `","details":[{"code":"B","message":"n"}]}}`
	if l := NewDetail(id, long, 50); *l.Code != "A" || l.Message != strings.Repeat("é", 25) || l.Details != nil {
		t.Errorf("%+v", l)
	}
}

// What is kept of a long refusal may end anywhere, and tells its code all the same.
func TestDetailsOfLongRefusals(t *testing.T) {
	const started = `{"error":{"code":"A","message":"m","details":[`
	for text, message := range map[string]string{
		started: "m", started + `{"code":"B","mess`: "m", `{"error":{"code":"A","message":"m`: `{"error":{"code":"A","message":"m`,
		`{"error":{"code":"A","details":[],"message":"m"`: "m", `{"x":{"code":"X"},"error":{"code":"A","message":"m"},"y":`: "m",
	} {
		if l := NewDetail("/x", text, 1<<10); l.Code == nil || *l.Code != "A" || l.Message != message || l.Details != nil {
			t.Errorf("%s became %+v", text, l)
		}
	}
}
