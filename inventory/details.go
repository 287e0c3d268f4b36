package inventory

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/inventory/index"
)

// ReadObservation reads the JSON of a resource that was found. It reports false if the
// text cannot be read, as for [ReadDetails]: such an answer shows no resource.
func ReadObservation(text []byte) (Observation, bool) {
	said := readResource(text)
	return Observation{Found: true, ID: said.ID.text, Location: said.Location.text, ProvisioningState: said.State, Details: said.details()}, said.readable
}

// ReadDetails reads the members that the index keeps from a resource's JSON. Text that is
// not a JSON object, nests deeper than [jsontext] reads, or has a provisioningState that
// is not a string is reported as unreadable, without details. If another member has the
// wrong type, such as a number as a tag, or there are more tags than [arm.MaxTags], the
// details are nil, but the state is kept: it tells whether the provider is still working
// on the resource.
func ReadDetails(text []byte) (index.Report, *Details) {
	said := readResource(text)
	if !said.readable {
		return index.Report{}, nil
	}
	return index.Reported(said.State), said.details()
}

// resourceText is a resource's JSON. Texts and tags only record that a value has the wrong
// type: an error for each would be costly for a resource with a million of them.
type resourceText struct {
	Details
	ID, Location, Kind, ManagedBy textMember
	Tags                          tagsMember
	State                         string // the provisioningState of its properties

	readable bool // false if properties or its provisioningState has the wrong type
}

// readResource decodes the members that the index keeps, as encoding/json does: names
// match without case, and the last of several members with one name counts.
func readResource(text []byte) resourceText {
	said := resourceText{readable: true}
	switch {
	case jsontext.Object(text, said.member) == nil:
		return said
	case !utf8.Valid(text):
		said = readResource(bytes.ToValidUTF8(text, []byte("\uFFFD")))
		said.Tags.misfit = said.Tags.misfit || said.Tags.replaced()
		return said
	}
	return resourceText{}
}

var resourceMembers = [...]string{"id", "location", "kind", "managedBy", "tags", "properties", "sku", "plan", "identity", "zones"}

func (said *resourceText) member(m jsontext.Member) error {
	switch memberNamed(m.Key, resourceMembers[:]) {
	case "id":
		said.ID.read(m.Value)
	case "location":
		said.Location.read(m.Value)
	case "kind":
		said.Kind.read(m.Value)
	case "managedBy":
		said.ManagedBy.read(m.Value)
	case "tags":
		said.Tags.read(m.Value)
	case "properties":
		said.properties(m.Value)
	case "sku":
		said.SKU = bytes.Clone(m.Value)
	case "plan":
		said.Plan = bytes.Clone(m.Value)
	case "identity":
		said.Identity = bytes.Clone(m.Value)
	case "zones":
		said.Zones = bytes.Clone(m.Value)
	}
	return nil
}

// memberNamed returns the name that a key equals without case, "" if there is none.
func memberNamed(key []byte, names []string) string {
	for _, name := range names {
		if string(key) == name {
			return name
		}
	}
	for _, name := range names {
		if strings.EqualFold(string(key), name) {
			return name
		}
	}
	return ""
}

var stateMember = []string{"provisioningState"}

func (said *resourceText) properties(text []byte) {
	if jsontext.Null(text) {
		return
	}
	if text[0] != '{' {
		said.readable = false
		return
	}
	_ = jsontext.Object(text, func(m jsontext.Member) error { // it is well-formed
		if memberNamed(m.Key, stateMember) == "" || jsontext.Null(m.Value) {
			return nil
		}
		state, is := jsontext.Text(m.Value)
		if is {
			said.State = state
		}
		said.readable = said.readable && is
		return nil
	})
}

func (said resourceText) details() *Details {
	if !said.readable || said.Kind.misfit || said.ManagedBy.misfit || said.Tags.misfit {
		return nil
	}
	details := said.Details
	details.Kind, details.ManagedBy, details.Tags = said.Kind.text, said.ManagedBy.text, said.Tags.tags
	return &details
}

// textMember is a member whose value is a string or null.
type textMember struct {
	text   string
	misfit bool
}

func (m *textMember) read(text []byte) {
	if said, ok := jsontext.Text(text); ok {
		m.text = strings.ToValidUTF8(said, "\uFFFD")
	} else if !jsontext.Null(text) {
		m.misfit = true
	}
}

// tagsMember is a member whose value is tags or null.
type tagsMember struct {
	tags   map[string]string
	seen   int // number of occurrences
	misfit bool
}

// mostSeen bounds the occurrences of the tags member, of which there should be one.
const mostSeen = 16

func (m *tagsMember) read(text []byte) {
	if jsontext.Null(text) {
		m.tags = nil
		return
	}
	if m.seen++; m.misfit || m.seen > mostSeen || text[0] != '{' {
		m.misfit = true
		return
	}
	if m.tags == nil {
		m.tags = map[string]string{}
	}
	m.misfit = jsontext.Object(text, m.add) != nil
}

func (m *tagsMember) add(tag jsontext.Member) error {
	value, ok := jsontext.Text(tag.Value)
	if len(m.tags) == arm.MaxTags || !ok && !jsontext.Null(tag.Value) {
		return errMisfit
	}
	m.tags[string(tag.Key)] = value
	return nil
}

// replaced reports whether a tag has U+FFFD, which replaces bytes that are not UTF-8.
func (m *tagsMember) replaced() bool {
	for name, value := range m.tags {
		if strings.ContainsRune(name, utf8.RuneError) || strings.ContainsRune(value, utf8.RuneError) {
			return true
		}
	}
	return false
}

// errMisfit stops the scan of tags.
var errMisfit = errors.New("a tag is no text, or there are too many")
