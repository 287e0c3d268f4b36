package contract

import (
	"net/http"
	"net/url"
	"strings"
)

// pageCases check the pages of a collection.
func pageCases() []Case {
	paged := func(t *Type) bool { return t.Kind != Extension && writable(t) }
	return []Case{
		{
			ID: "list/every-page-is-reached", Profile: Core, Section: paging, On: paged, OwnGroup: true,
			Rule:    "following nextLink until it is absent or null reaches every resource once",
			Through: "a list of several regions may have one page",
			Run: func(s *Scene) {
				want := s.createSeveral(5)
				s.listable()
				first := s.firstPage().status(200)
				items := onPages(append([]*Answer{first}, s.furtherPages(first)...))
				s.check(len(items.items) == len(want), "5 resources on all pages", "%s", items)
				for _, id := range want {
					s.check(len(items.like(id)) == 1, "the pages have "+nameOf(id)+" once", "%d times", len(items.like(id)))
				}
			},
		},
		{
			ID: "list/the-last-page-has-no-nextlink", Profile: Core, Section: paging, On: paged, OwnGroup: true,
			Rule: "on the last page nextLink is absent or null, not an empty string",
			Run: func(s *Scene) {
				s.createSeveral(3)
				s.listable()
				var first, complete *Answer
				s.prepare(func() { complete = s.get(collection(s.id)).status(200) })
				first = s.firstPage()
				for _, last := range []*Answer{complete, first} {
					s.prepare(func() {
						for _, page := range s.furtherPages(last.status(200)) {
							last = page
						}
					})
					last.lacks("nextLink")
				}
			},
		},
		{
			ID: "list/nextlink-is-on-the-host-of-the-referer", Profile: Core, Section: paging, On: paged, OwnGroup: true,
			Rule:    "nextLink is a URL built from the one in the Referer header, not from the request's",
			Through: "nextLink is on the public URL",
			Run: func(s *Scene) {
				link := s.nextLink()
				s.check(strings.HasPrefix(strings.ToLower(link), strings.ToLower(s.Adapter.Public)+"/"), "nextLink is absolute and on "+s.Adapter.Public,
					"%s", link)
			},
		},
		{
			ID: "list/nextlink-keeps-the-clients-query", Profile: Core, Section: paging, On: isFirst, Side: StraightOnly, OwnGroup: true,
			Rule: "nextLink is {refererHeaderUrl} with a $skipToken; the api-version stays",
			Run: func(s *Scene) {
				link := s.nextLink()
				u, err := url.Parse(link)
				if err != nil {
					s.fatal("nextLink is a URL", link)
				}
				path, _, _ := strings.Cut(s.last.call.target, "?")
				s.check(strings.EqualFold(u.EscapedPath(), path), "nextLink has the path of the Referer header", "%s", link)
				s.check(u.Query().Get("api-version") == s.Type.version(), "nextLink has the api-version of the request", "%s", link)
				s.check(paramFold(u.Query(), "$skiptoken") != "", "nextLink has a $skipToken", "%s", link)
			},
		},
		{
			ID: "list/top", Profile: Core, Section: paging, On: paged, OwnGroup: true,
			Rule: "$top, if pages are served, is the maximum number of records returned",
			Run: func(s *Scene) {
				s.createSeveral(5)
				s.listable()
				first := s.get(collection(s.id), query("$top=2"))
				if first.Status == http.StatusBadRequest {
					s.leaveOut(noTop)
				}
				first.status(200)
				if len(values(first)) > 2 && text(first.doc, "nextLink") == "" && s.Description.PageSize == "" {
					s.leaveOut("the provider returned a list in one page")
				}
				first.check(len(values(first)) <= 2, "at most 2 records", "%d", len(values(first)))
			},
		},
	}
}

// listable leaves the case out if the collection need not be served, and is not.
func (s *Scene) listable() {
	s.prepare(func() {
		if !s.required(collection(s.id)) {
			s.leaveOut(notListed)
		}
	})
}

// smallPages requests two records per page, by the provider's own header or
// else by $top.
func smallPages(s *Scene) option {
	if s.Description.PageSize != "" {
		return with(s.Description.PageSize, "2")
	}
	return query("$top=2")
}

const noTop = "the provider refuses $top, which is optional"

// firstPage returns the first page of a collection, with two records if that
// can be requested.
func (s *Scene) firstPage() *Answer {
	a := s.get(collection(s.id), smallPages(s))
	if a.Status == http.StatusBadRequest && s.Description.PageSize == "" {
		s.leaveOut(noTop)
	}
	return a
}

// nextLink returns the link of a first page. It leaves the case out if the
// provider does not divide the list.
func (s *Scene) nextLink() string {
	var first *Answer
	s.createSeveral(3)
	s.listable()
	s.prepare(func() { first = s.firstPage().status(200) })
	link := text(first.doc, "nextLink")
	if link == "" {
		s.leaveOut("the provider returned a list in one page")
	}
	return link
}

// paramFold returns the query parameter whose name matches without case.
func paramFold(q url.Values, name string) string {
	for key := range q {
		if strings.EqualFold(key, name) {
			return q.Get(key)
		}
	}
	return ""
}
