// Package filter reads the $filter of ARM's own lists and applies it.
//
// The language is the part of OData that ARM's lists of resources and groups
// understand: eq and ne on a fixed set of fields, substringof and startswith,
// and, or, not and parentheses. Text is compared without case, locations without
// white space as well, the values of tags as they are.
//
// A filter is applied to one item at a time. [Filter.Needs] and [Filter.NeedsPrefix]
// return what every match must equal or begin with, so that a list can be read by an
// index instead of from its beginning; [Filter.Alternatives] splits a filter into sides
// of which each may need more.
package filter

import (
	"slices"
	"strings"

	"portico/arm"
)

// Field is what a filter can ask about.
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

// fields are the names of the fields in a filter; they match without case.
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

// Item is something that a filter is applied to.
type Item interface {
	// Value returns a field's text, "" where the item has none. It is not
	// asked for tags.
	Value(Field) string
	// Tags returns the item's tags.
	Tags() map[string]string
}

// Filter is a filter that was read. The zero Filter matches everything.
type Filter struct {
	root node
}

// Match reports whether item passes.
func (f Filter) Match(item Item) bool { return f.root == nil || f.root.match(item) }

// Needs returns the text that the field of every match must equal, folded, and
// whether there is such a text. It does not speak of
// tags; see NeedsTag.
func (f Filter) Needs(field Field) (string, bool) {
	return f.needs(field, equal)
}

// NeedsPrefix returns the text that the field of every match must begin with, folded,
// and whether there is such a text. It does not speak of tags.
func (f Filter) NeedsPrefix(field Field) (string, bool) {
	return f.needs(field, begins)
}

// NeedsTag returns the folded name of a tag that every match must have, and the value of
// it that it must be, unless any will do. ok reports whether there is such a tag.
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

// mostAlternatives bounds into how many parts a filter falls.
const mostAlternatives = 16

// Alternatives returns filters of which each match meets one: the sides of an or, of
// which each may need what the whole does not. It is the filter alone where there are
// none, or too many.
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
			// The first or alone: those of further ones would multiply.
			rest := slices.Delete(slices.Clone(n), i, i+1)
			for j, side := range sides {
				sides[j] = append(all{side}, rest...)
			}
			return sides
		}
	}
	return []node{n}
}

// AsksForTags reports whether the filter is about tags; lists then leave the
// tags out of what they show, as ARM does.
func (f Filter) AsksForTags() bool { return f.root != nil && f.root.asksForTags() }

// node is a part of a filter.
type node interface {
	match(Item) bool
	// needs returns what the verb of every match compares the field with.
	needs(Field, verb) (string, bool)
	// needsTag returns a condition, on a tag of one name, that every match meets; best
	// one that wants one value. nil: there is none.
	needsTag() *tag
	asksForTags() bool
}

// comparison compares a field that is no tag.
type comparison struct {
	field  Field
	verb   verb
	folded string // what it is compared with
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

// tag asks for one tag of which all of its parts hold: a name and a value in
// one conjunction mean the same tag.
type tag struct {
	name  *part // folded
	value *part // as it is
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

// all holds when each of its parts does, either when one does.
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
