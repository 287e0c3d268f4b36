package contoso

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Habits are freedoms that real providers take without breaking the contract.
// All but the last change the properties that clients send, which makes it
// harder to distinguish changed properties from unchanged ones. They are
// names for Options.Habits and contoso --habit.
const (
	AddDefaults      = "add-defaults"    // each object gets "enabled": true unless it has that member
	ReorderArrays    = "reorder-arrays"  // arrays come back sorted from the last text to the first
	ChangeCasing     = "change-casing"   // texts come back in lower case
	HideProperties   = "hide-properties" // members whose names end in "password" or "secret" are not shown
	AppendToken      = "append-token"    // a nextLink is the unchanged referer with a token appended
	enabledByDefault = "enabled"         // the member of AddDefaults
)

// habits is the set of habits that a provider has.
type habits map[string]bool

func newHabits(names []string) (habits, error) {
	all := []string{AddDefaults, ReorderArrays, ChangeCasing, HideProperties, AppendToken}
	h := habits{}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("unknown habit %q (allowed: %s)", name, strings.Join(all, ", "))
		}
		h[name] = true
	}
	return h, nil
}

// object applies the habits to an object in a resource's properties. Applying
// them again changes nothing.
func (h habits) object(o object) object {
	if len(h) == 0 {
		return o
	}
	out := make(object, 0, len(o)+1)
	for _, m := range o {
		name := fold(m.key)
		if h[HideProperties] && (strings.HasSuffix(name, "password") || strings.HasSuffix(name, "secret")) {
			continue
		}
		out = append(out, member{m.key, h.value(m.value)})
	}
	if _, given := out.get(enabledByDefault); h[AddDefaults] && !given {
		out = append(out, member{enabledByDefault, encode(true)})
	}
	return out
}

func (h habits) value(v json.RawMessage) json.RawMessage {
	var of struct {
		object   object
		elements []json.RawMessage
		text     string
	}
	switch v = bytes.TrimSpace(v); {
	case json.Unmarshal(v, &of.text) == nil && !isNull(v):
		if h[ChangeCasing] {
			return encode(strings.ToLower(of.text))
		}
	case json.Unmarshal(v, &of.elements) == nil && !isNull(v):
		for i, e := range of.elements {
			of.elements[i] = h.value(e)
		}
		if h[ReorderArrays] {
			slices.SortStableFunc(of.elements, func(a, b json.RawMessage) int { return bytes.Compare(b, a) })
		}
		return encode(of.elements)
	case json.Unmarshal(v, &of.object) == nil && !isNull(v):
		return h.object(of.object).bytes()
	}
	return v
}
