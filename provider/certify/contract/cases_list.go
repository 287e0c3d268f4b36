package contract

import (
	"fmt"
	"net/http"
	"strings"
)

// listCases check collections and their elements.
func listCases() []Case {
	return []Case{
		{
			ID: "list/of-what-it-hangs-on", Profile: Core, Section: getResource, On: writable, OwnGroup: true,
			Rule: "a collection has each of its resources once, and nothing else",
			Run: func(s *Scene) {
				s.created()
				items := s.collected(collection(s.id))
				s.check(len(items.items) == 1 && len(items.like(s.id)) == 1, "the collection has "+s.id+" once, and no others", "%s", items)
			},
		},
		{
			ID: "list/items-are-resources", Profile: Core, Section: paging, On: writable, OwnGroup: true,
			Rule: "a list item has the same id, name, type and properties as its resource",
			Run: func(s *Scene) {
				s.created()
				read := s.read(s.id)
				for _, item := range s.collected(collection(s.id)).like(s.id) {
					for _, member := range []string{"id", "name", "type"} {
						s.check(strings.EqualFold(text(item, member), text(read.doc, member)), "the item has the "+member+" that a GET shows", "%s", show(item))
					}
					want := read.shownOf(s.Type.visible(Object{"properties": s.Type.Contract.Body["properties"]}))
					lack := missing(item, want, "")
					s.check(lack == "", "the item has the properties that a GET shows", "%s", lack)
				}
			},
		},
		{
			ID: "list/of-a-subscription", Profile: Core, Section: getResource, On: isFirst,
			Rule: "the collection of a type under a subscription has the resources of all groups",
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
					s.leaveOut("no page of the list has the resource; another case checks that pages are complete")
				}
				s.fault("the collection has "+s.id, fmt.Sprintf("it has not; %d others", len(items.items)))
			},
		},
		{
			ID: "list/over-several-regions", Profile: TrackedResources, Section: getResource, On: func(t *Type) bool { return isTop(t) && !t.global() },
			Side: ThroughOnly, OwnGroup: true,
			Rule:    "a collection combines the answers of all regional endpoints that have such resources",
			Through: "the gateway combines them, for a group and for a subscription",
			Run: func(s *Scene) {
				var ids []string
				for i, region := range s.Adapter.Regions {
					id := sibling(s.id, fmt.Sprintf("in-%d", i))
					s.create(id, s.body(s.Type, Object{"location": region}))
					ids = append(ids, id)
				}
				inGroup := s.collected(collection(s.id))
				s.check(len(inGroup.items) == len(ids), "the group's collection has one resource of each region", "%s", inGroup)
				inSubscription := s.collected(subscriptionCollection(s.Adapter.Subscription, s.Type))
				for _, id := range ids {
					s.check(len(inGroup.like(id)) == 1, "the group's collection has "+id, "%s", inGroup)
					s.check(len(inSubscription.like(id)) == 1, "the subscription's collection has "+id+" once", "%d times", len(inSubscription.like(id)))
				}
			},
		},
		{
			ID: "list/groups-are-apart", Profile: Core, Section: getResource, On: isFirst, OwnGroup: true,
			Rule: "a group's collection has only resources of that group, whatever the names",
			Run: func(s *Scene) {
				s.created()
				// The configured group's name is a prefix of the name of this
				// case's group.
				other := s.groupID(s.Group) + "/providers/" + s.Type.FullName() + "/" + nameOf(s.id)
				s.create(other, s.body(s.Type))
				for _, row := range []struct{ own, others string }{{s.id, other}, {other, s.id}} {
					items := s.collected(collection(row.own))
					s.check(len(items.like(row.others)) == 0, "the collection of "+collection(row.own)+" does not have "+row.others, "it has")
				}
			},
		},
		{
			ID: "list/an-empty-collection", Profile: Core, Section: paging, On: isFirst, OwnGroup: true,
			Rule: "if there are no resources and all parents exist, the collection is empty: 200, value []",
			Run: func(s *Scene) {
				s.get(collection(s.id)).status(200).emptyList()
			},
		},
		{
			ID: "list/of-an-unknown-subscription", Profile: Core, Section: getResource, On: isFirst, Side: StraightOnly,
			Rule: "the list of a subscription that the provider was never notified of is empty or 404, never 5xx or 403",
			Run:  func(s *Scene) { s.emptyOrAbsent(s.Adapter.Sibling) },
		},
		{
			ID: "list/of-an-unregistered-subscription", Profile: Core, Section: getResource, On: isFirst, Side: ThroughOnly,
			Rule:    "the list of a subscription that is not registered is empty or 404, never 5xx or 403",
			Through: "the gateway answers 200 and an empty list; providers are not called",
			Run:     func(s *Scene) { s.emptyOrAbsent(s.Adapter.Sibling) },
		},
	}
}

// emptyOrAbsent expects a list of an unregistered subscription to be empty, or 404.
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

// createSeveral creates the scene's resource and siblings, n in all, and returns
// their ids.
func (s *Scene) createSeveral(n int) []string {
	ids := []string{s.id}
	for i := range n - 1 {
		ids = append(ids, sibling(s.id, "item-"+string(rune('a'+i))))
	}
	for _, id := range ids {
		s.create(id, s.body(s.Type))
	}
	return ids
}

// listing is a complete collection, from all its pages.
type listing struct {
	items []any
	pages int
}

// like returns the items with the id, in any casing.
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

// walk reads a collection like a client: page after page until there is no
// nextLink, whatever the number of items on a page. It ends at a link that is
// not a URL: the rules on pages judge links.
func (s *Scene) walk(path string, options ...option) listing {
	return onPages(s.pages(path, options...))
}

// onPages collects the items of a collection's pages.
func onPages(pages []*Answer) listing {
	l := listing{pages: len(pages)}
	for _, page := range pages {
		l.items = append(l.items, values(page)...)
	}
	return l
}

// pages returns the pages of a collection. A nextLink that does not lead on
// breaks another rule, so that the case is unreached then.
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

// listed reads a collection in a case about another rule.
func (s *Scene) listed(path string) listing {
	var l listing
	s.prepare(func() { l = s.collected(path) })
	return l
}

// collected reads a collection in a case about collections. It leaves the
// case out if a nested or extension type does not serve one.
func (s *Scene) collected(path string) listing {
	if !s.required(path) {
		s.leaveOut(notListed)
	}
	return s.walk(path)
}

const notListed = "the provider does not list this type, which is not required below another resource"

// required reports whether the contract requires the collection, or the
// provider serves it.
func (s *Scene) required(path string) bool {
	if isFirst(s.Type) {
		return true
	}
	status := s.get(path).Status
	return status != http.StatusNotFound && status != http.StatusMethodNotAllowed && status != http.StatusNotImplemented
}
