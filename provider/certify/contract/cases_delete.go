package contract

import (
	"net/http"
)

// deleteCases check DELETE.
func deleteCases() []Case {
	return []Case{
		{
			ID: "delete/200-then-204", Profile: Core, Section: deleteResource, On: writable,
			Rule: "200, or the start of an operation, if the resource exists; 204 if it does not exist",
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
					s.leaveOut("the provider answered 202, which has a rule of its own")
				}
				a.empty()
			},
		},
		{
			ID: "delete/removes", Profile: Core, Section: deleteResource, On: writable, OwnGroup: true,
			Rule: "a deleted resource is gone: a GET is 404, and the collection lacks it",
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
				s.check(len(s.listed(collection(s.id)).like(s.id)) == 0, "the collection no longer has the resource", "it has")
			},
		},
		{
			ID: "delete/of-what-never-was", Profile: Core, Section: deleteResource, On: writable,
			Rule:    "204 is used if the resource does not exist and the request is well formed",
			Through: "the gateway answers 204 for a tracked resource that it does not know",
			Run:     func(s *Scene) { s.remove(sibling(s.id, "never")).status(204) },
		},
		{
			ID: "delete/and-made-anew", Profile: Core, Section: deleteResource, On: hasOther,
			Rule: "a deleted resource can be created again, and has nothing of its old body",
			Run: func(s *Scene) {
				s.created()
				s.removed(s.id)
				a := s.put(s.id, s.other(s.Type))
				if a.Status == http.StatusConflict {
					s.leaveOut("the provider reserves the name of a deleted resource")
				}
				s.settled(a.done(), s.id)
				s.asNew()
			},
		},
	}
}

// hasURL reports whether an answer has a polling URL.
func hasURL(a *Answer) bool { return len(pollingURLs(a)) > 0 }
