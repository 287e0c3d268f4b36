package fanout

import (
	"bytes"
	"unsafe"

	"portico/arm"
	"portico/jsonscan"
)

// visibility decides which elements of a list are shown to a caller that may read a
// part of it.
type visibility struct {
	shows func(id string) bool
	list  *arm.Path
}

// hide hides the elements of a page whose ids the caller may not read, and what else the
// page says, as it may be a sum over all of them.
func (v visibility) hide(page *Page) {
	var id arm.Path
	for i := range page.Elements {
		if e := &page.Elements[i]; !v.visible(*page, *e, &id) {
			e.end = e.begin
			page.hidden++
		}
	}
	page.OtherMembers = nil
}

// visible reports whether an element is shown. An element whose id readers could take
// for another, or for none, never is.
func (v visibility) visible(page Page, e Element, path *arm.Path) bool {
	if e.idEnd-e.id <= uint32(len(`""`)) {
		return false
	}
	quoted := page.Text[e.id:e.idEnd]
	var id string
	if bytes.IndexByte(quoted, '\\') < 0 {
		// Without a copy of the id: nobody writes to the page, or keeps the id.
		id = unsafe.String(&quoted[1], len(quoted)-2)
	} else {
		id, _ = jsonscan.Text(quoted)
	}
	return v.shows(id) && v.listed(id, path) && jsonscan.Once(page.Text[e.begin:e.end], "id")
}

// listed reports whether an id is the one spelling of that of a resource that the list
// can hold: of its type, and in its scope. path is scratch space.
func (v visibility) listed(id string, path *arm.Path) bool {
	if path.Parse(arm.PathOf(id)) != nil || path.String() != id || path.Hops() < v.list.Hops() {
		return false
	}
	list, hop := v.list.LastHop(), path.LastHop()
	if hop.Len() != list.Len()+1 || !arm.EqualFold(hop.Namespace(), list.Namespace()) {
		return false
	}
	scope := list.Start()
	if list.Len() > 1 {
		scope = v.list.Len() - 1 // the parent
	}
	if path.Len() < scope || !arm.EqualFold(path.Prefix(scope), v.list.Prefix(scope)) {
		return false
	}
	for i := 0; i < list.Len(); i += 2 {
		if !arm.EqualFold(hop.Segment(i), list.Segment(i)) {
			return false
		}
	}
	return unambiguous(path)
}

// unambiguous reports whether no server takes a name in a path for another one.
func unambiguous(path *arm.Path) bool {
	if group := path.Group(); group != "" && !arm.ValidGroupName(group) {
		return false
	}
	for i := range path.Hops() {
		hop := path.Hop(i)
		for j := 1; j < hop.Len(); j += 2 {
			if !arm.ValidResourceName(hop.Segment(j)) {
				return false
			}
		}
	}
	return true
}
