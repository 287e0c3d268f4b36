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
	r := readResource(text)
	return Observation{Found: true, ID: r.ID.text, Location: r.Location.text, ProvisioningState: r.State, Details: r.details()}, r.readable
}

// ReadDetails reads the members that the index keeps from a resource's JSON. Text that is
// not a JSON object, nests deeper than [jsontext] reads, or has a provisioningState that
// is not a string is reported as unreadable, without details. If another member has the
// wrong type, such as a number as a tag, or there are more tags than [arm.MaxTags], the
// details are nil, but the state is kept, because the provider may still be working on the
// resource.
func ReadDetails(text []byte) (index.Report, *Details) {
	r := readResource(text)
	if !r.readable {
		return index.Report{}, nil
	}
	return index.Reported(r.State), r.details()
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
	r := resourceText{readable: true}
	switch {
	case jsontext.Object(text, r.member) == nil:
		return r
	case !utf8.Valid(text):
		r = readResource(bytes.ToValidUTF8(text, []byte("\uFFFD")))
		r.Tags.misfit = r.Tags.misfit || r.Tags.hasReplacement()
		return r
	}
	return resourceText{}
}

var resourceMembers = [...]string{"id", "location", "kind", "managedBy", "tags", "properties", "sku", "plan", "identity", "zones"}

func (r *resourceText) member(m jsontext.Member) error {
	switch memberNamed(m.Key, resourceMembers[:]) {
	case "id":
		r.ID.read(m.Value)
	case "location":
		r.Location.read(m.Value)
	case "kind":
		r.Kind.read(m.Value)
	case "managedBy":
		r.ManagedBy.read(m.Value)
	case "tags":
		r.Tags.read(m.Value)
	case "properties":
		r.properties(m.Value)
	case "sku":
		r.SKU = bytes.Clone(m.Value)
	case "plan":
		r.Plan = bytes.Clone(m.Value)
	case "identity":
		r.Identity = bytes.Clone(m.Value)
	case "zones":
		r.Zones = bytes.Clone(m.Value)
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

func (r *resourceText) properties(text []byte) {
	if jsontext.Null(text) {
		return
	}
	if text[0] != '{' {
		r.readable = false
		return
	}
	_ = jsontext.Object(text, func(m jsontext.Member) error { // it is well-formed
		if memberNamed(m.Key, stateMember) == "" || jsontext.Null(m.Value) {
			return nil
		}
		state, is := jsontext.Text(m.Value)
		if is {
			r.State = state
		}
		r.readable = r.readable && is
		return nil
	})
}

func (r resourceText) details() *Details {
	if !r.readable || r.Kind.misfit || r.ManagedBy.misfit || r.Tags.misfit {
		return nil
	}
	details := r.Details
	details.Kind, details.ManagedBy, details.Tags = r.Kind.text, r.ManagedBy.text, r.Tags.tags
	return &details
}

// textMember is a member whose value is a string or null.
type textMember struct {
	text   string
	misfit bool
}

func (m *textMember) read(text []byte) {
	if r, ok := jsontext.Text(text); ok {
		m.text = strings.ToValidUTF8(r, "\uFFFD")
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

// mostSeen bounds the occurrences of the tags member.
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

// hasReplacement reports whether a tag has U+FFFD, which replaces bytes that are not UTF-8.
func (m *tagsMember) hasReplacement() bool {
	for name, value := range m.tags {
		if strings.ContainsRune(name, utf8.RuneError) || strings.ContainsRune(value, utf8.RuneError) {
			return true
		}
	}
	return false
}

// errMisfit stops the scan of tags.
var errMisfit = errors.New("a tag is no text, or there are too many")
