package contract

import (
	"net/http"
)

// deleteCases check DELETE.
func deleteCases() []Case {
	return []Case{
		{
			ID: "delete/200-then-204", Profile: Core, Section: deleteResource, On: writable,
			Rule: "200 if the object exists and was deleted, or the beginning of an operation; 204 if it does not exist",
			Run: func(s *Scene) {
				s.created()
				a := s.remove(s.id).succeeds(200)
				s.prepare(func() { s.settled(a, s.id).gone() })
				s.remove(s.id).status(204)
			},
		},
		{
			ID: "delete/has-no-body", Profile: Core, Section: deleteResource, On: writable,
			Rule: "the response body is empty",
			Run: func(s *Scene) {
				s.created()
				var a *Answer
				s.prepare(func() { a = s.remove(s.id).done() })
				if a.Status == http.StatusAccepted {
					s.leave("the provider answered 202, which has a rule of its own")
				}
				a.empty()
			},
		},
		{
			ID: "delete/removes", Profile: Core, Section: deleteResource, On: writable, OwnGroup: true,
			Rule: "what was deleted is gone: a GET is 404, and the collection lacks it",
			Run: func(s *Scene) {
				s.created()
				var a *Answer
				s.prepare(func() { a = s.remove(s.id).done() })
				if a.Status == http.StatusAccepted {
					s.prepare(func() { s.followed(a) })
					s.await("the DELETE of "+s.id+" ends", func() (*Answer, bool) {
						read := s.get(s.id)
						return read, read.isGone() || hasURL(a) && terminal(read.state())
					})
				}
				s.get(s.id).gone()
				s.check(len(s.listed(collection(s.id)).like(s.id)) == 0, "the collection has the resource no more", "it has")
			},
		},
		{
			ID: "delete/of-what-never-was", Profile: Core, Section: deleteResource, On: writable,
			Rule:    "204 is used if the resource does not exist and the request is well formed",
			Through: "of a tracked resource that the gateway does not know: 204, by the gateway",
			Run:     func(s *Scene) { s.remove(sibling(s.id, "never")).status(204) },
		},
		{
			ID: "delete/and-made-anew", Profile: Core, Section: deleteResource, On: hasOther,
			Rule: "a resource that was deleted can be created again, from its new body alone",
			Run: func(s *Scene) {
				s.created()
				s.removed(s.id)
				a := s.put(s.id, s.other(s.Type))
				if a.Status == http.StatusConflict {
					s.leave("the provider keeps the name of what was deleted")
				}
				s.settled(a.done(), s.id)
				s.asNew()
			},
		},
	}
}

// hasURL reports whether an answer tells where its operation can be polled.
func hasURL(a *Answer) bool { return len(pollingURLs(a)) > 0 }
