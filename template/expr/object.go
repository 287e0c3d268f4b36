package expr

import "strings"

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// Members are an object's members in kept order, found by name without case.
type Members struct {
	list  []Member
	index map[string]int // by lower-case name; nil of few members
}

// fewMembers are found by looking at each.
const fewMembers = 8

func newMembers(list []Member) *Members {
	m := &Members{list: list}
	if len(list) <= fewMembers {
		m.dropTwice()
		return m
	}
	m.index = make(map[string]int, len(list))
	kept := list[:0]
	for _, member := range list {
		name := strings.ToLower(member.Name)
		if at, twice := m.index[name]; twice {
			kept[at].Value = member.Value
			continue
		}
		m.index[name] = len(kept)
		kept = append(kept, member)
	}
	m.list = kept
	return m
}

func (m *Members) dropTwice() {
	kept := m.list[:0]
next:
	for _, member := range m.list {
		for i := range kept {
			if strings.EqualFold(kept[i].Name, member.Name) {
				kept[i].Value = member.Value
				continue next
			}
		}
		kept = append(kept, member)
	}
	m.list = kept
}

func (m *Members) find(name string) (at int, ok bool) {
	if m.index != nil {
		at, ok = m.index[strings.ToLower(name)]
		return at, ok
	}
	for i := range m.list {
		if strings.EqualFold(m.list[i].Name, name) {
			return i, true
		}
	}
	return 0, false
}
