package contract

import (
	"net/http"
)

// pagingCases check walks through pages while others write.
func pagingCases() []Case {
	paged := func(t *Type) bool { return isTop(t) && writable(t) }
	return []Case{
		{
			ID: "list/writes-between-pages", Profile: Core, Section: paging, On: paged,
			Rule: "a $skipToken skips the resources already enumerated, and no others: what is there during the whole walk is on its pages once, although others come and go",
			Run: func(s *Scene) {
				var stay []string
				for _, name := range []string{"m-b", "m-c", "m-d", "m-e", "m-f"} {
					stay = append(stay, beside(s.id, name))
				}
				leaves := beside(s.id, "m-a")
				for _, id := range append([]string{leaves}, stay...) {
					s.existing(id, s.body(s.Type))
				}
				s.prepare(func() { // a walk alone is another case's
					for _, id := range stay {
						s.check(s.listedOnSmallPages(id) == 1, "the pages have "+nameOf(id)+" once while nobody writes", "they have not")
					}
				})
				first, link := s.firstPage()
				pages := listing{values(first)}
				s.prepare(func() {
					end := s.concluded(s.remove(leaves))
					s.check(end.done, "a resource of the first page can be deleted", "%s", end)
					s.ended(leaves).status(404)
				})
				rest := s.walkOn(link, first, func(page int) {
					if page == 0 {
						s.existing(beside(s.id, "a-new"), s.body(s.Type))
						s.existing(beside(s.id, "z-new"), s.body(s.Type))
					}
				})
				pages.items = append(pages.items, rest.items...)
				for _, id := range stay {
					times := len(pages.like(id))
					s.check(times > 0, "the pages have "+nameOf(id)+", which was there all the time", "they have not: %s", pages)
					s.check(times < 2, "the pages have "+nameOf(id)+" once", "%d times: %s", times, pages)
				}
			},
		},
		{
			ID: "list/a-next-link-twice", Profile: Core, Section: paging, On: paged,
			Rule: "a nextLink can be read again: clients that saw no answer do so",
			Run: func(s *Scene) {
				ids := []string{beside(s.id, "m-a"), beside(s.id, "m-b"), beside(s.id, "m-c")}
				for _, id := range ids {
					s.existing(id, s.body(s.Type))
				}
				first, link := s.firstPage()
				var once listing
				s.prepare(func() { once = s.walkOn(link, first, func(int) {}) })
				twice := s.walkOn(link, first, func(int) {})
				for _, id := range ids {
					s.check(len(twice.like(id)) == len(once.like(id)), "the pages behind the link have "+nameOf(id)+" as when they were read first", "first %s, then %s", once, twice)
				}
			},
		},
	}
}

// listedOnSmallPages is how often a resource is on the pages of its collection, where
// these are small.
func (s *Scene) listedOnSmallPages(id string) int {
	first, link := s.firstPage()
	pages := listing{append(values(first), s.walkOn(link, first, func(int) {}).items...)}
	return len(pages.like(id))
}

// walkOn reads the pages behind a nextLink, and calls between after each.
func (s *Scene) walkOn(link string, from *Answer, between func(page int)) listing {
	var l listing
	for page := range mostPages {
		a := s.follow(link, from, sameHeader(from))
		a.status(http.StatusOK)
		l.items = append(l.items, values(a)...)
		between(page)
		if link = text(a.doc, "nextLink"); link == "" {
			return l
		}
	}
	s.fatal("the pages behind "+link+" end", "they do not")
	return l
}
