package fanout

import (
	"bytes"
	"strings"
	"unsafe"

	"portico/arm"
	"portico/internal/jsontext"
)

// visibility decides which elements of a list are shown: to every caller only
// elements that belong to the list, and to a caller with partial access only
// those that it may read.
type visibility struct {
	shows func(id string) bool // nil: the caller may read all of the list
	list  *arm.Path
}

// hide hides the elements of a page that are not shown. It also hides other
// members that may be sums over hidden elements.
func (v visibility) hide(page *Page) {
	var id arm.Path
	var usual spelling
	for i := range page.Elements {
		if e := &page.Elements[i]; !v.isVisible(page, *e, &id, &usual) {
			e.end = e.begin
			page.hidden++
		}
	}
	if v.shows != nil || page.hidden > 0 {
		page.OtherMembers = nil
	}
}

// isVisible reports whether an element is shown. A caller with partial access
// never sees an element whose id readers could take for another id, or for
// none. path is scratch space.
func (v visibility) isVisible(page *Page, e Element, path *arm.Path, usual *spelling) bool {
	if e.idEnd-e.id <= uint32(len(`""`)) {
		return v.shows == nil
	}
	quoted := page.Text[e.id:e.idEnd]
	var id string
	if bytes.IndexByte(quoted, '\\') < 0 {
		// The id is not copied: nothing writes to the page, or keeps the id.
		id = unsafe.String(&quoted[1], len(quoted)-2)
	} else {
		id, _ = jsontext.Text(quoted)
	}
	if v.shows == nil {
		return usual.matches(id) || v.belongs(id, path, usual) || !namesResource(id)
	}
	return v.shows(id) && v.listed(id, path) && jsontext.Once(page.Text[e.begin:e.end], "id")
}

// listed reports whether an id is the unambiguous spelling of a resource that
// the list can hold. path is scratch space.
func (v visibility) listed(id string, path *arm.Path) bool {
	return path.Parse(arm.PathOf(id)) == nil && path.String() == id && v.canHold(path) && unambiguous(path)
}

// belongs reports whether an id, in any spelling, names a resource that the
// list can hold, and records its spelling.
func (v visibility) belongs(id string, path *arm.Path, usual *spelling) bool {
	if !strings.HasPrefix(id, "/") {
		id = "/" + id // some providers omit it
	}
	for strings.Contains(id, "//") {
		id = strings.ReplaceAll(id, "//", "/")
	}
	if path.Parse(arm.PathOf(id)) != nil || !v.canHold(path) {
		return false
	}
	if path.String() == id {
		usual.record(path, v.scope())
	}
	return true
}

// scope returns the number of segments in the list's ids that name its scope,
// or the parent.
func (v visibility) scope() int {
	if hop := v.list.LastHop(); hop.Len() == 1 {
		return hop.Start()
	}
	return v.list.Len() - 1
}

// canHold reports whether the list can hold a resource: one of its type, in its scope. A
// tenant's list holds no resource of a subscription, which may belong to another tenant.
func (v visibility) canHold(path *arm.Path) bool {
	if path.Hops() < v.list.Hops() || (path.Subscription() == "") != (v.list.Subscription() == "") {
		return false
	}
	list, hop := v.list.LastHop(), path.LastHop()
	if hop.Len() != list.Len()+1 || !arm.EqualFold(hop.Namespace(), list.Namespace()) {
		return false
	}
	scope := v.scope()
	if path.Len() < scope || !arm.EqualFold(path.Prefix(scope), v.list.Prefix(scope)) {
		return false
	}
	for i := 0; i < list.Len(); i += 2 {
		if !arm.EqualFold(hop.Segment(i), list.Segment(i)) {
			return false
		}
	}
	return true
}

// spelling is the spelling of the common part of ids, taken from one element
// of a list. It saves checking each segment of the other ids.
type spelling struct {
	scope, groups, tail string // "/subscriptions/S", "/resourceGroups/", "/providers/N.S/things/"
}

func (s *spelling) record(path *arm.Path, scope int) {
	hop := path.LastHop()
	s.scope = path.Prefix(scope)
	s.tail = path.String()[len(path.Prefix(max(scope, hop.Start()))) : len(path.Prefix(path.Len()-1))+1]
	if path.Hops() == 1 && hop.Start() == scope+2 && path.Group() != "" {
		s.groups = path.String()[len(s.scope) : len(path.Prefix(scope+1))+1]
	}
}

// matches reports whether an id has this spelling.
func (s *spelling) matches(id string) bool {
	end := strings.LastIndexByte(id, '/') + 1
	if s.tail == "" || end < len(s.scope)+len(s.tail) || id[:len(s.scope)] != s.scope || id[end-len(s.tail):end] != s.tail || !plainName(id[end:]) {
		return false
	}
	group := id[len(s.scope) : end-len(s.tail)]
	return group == "" || s.groups != "" && strings.HasPrefix(group, s.groups) && plainName(group[len(s.groups):])
}

// plainName reports whether a text is a name that every reader understands in
// the same way.
func plainName(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && (c != '.' || i == 0) {
			return false
		}
	}
	return text != ""
}

// namesResource reports whether readers may take a text for the id of a resource.
func namesResource(text string) bool {
	if strings.ContainsAny(text, `%\`) {
		return true
	}
	for segment := range strings.SplitSeq(text, "/") {
		if arm.EqualFold(segment, "subscriptions") || arm.EqualFold(segment, "providers") {
			return true
		}
	}
	return false
}

// unambiguous reports whether no server takes a path for another one because
// of its names, namespaces or types.
func unambiguous(path *arm.Path) bool {
	if group := path.Group(); group != "" && !arm.ValidGroupName(group) {
		return false
	}
	for i := range path.Hops() {
		if !path.Hop(i).Valid() {
			return false
		}
	}
	return true
}
