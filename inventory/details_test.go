package inventory

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"portico/arm"
	"portico/inventory/index"
)

// What a resource says of its state counts whatever is wrong with its other
// members: taken for terminal, a resource that is being made would not be
// followed, and one that is being deleted would be called alive.
func TestStateIsReadBesideWhatIsNoDetail(t *testing.T) {
	for text, want := range map[string]struct {
		state   index.Report
		details bool
	}{
		`{"kind":"k","properties":{"provisioningState":"Creating"}}`:                  {index.Reported("Creating"), true},
		`{"kind":5,"properties":{"provisioningState":"Creating"}}`:                    {index.Reported("Creating"), false},
		`{"properties":{"provisioningState":"Deleting"},"tags":{"a":1}}`:              {index.Reported("Deleting"), false},
		`{"tags":["a"],"managedBy":{},"properties":{"provisioningState":"Updating"}}`: {index.Reported("Updating"), false},
		`{"properties":{"provisioningState":7}}`:                                      {},
		`{"properties":[]}`:                                                           {},
		`{"properties":null,"tags":null}`:                                             {index.Reported(""), true},
		`{}`:                                                                          {index.Reported(""), true},
		`{"kind":5}`:                                                                  {index.Reported(""), false},
		`{"properties":{"provisioningState":"Creating"}`:                              {},
		`"Creating"`: {}, ``: {}, `null`: {}, `[]`: {}, `[{"properties":{"provisioningState":"Succeeded"}}]`: {}, `<html>`: {}, `{} x`: {}, `7`: {},
		"\xff\xfe{\x00}\x00": {},
	} {
		state, details := ReadDetails([]byte(text))
		if state != want.state || (details != nil) != want.details {
			t.Errorf("%s: %+v, %v", text, state, details)
		}
		if o, readable := ReadObservation([]byte(text)); readable != want.state.Readable() || readable && o.ProvisioningState != want.state.State() {
			t.Errorf("%s: %+v %v", text, o, readable)
		}
	}
}

// Of details as many are read as there may be: more tags than any resource has
// take them away, as what is of the wrong kind does, and the state stays.
func TestDetailsAreBounded(t *testing.T) {
	tagged := func(n int) string {
		var tags strings.Builder
		for i := range n {
			fmt.Fprintf(&tags, `,"%d":""`, i)
		}
		return `{"id":"/a","tags":{` + strings.TrimPrefix(tags.String(), ",") + `},"properties":{"provisioningState":"Updating"}}`
	}
	for text, details := range map[string]bool{
		tagged(arm.MaxTags): true, tagged(arm.MaxTags + 1): false,
		`{"properties":{"provisioningState":"Updating"},"id":"/a",` + strings.Repeat(`"tags":{},`, 17) + `"kind":"k"}`: false,
		`{"properties":{"provisioningState":"Updating"},"id":"/a","tags":{"a":"` + "\xff" + `"}}`:                      false,
	} {
		o, _ := ReadObservation([]byte(text))
		if o.ID != "/a" || o.ProvisioningState != "Updating" || (o.Details != nil) != details {
			t.Errorf("%.80s: %.300v", text, o)
		}
	}
	o, _ := ReadObservation([]byte(`{"id":1,"ID":"/\u0061","kind":null,"managedBy":"\u0062","tags":{"a":"1"},"Tags":{"\u0062":"\u0063","d":null},"sku":{"x": 1}}`))
	if d := o.Details; o.ID != "/a" || d == nil || d.Kind != "" || d.ManagedBy != "b" || string(d.SKU) != `{"x": 1}` ||
		!maps.Equal(d.Tags, map[string]string{"a": "1", "b": "c", "d": ""}) {
		t.Errorf("%+v %+v", o, o.Details)
	}
}
