package sample

import (
	"cmp"
	"slices"

	"portico/internal/schema"
	"portico/provider/certify/contract"
)

// change is a member of properties that could have another value.
type change struct {
	at      member
	values  []any
	applied bool // the body has it
	odd     bool // it has a format: what another value means is less sure
}

// note remembers a member that could be changed.
func (m *maker) note(s *schema.Schema, n schema.Node, at member, values []any, created bool) {
	secret := s.Keywords["x-ms-secret"] == true || n.Value["x-ms-secret"] == true || s.Keywords["format"] == "password"
	if len(values) < 2 || len(at) < 2 || at[0] != "properties" || secret || !mutable(s, n, "update") {
		return
	}
	m.changes = append(m.changes, change{at, values, created, s.Keywords["format"] != nil && s.Kind() == "string"})
}

// keep forgets that a member could be changed.
func (m *maker) keep(at member) {
	m.changes = slices.DeleteFunc(m.changes, func(c change) bool { return slices.Equal(c.at, at) })
}

// update is a merge-patch that gives one member another value; nil if none can have one. A
// member that the body lacks is added to it first.
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
		if !ok { // a member of what was not taken after all
			return nil
		}
		deeper := contract.Object{}
		inner[name] = deeper
		object, inner = next, deeper
	}
	object[c.at[last]], inner[c.at[last]] = c.values[0], c.values[1]
	return patch
}
