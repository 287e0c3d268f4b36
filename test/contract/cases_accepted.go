package contract

import (
	"fmt"
	"net/http"
	"strconv"
)

// acceptedCases check the bodiless 202 of PATCH, DELETE and POST.
func acceptedCases() []Case {
	return []Case{
		{
			Name: "202 patch/while it runs", Section: asyncPatch, On: asyncTypes,
			Rule: "202 without a body, with a Location; a provisioningState becomes one that is not terminal",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodPatch) {
					id := beside(s.id, p.Name)
					s.put(id, s.body(s.Type)).status(201)
					begun := s.patch(id, Object{"properties": s.Type.Contract.Change}, s.long(p)).status(202).empty().links(p)
					s.get(id).status(200).running()
					s.runs(begun, p)
				}
			},
		},
		{
			Name: "202 patch/ends as the synchronous call would have", Section: asyncPatch, On: asyncTypes,
			Rule: "on completion the Location returns what would have been the successful response",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodPatch) {
					id := beside(s.id, p.Name)
					before, _ := lookup(s.put(id, s.body(s.Type)).status(201).doc, "properties")
					begun := s.patch(id, Object{"properties": s.Type.Contract.Change}, s.short(p)).status(202).empty()
					if p.Location {
						s.same(s.result(begun), 200, id)
					}
					s.ended(id).status(200).inState("Succeeded").shows(Object{"properties": mergePatch(before, s.Type.Contract.Change)})
				}
			},
		},
		{
			Name: "202 patch/a failed one is reverted", Section: asyncPatch, On: asyncTypes,
			Rule: "a PATCH that failed leaves the resource as it was, in the state Failed; its Location answers with the error",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodPatch) {
					id, body := beside(s.id, p.Name), s.body(s.Type)
					s.put(id, body).status(201)
					begun := s.patch(id, Object{"properties": s.Type.Contract.Change}, s.short(p, s.Description.Asynchrony.Failed)).status(202)
					if p.Location {
						s.failed(s.result(begun))
					}
					s.ended(id).status(200).inState("Failed").shows(body)
				}
			},
		},
		{
			Name: "202 delete/while it runs", Section: asyncDelete, On: asyncTypes,
			Rule: "202 without a body, with a Location; a provisioningState becomes one that is not terminal",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodDelete) {
					id := beside(s.id, p.Name)
					s.put(id, s.body(s.Type)).status(201)
					begun := s.remove(id, s.long(p)).status(202).empty().links(p)
					s.get(id).status(200).running()
					s.runs(begun, p)
				}
			},
		},
		{
			Name: "202 delete/ends with the resource", Section: asyncDelete, On: asyncTypes,
			Rule: "on completion the Location returns 200 or 204 and the resource disappears",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodDelete) {
					id := beside(s.id, p.Name)
					s.put(id, s.body(s.Type)).status(201)
					begun := s.remove(id, s.short(p)).status(202).empty()
					if p.Location {
						s.result(begun).status(200, 204).empty()
					}
					s.ended(id).refused(404)
					s.check(len(s.walk(collection(id)).like(id)) == 0, "the collection has it no more", "it has")
					s.remove(id).status(204)
				}
			},
		},
		{
			Name: "202 delete/a failed one leaves the resource", Section: asyncDelete, On: asyncTypes,
			Rule: "the resource disappears only if the DELETE completes successfully",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodDelete) {
					id := beside(s.id, p.Name)
					s.put(id, s.body(s.Type)).status(201)
					begun := s.remove(id, s.short(p, s.Description.Asynchrony.Failed)).status(202)
					if p.Location {
						s.failed(s.result(begun))
					}
					a := s.ended(id).status(200)
					s.check(a.state() != "Canceled", "the state is Failed or as before", "%s", a)
				}
			},
		},
		{
			Name: "202 post/while it runs", Section: asyncPost, On: hasActions,
			Rule: "202 without a body, with a Location",
			Run: func(s *Scene) {
				s.made()
				for _, action := range s.Type.Contract.Actions {
					for _, p := range s.patterns(http.MethodPost) {
						begun := s.post(s.id+"/"+action.Name, nil, s.long(p)).status(202).empty().links(p)
						s.runs(begun, p)
					}
				}
			},
		},
		{
			Name: "202 post/ends as the synchronous call would have", Section: asyncPost, On: hasActions,
			Rule: "on completion the Location returns what would have been the successful response; 200 or 204 where there is none",
			Run: func(s *Scene) {
				s.made()
				for _, action := range s.Type.Contract.Actions {
					for _, p := range s.patterns(http.MethodPost) {
						begun := s.post(s.id+"/"+action.Name, nil, s.short(p)).status(202)
						if p.Location {
							s.result(begun).status(action.Status).shows(action.Shows)
						}
						if p.Status {
							end := s.statusEnded(begun)
							s.check(text(end.doc, "status") == "Succeeded", "the status is Succeeded", "%s", end)
						}
					}
				}
			},
		},
		{
			Name: "202/Retry-After is an integer of seconds", Section: accepted, On: isTop, Once: true,
			Rule:    "Retry-After, on the first answer and on polls, is in whole seconds, from 10 to 600",
			Through: "what a provider sends outside these bounds is brought inside",
			Run: func(s *Scene) {
				name := s.Description.Asynchrony.RetryAfter
				if name == "" {
					s.pass()
				}
				rows := []struct{ sent, straight, through string }{{"42", "42", "42"}, {"10", "10", "10"}, {"600", "600", "600"}}
				if s.Adapter.Through {
					rows = append(rows, []struct{ sent, straight, through string }{{"3", "", "10"}, {"86400", "", "600"}}...)
				}
				for _, row := range rows {
					begun := s.operation(s.Description.Asynchrony.Long, Headers{name: row.sent})
					for _, a := range append([]*Answer{begun}, s.polls(begun)...) {
						got := a.Header.Get("Retry-After")
						s.check(got == by(s, row.straight, row.through), a.call.String()+" has Retry-After "+by(s, row.straight, row.through), "%q", got)
						seconds, err := strconv.Atoi(got)
						s.check(err == nil && 10 <= seconds && seconds <= 600, "Retry-After is from 10 to 600", "%q", got)
					}
				}
			},
		},
		{
			Name: "202/the URL lies in one of the contract's places", Section: accepted, On: isTop,
			Rule: "the Location is below the subscription's provider, its location, or the resource; each can be polled",
			Run: func(s *Scene) {
				if len(s.Description.Asynchrony.Places) == 0 {
					s.pass()
				}
				for _, place := range s.Description.Asynchrony.Places {
					begun := s.operation(s.Description.Asynchrony.Long, place.Headers)
					s.inPlace(begun, place)
					for _, a := range s.polls(begun) {
						a.status(200, 202)
					}
				}
			},
		},
	}
}

