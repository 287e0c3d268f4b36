package contract

import (
	"net/http"
)

// retryCases check that requests may be sent again: clients do so when they saw no
// answer. What the second answer is the contract leaves open in most places; that nothing
// is spoiled by it is checked.
func retryCases() []Case {
	return []Case{
		{
			ID: "retry/put-while-the-first-runs", Profile: Core, Section: retrying, On: writable,
			Rule: "a PUT that is sent again while the first one runs is carried out or refused, never a server error, and the resource becomes what was asked",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				slowly := s.slowly(http.MethodPut)
				first := s.put(s.id, body, lasting(s, http.MethodPut))
				s.prepare(func() { first.status(200, 201, 202) })
				second := s.put(s.id, body, slowly).notServerError("as a PUT sent again")
				if second.Status >= 300 {
					s.leave("the provider refuses another PUT while the first runs")
				}
				s.concluded(second)
				s.await(s.id+" is what was asked", func() (*Answer, bool) {
					a := s.get(s.id)
					return a, a.Status == 200 && terminal(a.state()) || a.Status > 499
				}).status(200).inState("Succeeded")
				s.listedOnce(s.id, false)
			},
		},
		{
			ID: "retry/delete-while-the-first-runs", Profile: Core, Section: retrying, On: writable,
			Rule: "a DELETE that is sent again while the first one runs is carried out or refused, never a server error, and the resource goes",
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
					s.over(s.id).gone()
					if !ended {
						return
					}
				}
			},
		},
		{
			ID: "retry/post-twice", Profile: Core, Section: retrying, On: hasActions,
			Rule: "an action that is sent again is carried out or refused, never a server error, and the resource stays",
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
			Rule: "an operation with both URLs ends alike at both: Succeeded where the Location answers 2xx, Failed or Canceled where it answers an error",
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
					s.prepare(func() { // that it ends, and can be read, are other rules
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
					s.check((text(end.doc, "status") == "Succeeded") == (result.Status < 300), "the Location ends as the status "+text(end.doc, "status"),
						"%s", result)
				}
				if !tried {
					s.leave("no operation has both URLs")
				}
			},
		},
	}
}

// deletesTried is how often a DELETE is sent again, where the first one has always ended
// by then. Such operations are short, so that it costs little to try often.
const deletesTried = 20

// lasting asks for an operation that does not end by itself, where that is described.
func lasting(s *Scene, method string) option {
	for _, p := range s.Description.Asynchrony.Patterns {
		if p.Method == method && !p.Accepted {
			return s.long(p)
		}
	}
	return func(*call) {}
}

// slowlyWithBoth asks for an operation with both polling URLs, where that is described.
func (s *Scene) slowlyWithBoth(method string) option {
	for _, p := range s.Description.Asynchrony.Patterns {
		if p.Method == method && p.Location && p.Status {
			return s.short(p)
		}
	}
	return func(*call) {}
}
