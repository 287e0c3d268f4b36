package sample

import (
	"cmp"
	"slices"

	"portico/internal/schema"
	"portico/provider/certify/contract"
)

// change is a member of properties that an update could change.
type change struct {
	at      member
	values  []any
	applied bool // the created body has the member
	odd     bool // it has a format: another value may be invalid
}

// recordChange records a member that could be changed.
func (m *maker) recordChange(s *schema.Schema, n schema.Node, at member, values []any, created bool) {
	secret := s.Keywords["x-ms-secret"] == true || n.Value["x-ms-secret"] == true || s.Keywords["format"] == "password"
	if len(values) < 2 || len(at) < 2 || at[0] != "properties" || secret || !mutable(s, n, "update") {
		return
	}
	m.changes = append(m.changes, change{at, values, created, s.Keywords["format"] != nil && s.Kind() == "string"})
}

// dropChange removes a recorded change.
func (m *maker) dropChange(at member) {
	m.changes = slices.DeleteFunc(m.changes, func(c change) bool { return slices.Equal(c.at, at) })
}

// update returns a merge-patch that gives one member another value; nil if no member can
// have one. If the body lacks the member, update adds it to the body first.
func (m *maker) update(create contract.Object) contract.Object {
	if len(m.changes) == 0 {
		return nil
	}
	rank := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	c := slices.MinFunc(m.changes, func(a, b change) int {
		return cmp.Or(rank(a.odd)-rank(b.odd), rank(b.applied)-rank(a.applied), slices.Compare(a.at, b.at))
	})
	last := len(c.at) - 1
	patch, object := contract.Object{}, create
	inner := patch
	for _, name := range c.at[:last] {
		next, ok := object[name].(contract.Object)
		if !ok { // a member of an object that is not in the body
			return nil
		}
		deeper := contract.Object{}
		inner[name] = deeper
		object, inner = next, deeper
	}
	object[c.at[last]], inner[c.at[last]] = c.values[0], c.values[1]
	return patch
}
