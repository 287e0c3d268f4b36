package expr

import "strings"

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// Members are an object's members in kept order. Names that differ in casing alone are two
// members.
type Members struct {
	list  []Member
	index nameIndex // empty of few members
	alike bool      // some names differ in casing alone
}

// fewMembers are found by looking at each.
const fewMembers = 8

func newMembers(list []Member) *Members {
	m := &Members{list: list[:0]}
	if len(list) > fewMembers {
		m.index.folded = make(map[string]int, len(list))
	}
	for _, member := range list {
		at, found := m.find(member.Name)
		if found && m.list[at].Name == member.Name {
			m.list[at].Value = member.Value
			continue
		}
		m.alike = m.alike || found
		m.index.add(member.Name, len(m.list))
		m.list = append(m.list, member)
	}
	return m
}

// find returns the place of a member as .NET finds it: the very name, else the first that
// differs in casing alone.
func (m *Members) find(name string) (at int, found bool) {
	if m.index.folded != nil {
		return m.index.find(name)
	}
	for i := range m.list {
		switch other := m.list[i].Name; {
		case other == name:
			return i, true
		case !found && strings.EqualFold(other, name):
			at, found = i, true
		}
	}
	return at, found
}

// nameIndex finds members in a time that does not depend on their number.
type nameIndex struct {
	folded map[string]int // the first of each casing
	others map[string]int // those that differ from a first one in casing alone
}

// add gives a name its place, unless it is in the index, or the index is a zero one.
func (x *nameIndex) add(name string, at int) {
	if x.folded == nil {
		return
	}
	folded := strings.ToLower(name)
	if _, alike := x.folded[folded]; !alike {
		x.folded[folded] = at
		return
	}
	if x.others == nil {
		x.others = map[string]int{}
	}
	if _, twice := x.others[name]; !twice {
		x.others[name] = at
	}
}

func (x *nameIndex) find(name string) (at int, found bool) {
	if at, found = x.others[name]; found {
		return at, true
	}
	at, found = x.folded[strings.ToLower(name)]
	return at, found
}
