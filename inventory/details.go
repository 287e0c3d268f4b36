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
// text could not be read: see [ReadDetails]. Such an answer shows no resource.
func ReadObservation(text []byte) (Observation, bool) {
	said := readResource(text)
	return Observation{Found: true, ID: said.ID.text, Location: said.Location.text, ProvisioningState: said.State, Details: said.details()}, said.readable
}

// ReadDetails reads from a resource's JSON what the index keeps of it. Text that is no
// JSON object, that nests deeper than [jsontext] reads, or whose provisioningState is no
// text could not be read, and has no details. After another member of the wrong kind,
// such as a tag that is a number, or more tags than [arm.MaxTags], the details are nil;
// the state stays, as it says whether the provider is still working on the resource.
func ReadDetails(text []byte) (index.Report, *Details) {
	said := readResource(text)
	if !said.readable {
		return index.Report{}, nil
	}
	return index.Reported(said.State), said.details()
}

// resourceText is a resource's JSON. Texts and tags only note a value of the wrong
// kind: an error for each would cost much for a resource with a million of them.
type resourceText struct {
	Details
	ID, Location, Kind, ManagedBy textMember
	Tags                          tagsMember
	State                         string // the provisioningState of its properties

	readable bool // also the members that have no methods of their own
}

// readResource reads as encoding/json does, but decodes only what is kept: names match
// without case, and the last of several members with one name counts.
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

// resourceMembers are the names of the members that are read.
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

// memberNamed returns which of some names a member has, without case; "" for none.
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

// textMember is a member that is a text, or null.
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

// tagsMember is a member that holds tags, or null.
type tagsMember struct {
	tags   map[string]string
	seen   int // how often the resource has it
	misfit bool
}

// mostSeen is how often a resource may have its tags, which it should once.
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

// replaced reports whether a tag has the character that replaces bytes that are no
// UTF-8.
func (m *tagsMember) replaced() bool {
	for name, value := range m.tags {
		if strings.ContainsRune(name, utf8.RuneError) || strings.ContainsRune(value, utf8.RuneError) {
			return true
		}
	}
	return false
}

// errMisfit ends a scan.
var errMisfit = errors.New("a tag is no text, or there are too many")
