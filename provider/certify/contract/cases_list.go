package contract

import (
	"fmt"
	"net/http"
	"strings"
)

// listCases check collections, and what is in them.
func listCases() []Case {
	return []Case{
		{
			ID: "list/of-what-it-hangs-on", Profile: Core, Section: getResource, On: writable, OwnGroup: true,
			Rule: "a collection has its resource once, and nothing else",
			Run: func(s *Scene) {
				s.created()
				items := s.collected(collection(s.id))
				s.check(len(items.items) == 1 && len(items.like(s.id)) == 1, "the collection has "+s.id+" once, and no others", "%s", items)
			},
		},
		{
			ID: "list/items-are-resources", Profile: Core, Section: paging, On: writable, OwnGroup: true,
			Rule: "an item has id, name, type and properties as the resource itself",
			Run: func(s *Scene) {
				s.created()
				read := s.read(s.id)
				for _, item := range s.collected(collection(s.id)).like(s.id) {
					for _, member := range []string{"id", "name", "type"} {
						s.check(strings.EqualFold(text(item, member), text(read.doc, member)), "the item has the "+member+" that a GET shows", "%s", show(item))
					}
					want := read.shown(s.Type.visible(Object{"properties": s.Type.Contract.Body["properties"]}))
					lack := missing(item, want, "")
					s.check(lack == "", "the item has the properties that a GET shows", "%s", lack)
				}
			},
		},
		{
			ID: "list/of-a-subscription", Profile: Core, Section: getResource, On: isFirst,
			Rule: "the collection of a type under a subscription has its resources of every group",
			Run: func(s *Scene) {
				s.created()
				path := subscriptionCollection(s.Adapter.Subscription, s.Type)
				var items listing
				for range 3 { // others come and go meanwhile, which may shift pages
					if items = s.collected(path); len(items.like(s.id)) > 0 {
						return
					}
				}
				if items.pages > 1 {
					s.leave("the list has several pages, and the resource on none: whether pages have everything is another case's rule")
				}
				s.fault("the collection has "+s.id, fmt.Sprintf("it has not; %d others", len(items.items)))
			},
		},
		{
			ID: "list/over-several-regions", Profile: TrackedResources, Section: getResource, On: func(t *Type) bool { return isTop(t) && !t.global() },
			Side: ThroughOnly, OwnGroup: true,
			Rule:    "each regional endpoint is asked that has such resources, and the answers are one collection",
			Through: "the gateway puts it together, for a group and for a subscription",
			Run: func(s *Scene) {
				var ids []string
				for i, region := range s.Adapter.Regions {
					id := sibling(s.id, fmt.Sprintf("in-%d", i))
					s.create(id, s.body(s.Type, Object{"location": region}))
					ids = append(ids, id)
				}
				inGroup := s.collected(collection(s.id))
				s.check(len(inGroup.items) == len(ids), "the group's collection has one of each region", "%s", inGroup)
				inSubscription := s.collected(subscriptionCollection(s.Adapter.Subscription, s.Type))
				for _, id := range ids {
					s.check(len(inGroup.like(id)) == 1, "the group's collection has "+id, "%s", inGroup)
					s.check(len(inSubscription.like(id)) == 1, "the subscription's collection has "+id+" once", "%d times", len(inSubscription.like(id)))
				}
			},
		},
		{
			ID: "list/groups-are-apart", Profile: Core, Section: getResource, On: isFirst, OwnGroup: true,
			Rule: "a group's collection has resources of that group alone, whatever the names",
			Run: func(s *Scene) {
				s.created()
				// The name of the configured group is the beginning of that of this case's own.
				other := s.groupID(s.Group) + "/providers/" + s.Type.FullName() + "/" + nameOf(s.id)
				s.create(other, s.body(s.Type))
				for _, row := range []struct{ own, others string }{{s.id, other}, {other, s.id}} {
					items := s.collected(collection(row.own))
					s.check(len(items.like(row.others)) == 0, "the collection of "+collection(row.own)+" has not "+row.others, "it has")
				}
			},
		},
		{
			ID: "list/an-empty-collection", Profile: Core, Section: paging, On: isFirst, OwnGroup: true,
			Rule: "when there are none and all parents exist, the collection is empty: 200, value []",
			Run: func(s *Scene) {
				s.get(collection(s.id)).status(200).emptyList()
			},
		},
		{
			ID: "list/of-an-unknown-subscription", Profile: Core, Section: getResource, On: isFirst, Side: StraightOnly,
			Rule: "the list of a subscription that the provider was never told of is empty or 404, never 5xx or 403",
			Run:  func(s *Scene) { s.emptyOrAbsent(s.Adapter.Sibling) },
		},
		{
			ID: "list/of-an-unregistered-subscription", Profile: Core, Section: getResource, On: isFirst, Side: ThroughOnly,
			Rule:    "the list of a subscription that is not registered is empty or 404, never 5xx or 403",
			Through: "the gateway answers 200 and an empty list; providers are not asked",
			Run:     func(s *Scene) { s.emptyOrAbsent(s.Adapter.Sibling) },
		},
	}
}

