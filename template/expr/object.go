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
	index NameIndex // empty of few members
	alike bool      // some names differ in casing alone
}

// fewMembers are found by looking at each.
const fewMembers = 8

func newMembers(list []Member) *Members {
	m := &Members{list: list[:0]}
	if len(list) > fewMembers {
		m.index = NewNameIndex(len(list))
	}
	for _, member := range list {
		at, found := m.find(member.Name)
		if found && m.list[at].Name == member.Name {
			m.list[at].Value = member.Value
			continue
		}
		m.alike = m.alike || found
		m.index.Add(member.Name, len(m.list))
		m.list = append(m.list, member)
	}
	return m
}

func (m *Members) find(name string) (at int, found bool) {
	if m.index.folded != nil {
		return m.index.Find(name)
	}
	return FindName(name, len(m.list), func(i int) string { return m.list[i].Name })
}

// FindName returns the place of a name among others, as .NET finds the members of an object:
// the very name, else the first that differs in casing alone.
func FindName(name string, count int, nameAt func(int) string) (at int, found bool) {
	for i := range count {
		switch other := nameAt(i); {
		case other == name:
			return i, true
		case !found && strings.EqualFold(other, name):
			at, found = i, true
		}
	}
	return at, found
}

// NameIndex finds names as [FindName] does, in a time that does not depend on their number.
type NameIndex struct {
	folded map[string]int // the first of each casing
	others map[string]int // those that differ from a first one in casing alone
}

// NewNameIndex returns an index with room for names.
func NewNameIndex(count int) NameIndex {
	return NameIndex{folded: make(map[string]int, count)}
}

// Add gives a name its place, unless it is in the index, or the index is a zero one.
func (x *NameIndex) Add(name string, at int) {
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

// Find returns the place of a name.
func (x *NameIndex) Find(name string) (at int, found bool) {
	if at, found = x.others[name]; found {
		return at, true
	}
	at, found = x.folded[strings.ToLower(name)]
	return at, found
}
