package contract

import (
	"net/http"
)

// retryCases check that requests may be sent again, as clients do when they
// got no answer. The contract mostly leaves the second answer open; these
// cases check that it does no harm.
func retryCases() []Case {
	return []Case{
		{
			ID: "retry/put-while-the-first-runs", Profile: Core, Section: retrying, On: writable,
			Rule: "a PUT that is sent again while the first one runs succeeds or is refused, never a server error, and the resource gets the body that was PUT",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				slowly := s.slowly(http.MethodPut)
				first := s.put(s.id, body, lasting(s, http.MethodPut))
				s.prepare(func() { first.status(200, 201, 202) })
				second := s.put(s.id, body, slowly).notServerError("as a PUT sent again")
				if second.Status >= 300 {
					s.leaveOut("the provider refuses another PUT while the first runs")
				}
				s.concluded(second)
				s.await(s.id+" has the body that was PUT", func() (*Answer, bool) {
					a := s.get(s.id)
					return a, a.Status == 200 && terminal(a.state()) || a.Status > 499
				}).status(200).inState("Succeeded")
				s.listedOnce(s.id, false)
			},
		},
		{
			ID: "retry/delete-while-the-first-runs", Profile: Core, Section: retrying, On: writable,
			Rule: "a DELETE that is sent again while the first one runs succeeds or is refused, never a server error, and the resource is deleted",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				s.removed(s.id) // that a DELETE removes is another rule
				slowly := s.slowly(http.MethodDelete)
				for range deletesTried {
					s.create(s.id, s.body(s.Type))
					first := s.remove(s.id, slowly)
					s.prepare(func() { first.status(200, 202, 204) })
					second := s.remove(s.id, slowly).notServerError("as a DELETE sent again")
					ended := first.Status == 202 && (second.Status == 204 || second.Status == 404) && !s.stillRuns(first)
					s.concluded(first)
					s.awaitEnd(s.id).gone()
					if !ended {
						return
					}
				}
			},
		},
		{
			ID: "retry/post-twice", Profile: Core, Section: retrying, On: hasActions,
			Rule: "an action that is sent again succeeds or is refused, never a server error, and the resource stays",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				for _, action := range s.Type.Contract.Actions {
					first := s.post(s.id+"/"+action.Name, nil)
					s.prepare(func() { first.status(200, 202, 204) })
					s.post(s.id+"/"+action.Name, nil).notServerError("as an action sent again")
					s.concluded(first)
				}
				s.get(s.id).status(200)
			},
		},
		{
			ID: "operation/ends-as-its-location-does", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "an operation with both URLs ends alike at both: Succeeded if the Location answers 2xx, Failed or Canceled if it answers an error",
			Run: func(s *Scene) {
				outcomes := []Headers{nil}
				if wanted := s.Description.Asynchrony.Failed; len(wanted) > 0 {
					outcomes = append(outcomes, wanted)
				}
				tried := false
				for i, headers := range outcomes {
					id := sibling(s.id, []string{"succeeds", "fails"}[i])
					s.create(id, s.body(s.Type))
					started := s.remove(id, s.slowlyWithBoth(http.MethodDelete), withAll(headers))
					if started.Status != http.StatusAccepted || len(pollingURLs(started)) < 2 {
						continue
					}
					tried = true
					var end *Answer
					s.prepare(func() { // its end, and the read after it, have rules of their own
						end = s.await("the operation ends", func() (*Answer, bool) {
							a := s.follow(started.Header.Get("Azure-AsyncOperation"), started)
							return a, a.Status >= 400 || terminal(text(a.doc, "status"))
						})
						s.check(end.Status < 400, "the status of the operation can be read", "%s", end)
					})
					result := s.await("the Location ends", func() (*Answer, bool) {
						a := s.follow(started.Header.Get("Location"), started)
						return a, a.Status != http.StatusAccepted
					})
					s.check((text(end.doc, "status") == "Succeeded") == (result.Status < 300), "the Location ends like the status "+text(end.doc, "status"),
						"%s", result)
				}
				if !tried {
					s.leaveOut("no operation has both URLs")
				}
			},
		},
	}
}

// deletesTried is how often a DELETE is sent again if the first one has
// always ended already. Such operations are short, so many tries cost little.
const deletesTried = 20

// lasting requests an operation that does not end by itself, if the
// description has a pattern for it.
func lasting(s *Scene, method string) option {
	for _, p := range s.Description.Asynchrony.Patterns {
		if p.Method == method && !p.Accepted {
			return s.long(p)
		}
	}
	return func(*call) {}
}

// slowlyWithBoth requests an operation with both polling URLs, if the
// description has a pattern for it.
func (s *Scene) slowlyWithBoth(method string) option {
	for _, p := range s.Description.Asynchrony.Patterns {
		if p.Method == method && p.Location && p.Status {
			return s.short(p)
		}
	}
	return func(*call) {}
}