// emptyOrAbsent checks a subscription's list against the answer for an unregistered
// subscription.
func (s *Scene) emptyOrAbsent(subscription string) {
	a := s.get(subscriptionCollection(subscription, s.Type)).status(200, 404)
	a.check(len(values(a)) == 0, a.call.String()+" has no elements", "%s", a)
}

// emptyList expects a collection without elements.
func (a *Answer) emptyList() {
	v, _ := lookup(a.doc, "value")
	array, ok := v.([]any)
	a.check(ok && len(array) == 0, a.call.String()+" has an empty array, value", "%s", a)
}

func subscriptionCollection(subscription string, t *Type) string {
	return "/subscriptions/" + subscription + "/providers/" + t.FullName()
}

// several creates the scene's resource and siblings of it, and returns all ids.
func (s *Scene) several(n int) []string {
	ids := []string{s.id}
	for i := range n - 1 {
		ids = append(ids, sibling(s.id, "item-"+string(rune('a'+i))))
	}
	for _, id := range ids {
		s.create(id, s.body(s.Type))
	}
	return ids
}

// listing returns a complete collection, from all its pages.
type listing struct {
	items []any
	pages int
}

// like are the items of an id, in any casing.
func (l listing) like(id string) []any {
	var found []any
	for _, item := range l.items {
		if strings.EqualFold(bare(text(item, "id")), id) {
			found = append(found, item)
		}
	}
	return found
}

func (l listing) String() string {
	names := make([]string, len(l.items))
	for i, item := range l.items {
		names[i] = text(item, "name")
	}
	return "[" + clip(strings.Join(names, ", "), 300) + "]"
}

func values(a *Answer) []any {
	v, _ := lookup(a.doc, "value")
	array, _ := v.([]any)
	return array
}

// walk reads a collection like a client: page after page until there is no nextLink,
// whatever the number of items on a page. Whether the links are right is the matter of
// the rules on pages; a link that is no URL is the last.
func (s *Scene) walk(path string, options ...option) listing {
	return onPages(s.pages(path, options...))
}

// onPages is what pages of a collection have together.
func onPages(pages []*Answer) listing {
	l := listing{pages: len(pages)}
	for _, page := range pages {
		l.items = append(l.items, values(page)...)
	}
	return l
}

// pages are the pages of a collection. That a nextLink leads to the next one is a rule of
// its own: here it prepares.
func (s *Scene) pages(path string, options ...option) []*Answer {
	all := []*Answer{s.get(path, options...).status(200)}
	s.prepare(func() { all = append(all, s.furtherPages(all[0])...) })
	return all
}

// furtherPages follows the links of a first page.
func (s *Scene) furtherPages(a *Answer) []*Answer {
	var all []*Answer
	for walk := (pageWalk{}); ; {
		link, endless := walk.onward(a)
		if endless != "" {
			a.fatal("the pages of the list end", endless)
		}
		if link == "" {
			return all
		}
		a = s.follow(link, a, sameHeader(a)).status(200)
		all = append(all, a)
	}
}

// listed is a collection in a case whose rule is another: it prepares.
func (s *Scene) listed(path string) listing {
	var l listing
	s.prepare(func() { l = s.collected(path) })
	return l
}

// collected is a collection whose rule is tried. That of a nested or extension type is
// not required.
func (s *Scene) collected(path string) listing {
	if !s.required(path) {
		s.leave(notListed)
	}
	return s.walk(path)
}

const notListed = "the provider does not list this type, which is not required below another resource"

// required reports whether a collection has to be served, or is.
func (s *Scene) required(path string) bool {
	if isFirst(s.Type) {
		return true
	}
	status := s.get(path).Status
	return status != http.StatusNotFound && status != http.StatusMethodNotAllowed && status != http.StatusNotImplemented
}
