package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"
)

// decodedResource is a resource's JSON as encoding/json decodes it.
type decodedResource struct {
	Details
	ID         decodedText `json:"id"`
	Kind       decodedText `json:"kind"`
	ManagedBy  decodedText `json:"managedBy"`
	Tags       decodedTags `json:"tags"`
	Properties struct {
		ProvisioningState string `json:"provisioningState"`
	} `json:"properties"`
}

type (
	decodedText struct{ textMember }
	decodedTags struct{ tagsMember }
)

func (m *decodedText) UnmarshalJSON(text []byte) error {
	m.read(text)
	return nil
}

func (m *decodedTags) UnmarshalJSON(text []byte) error {
	m.read(text)
	return nil
}

func decodeResource(text []byte) resourceText {
	var d decodedResource
	err := json.Unmarshal(text, &d)
	if err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) || string(bytes.TrimSpace(text)) == "null" {
		return resourceText{}
	}
	return resourceText{
		Details: d.Details, ID: d.ID.textMember, Kind: d.Kind.textMember, ManagedBy: d.ManagedBy.textMember, Tags: d.Tags.tagsMember,
		State: d.Properties.ProvisioningState, readable: err == nil,
	}
}

// A resource is read as encoding/json would decode it.
func FuzzReadResource(f *testing.F) {
	for _, text := range []string{
		`{"id":"/a","Kind":"k","managedBy":null,"tags":{"a":"1"},"Tags":{"b":null},"properties":{"provisioningState":"Creating","x":[1,{"y":"z"}]},"sku":{"n":1},"zones":["1"],"plan":null,"identity":7}`,
		`{"properties":{"provisioningState":"A"},"PROPERTIES":{"ProvisioningState":"B"},"propertie\u017f":{"provisioning\u017ftate":"C"}}`,
		`{"properties":{"provisioningState":7,"provisioningstate":"x"}}`, `{"properties":[]}`, `{"properties":null}`, `{"\u212aind":"k","kind":1}`,
		` null `, `nul`, `[]`, `"Creating"`, `5`, ``, `{"id":"a"} x`, "{\"properties\":{\"provisioningState\":\"\xff\xfe\\ud800\"}}", "\u00a0null", `{"tags":5}`, `{"":1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, want := readResource(text), decodeResource(text)
		if !utf8.Valid(text) { // what is no text is replaced in another way
			if got.readable != want.readable || got.ID.misfit != want.ID.misfit || got.Tags.misfit != want.Tags.misfit || (got.State == "") != (want.State == "") {
				t.Errorf("%q:\n got %+v\nwant %+v", text, got, want)
			}
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", text, got, want)
		}
	})
}
