// Package filter parses and applies the $filter of ARM's own lists.
//
// The language is the part of OData that ARM's lists of resources and groups
// support: eq and ne on a fixed set of fields, substringof and startswith,
// and, or, not and parentheses. Text is compared without case, locations also
// without white space, and tag values exactly.
//
// A filter is applied to one item at a time. [Filter.Needs] and
// [Filter.NeedsPrefix] return a text that every match must equal or begin
// with, so that an index can find the matches; [Filter.Alternatives] splits a
// filter into parts, each of which may need more.
package filter

import (
	"slices"
	"strings"

	"portico/arm"
)

// Field is a field that a filter can test.
type Field uint8

// The fields.
const (
	Location Field = iota
	ResourceType
	Name
	ResourceGroup
	Identity
	IdentityPrincipalID
	PlanPublisher
	PlanProduct
	PlanName
	PlanVersion
	PlanPromotionCode
	TagName
	TagValue
)

// fields maps the names of the fields in a filter, which match without case.
var fields = map[string]Field{
	"location":             Location,
	"resourcetype":         ResourceType,
	"name":                 Name,
	"resourcegroup":        ResourceGroup,
	"identity":             Identity,
	"identity/principalid": IdentityPrincipalID,
	"plan":                 PlanName,
	"plan/publisher":       PlanPublisher,
	"plan/product":         PlanProduct,
	"plan/name":            PlanName,
	"plan/version":         PlanVersion,
	"plan/promotioncode":   PlanPromotionCode,
	"tagname":              TagName,
	"tagvalue":             TagValue,
}

// Item is an element of a filtered list.
type Item interface {
	// Value returns a field's text, "" if the item has none. It is never
	// called for tags.
	Value(Field) string
	// Tags returns the item's tags.
	Tags() map[string]string
}

// Filter is a parsed filter. The zero Filter matches everything.
type Filter struct {
	root node
}

// Match reports whether item passes.
func (f Filter) Match(item Item) bool { return f.root == nil || f.root.match(item) }

// Needs returns the folded text that the field of every match must equal, and
// whether there is such a text. For tags, see NeedsTag.
func (f Filter) Needs(field Field) (string, bool) {
	return f.needs(field, equal)
}

// NeedsPrefix returns the folded text that the field of every match must
// begin with, and whether there is such a text. It does not support tags.
func (f Filter) NeedsPrefix(field Field) (string, bool) {
	return f.needs(field, begins)
}

// NeedsTag returns the folded name of a tag that every match must have, and its required
// value, nil if any will do. ok reports whether there is such a tag.
func (f Filter) NeedsTag() (name string, value *string, ok bool) {
	if f.root == nil {
		return "", nil, false
	}
	need := f.root.needsTag()
	switch {
	case need == nil:
		return "", nil, false
	case !need.ofOneValue():
		return need.name.text, nil, true
	}
	return need.name.text, &need.value.text, true
}

func (f Filter) needs(field Field, v verb) (string, bool) {
	if f.root == nil {
		return "", false
	}
	return f.root.needs(field, v)
}

// mostAlternatives bounds the parts that a filter is split into.
const mostAlternatives = 16

// Alternatives splits the filter: every match meets one of the returned
// filters. They are the sides of an or, and each may need more than the
// whole. If there is no or, or too many sides, it returns the filter itself.
func (f Filter) Alternatives() []Filter {
	if f.root == nil {
		return []Filter{f}
	}
	nodes := alternatives(f.root)
	if len(nodes) > mostAlternatives {
		return []Filter{f}
	}
	filters := make([]Filter, len(nodes))
	for i, n := range nodes {
		filters[i].root = n
	}
	return filters
}

func alternatives(n node) []node {
	switch n := n.(type) {
	case either:
		var sides []node
		for _, side := range n {
			sides = append(sides, alternatives(side)...)
		}
		return sides
	case all:
		for i, part := range n {
			sides := alternatives(part)
			if len(sides) == 1 {
				continue
			}
			// Only the first or is split: splitting more would multiply the parts.
			rest := slices.Delete(slices.Clone(n), i, i+1)
			for j, side := range sides {
				sides[j] = append(all{side}, rest...)
			}
			return sides
		}
	}
	return []node{n}
}