// runs checks the polls of a running operation: the Location answers 202, bodiless and
// with itself, the status 200.
func (s *Scene) runs(begun *Answer, p Pattern) {
	if p.Location {
		s.follow(begun.link("Location"), begun).status(202).empty().link("Location")
	}
	if p.Status {
		a := s.follow(begun.link("Azure-AsyncOperation"), begun).status(200)
		status := text(a.doc, "status")
		s.check(status != "" && !terminal(status), "the operation has a status that is not terminal", "%s", a)
	}
}

// operation starts an operation on a new resource, by the pattern of PATCH with the
// most headers.
func (s *Scene) operation(asked ...Headers) *Answer { return s.operationBy(Owner, asked...) }

func (s *Scene) operationBy(caller Caller, asked ...Headers) *Answer {
	var best Pattern
	for _, p := range s.patterns(http.MethodPatch) {
		if p.Location && !p.derived && (!best.Location || p.Status) {
			best = p
		}
	}
	if !best.Location {
		s.pass()
	}
	id := beside(s.id, fmt.Sprintf("operation-%d", scenes.Add(1)))
	s.put(id, s.body(s.Type), as(caller)).status(201)
	return s.patch(id, Object{"tags": Object{"a": "b"}}, as(caller), withAll(best.Headers), withAll(asked...)).status(202)
}

// polls calls each polling URL of an answer once.
func (s *Scene) polls(begun *Answer) []*Answer {
	var all []*Answer
	for _, header := range []string{"Location", "Azure-AsyncOperation"} {
		if begun.Header.Get(header) != "" {
			all = append(all, s.follow(begun.Header.Get(header), begun))
		}
	}
	return all
}
