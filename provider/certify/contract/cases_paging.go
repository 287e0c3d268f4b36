package contract

import (
	"net/http"
)

// pagingCases check walks through pages while others write.
func pagingCases() []Case {
	return []Case{
		{
			ID: "list/writes-behind-a-page", Profile: Core, Section: paging, On: isFirst, OwnGroup: true,
			Rule: "a nextLink works while resources after its page come and go: resources that exist during the whole walk are on the pages once",
			Run: func(s *Scene) {
				ids := s.createSeveral(6)
				first, link := startOfWalk(s, ids)
				seen := listing{items: values(first)}
				stay, gone := ids, ""
				for i, id := range ids {
					if len(seen.like(id)) == 0 {
						stay, gone = append(append([]string{}, ids[:i]...), ids[i+1:]...), id
						break
					}
				}
				s.removed(gone)
				s.create(sibling(s.id, "zz"+nameOf(s.id)), s.body(s.Type))
				s.create(sibling(s.id, "zzz"+nameOf(s.id)), s.body(s.Type))
				staysOnPages(s, stay, listing{items: append(seen.items, s.walkOn(link, first).items...)})
			},
		},
		{
			ID: "list/writes-before-a-page", Profile: Core, Section: paging, On: isFirst, OwnGroup: true, Disruptive: true,
			Rule: "a $skipToken skips only the resources already enumerated, also if some of these have been deleted",
			Run: func(s *Scene) {
				ids := s.createSeveral(6)
				first, link := startOfWalk(s, ids)
				seen := listing{items: values(first)}
				var stay []string
				for _, id := range ids {
					if len(seen.like(id)) == 0 {
						stay = append(stay, id)
						continue
					}
					s.removed(id)
				}
				staysOnPages(s, stay, s.walkOn(link, first))
			},
		},
		{
			ID: "list/a-nextlink-twice", Profile: Core, Section: paging, On: isFirst, OwnGroup: true,
			Rule: "a nextLink can be read again, as clients do that got no answer",
			Run: func(s *Scene) {
				link := s.nextLink()
				first := s.last
				var once listing
				s.prepare(func() { once = s.walkOn(link, first) })
				twice := s.walkOn(link, first)
				for _, item := range once.items {
					id := bare(text(item, "id"))
					s.check(len(twice.like(id)) == len(once.like(id)), "the pages after the link have "+nameOf(id)+" as often as before",
						"first %s, then %s", once, twice)
				}
			},
		},
	}
}

// startOfWalk returns the first page and its link, after another walk has
// shown that the list is complete and has several pages.
func startOfWalk(s *Scene, ids []string) (first *Answer, link string) {
	s.prepare(func() {
		s.listable()
		alone := s.firstPage().status(http.StatusOK)
		if text(alone.doc, "nextLink") == "" {
			s.leaveOut("the provider returned a list in one page")
		}
		all := listing{items: append(values(alone), s.walkOn(text(alone.doc, "nextLink"), alone).items...)}
		for _, id := range ids {
			s.check(len(all.like(id)) == 1, "the pages have "+nameOf(id)+" once while no one writes", "%s", all)
		}
		first = s.firstPage().status(http.StatusOK)
	})
	return first, text(first.doc, "nextLink")
}

// staysOnPages expects each of the resources on the pages exactly once.
func staysOnPages(s *Scene, ids []string, pages listing) {
	for _, id := range ids {
		s.check(len(pages.like(id)) == 1, "the pages have "+nameOf(id)+" once: it existed during the whole walk", "%d times: %s", len(pages.like(id)), pages)
	}
}

// walkOn reads the pages after a nextLink.
func (s *Scene) walkOn(link string, from *Answer) listing {
	next := s.follow(link, from, sameHeader(from)).status(http.StatusOK)
	return onPages(append([]*Answer{next}, s.furtherPages(next)...))
}