// AsksForTags reports whether the filter tests tags; lists then omit the tags
// from their elements, as ARM does.
func (f Filter) AsksForTags() bool { return f.root != nil && f.root.asksForTags() }

// node is a part of a filter.
type node interface {
	match(Item) bool
	// needs returns the text with which the verb compares the field in every match.
	needs(Field, verb) (string, bool)
	// needsTag returns a condition on one tag that every match meets,
	// preferably one that requires a single value; nil if there is none.
	needsTag() *tag
	asksForTags() bool
}

// comparison compares a field other than tags.
type comparison struct {
	field  Field
	verb   verb
	folded string // the text that it is compared with
}

type verb uint8

const (
	equal verb = iota
	notEqual
	contains
	begins
)

func foldFor(field Field, s string) string {
	if field == Location {
		return arm.Location(s)
	}
	return arm.Fold(s)
}

func (c comparison) match(item Item) bool {
	return c.verb.holds(foldFor(c.field, item.Value(c.field)), c.folded)
}

func (v verb) holds(have, want string) bool {
	switch v {
	case equal:
		return have == want
	case notEqual:
		return have != want
	case contains:
		return strings.Contains(have, want)
	case begins:
		return strings.HasPrefix(have, want)
	}
	return false
}

func (c comparison) needs(field Field, v verb) (string, bool) {
	return c.folded, c.field == field && c.verb == v
}

func (comparison) needsTag() *tag { return nil }

func (comparison) asksForTags() bool { return false }

// tag is a condition on one tag, which must meet all parts: a name and a
// value in one conjunction concern the same tag.
type tag struct {
	name  *part // folded
	value *part // not folded
}

type part struct {
	verb verb
	text string
}

func (p *part) holds(have string) bool { return p == nil || p.verb.holds(have, p.text) }

func (t tag) match(item Item) bool {
	if t.name != nil && t.name.verb == notEqual {
		_, there := tagNamed(item, t.name.text)
		return !there
	}
	for name, value := range item.Tags() {
		if t.name.holds(arm.Fold(name)) && t.value.holds(value) {
			return true
		}
	}
	return false
}

func tagNamed(item Item, folded string) (string, bool) {
	for name, value := range item.Tags() {
		if arm.Fold(name) == folded {
			return value, true
		}
	}
	return "", false
}

func (tag) needs(Field, verb) (string, bool) { return "", false }

func (t tag) needsTag() *tag {
	if t.name != nil && t.name.verb == equal {
		return &t
	}
	return nil
}

func (t tag) ofOneValue() bool { return t.value != nil && t.value.verb == equal }

func (tag) asksForTags() bool { return true }

// all matches if each of its parts does, either if one does.
type (
	all    []node
	either []node
	not    struct{ node }
)

func (a all) match(item Item) bool {
	for _, n := range a {
		if !n.match(item) {
			return false
		}
	}
	return true
}

func (a all) needs(field Field, v verb) (string, bool) {
	for _, n := range a {
		if text, ok := n.needs(field, v); ok {
			return text, true
		}
	}
	return "", false
}

func (a all) needsTag() (needed *tag) {
	for _, n := range a {
		if t := n.needsTag(); t != nil && (needed == nil || !needed.ofOneValue() && t.ofOneValue()) {
			needed = t
		}
	}
	return needed
}

func (a all) asksForTags() bool { return asksForTags(a) }

func (a either) match(item Item) bool {
	for _, n := range a {
		if n.match(item) {
			return true
		}
	}
	return false
}

func (either) needs(Field, verb) (string, bool) { return "", false }

func (either) needsTag() *tag { return nil }

func (a either) asksForTags() bool { return asksForTags(a) }

func asksForTags(nodes []node) bool {
	for _, n := range nodes {
		if n.asksForTags() {
			return true
		}
	}
	return false
}

func (n not) match(item Item) bool { return !n.node.match(item) }

func (not) needs(Field, verb) (string, bool) { return "", false }

func (not) needsTag() *tag { return nil }
