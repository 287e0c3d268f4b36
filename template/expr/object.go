package expr

import "strings"

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// Members are an object's members, in order. Names that differ only in case are distinct.
type Members struct {
	list         []Member
	index        nameIndex // zero for up to fewMembers
	hasCaseTwins bool      // some names differ only in case
}

// fewMembers is the maximum number for linear search.
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
		m.hasCaseTwins = m.hasCaseTwins || found
		m.index.add(member.Name, len(m.list))
		m.list = append(m.list, member)
	}
	return m
}

// find returns a member's index as .NET does: an exact match, or else the first match without
// regard to case.
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

// nameIndex finds members in constant time.
type nameIndex struct {
	folded map[string]int // by lower-case name: the first with it
	others map[string]int // by exact name: members whose lower-case name is already in folded
}

// add records a member's index, unless its name is present or the index is zero.
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
