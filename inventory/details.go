package inventory

import (
	"encoding/json"
	"errors"
	"strings"

	"portico/arm"
	"portico/jsonscan"
)

// ReadObservation reads the JSON of a resource that was found.
func ReadObservation(text []byte) Observation {
	said := readResource(text)
	return Observation{Found: true, ID: said.ID.text, ProvisioningState: said.Properties.ProvisioningState, Details: said.details()}
}

// ReadDetails reads from a resource's JSON what the index keeps of it. Other text
// gives no state, and nil. A member of the wrong kind, such as a tag that is a
// number, takes the details away, and so do more tags than [arm.MaxTags]; the state
// stays, as it says whether the resource is still being worked on.
func ReadDetails(text []byte) (provisioningState string, _ *Details) {
	said := readResource(text)
	return said.Properties.ProvisioningState, said.details()
}

// resourceText is a resource's JSON. Texts and tags have methods that read them: a
// resource with a million of the wrong kind costs no error each.
type resourceText struct {
	Details
	ID         textMember `json:"id"`
	Kind       textMember `json:"kind"`
	ManagedBy  textMember `json:"managedBy"`
	Tags       tagsMember `json:"tags"`
	Properties struct {
		ProvisioningState string `json:"provisioningState"`
	} `json:"properties"`

	readable bool // also the members that have no methods of their own
}

func readResource(text []byte) (said resourceText) {
	err := json.Unmarshal(text, &said)
	said.readable = err == nil
	if err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) { // else the rest has been read
		return resourceText{}
	}
	return said
}

func (said resourceText) details() *Details {
	if !said.readable || said.Kind.misfit || said.ManagedBy.misfit || said.Tags.misfit {
		return nil
	}
	details := said.Details
	details.Kind, details.ManagedBy, details.Tags = said.Kind.text, said.ManagedBy.text, said.Tags.tags
	return &details
}

// textMember is a member that is a text, or null.
type textMember struct {
	text   string
	misfit bool
}

// UnmarshalJSON implements json.Unmarshaler. It refuses nothing, so that the rest of
// the resource is read.
func (m *textMember) UnmarshalJSON(text []byte) error {
	if said, ok := jsonscan.Text(text); ok {
		m.text = strings.ToValidUTF8(said, "\uFFFD")
	} else if !jsonscan.Null(text) {
		m.misfit = true
	}
	return nil
}

// tagsMember is a member that holds tags, or null.
type tagsMember struct {
	tags   map[string]string
	seen   int // how often the resource has it
	misfit bool
}

// mostSeen is how often a resource may have its tags, which it should once.
const mostSeen = 16

// UnmarshalJSON implements json.Unmarshaler. It refuses nothing either.
func (m *tagsMember) UnmarshalJSON(text []byte) error {
	if jsonscan.Null(text) {
		m.tags = nil
		return nil
	}
	if m.seen++; m.misfit || m.seen > mostSeen || text[0] != '{' {
		m.misfit = true
		return nil
	}
	if m.tags == nil {
		m.tags = map[string]string{}
	}
	m.misfit = jsonscan.Object(text, m.add) != nil
	return nil
}

func (m *tagsMember) add(tag jsonscan.Member) error {
	value, ok := jsonscan.Text(tag.Value)
	if len(m.tags) == arm.MaxTags || !ok && !jsonscan.Null(tag.Value) {
		return errMisfit
	}
	m.tags[string(tag.Key)] = value
	return nil
}

// errMisfit ends a scan.
var errMisfit = errors.New("a tag is no text, or there are too many")
