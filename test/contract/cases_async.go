package contract

import (
	"net/http"
)

// asyncTypes are the types whose asynchronous writes are tried.
func asyncTypes(t *Type) bool { return isTracked(t) && hasOther(t) }

// stateCases check the property provisioningState.
func stateCases() []Case {
	state := func(s string) Object { return Object{"provisioningState": s} }
	sent := func(s *Scene, value string) Object {
		properties, _ := lookup(s.Type.Contract.Body, "properties")
		o, _ := properties.(Object)
		return s.body(s.Type, Object{"properties": overlay(o, state(value))})
	}
	return []Case{
		{
			Name: "state/a matching one is ignored", Section: stateProperty, On: writable,
			Rule: "a provisioningState that matches the value on the server is ignored",
			Run: func(s *Scene) {
				now := s.made().state()
				s.put(s.id, sent(s, now)).status(200).inState(now)
			},
		},
		{
			Name: "state/a differing one is refused", Section: stateProperty, On: writable,
			Rule: "a provisioningState that does not match the value on the server is 400",
			Run: func(s *Scene) {
				s.made()
				for _, value := range []string{"Creating", "Failed", "Mine"} {
					s.put(s.id, sent(s, value)).refused(400)
				}
				s.get(s.id).status(200).inState("Succeeded")
			},
		},
		{
			Name: "state/a differing one is refused during an operation", Section: stateProperty, On: asyncTypes,
			Rule: "the value on the server is the one of this moment",
			Run: func(s *Scene) {
				s.put(s.id, s.body(s.Type), s.long(s.shown()[0])).status(201)
				s.put(s.id, sent(s, "Succeeded")).refused(400)
			},
		},
	}
}

// shown are the patterns of PUT that show the resource immediately, hidden those that
// answer 202.
func (s *Scene) shown() []Pattern  { return s.putPatterns(false) }
func (s *Scene) hidden() []Pattern { return s.putPatterns(true) }

func (s *Scene) putPatterns(accepted bool) []Pattern {
	var found []Pattern
	for _, p := range s.patterns(http.MethodPut) {
		if p.Accepted == accepted {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		s.pass()
	}
	return found
}

// patterns are those of a method; without any, the case cannot be tried. Through a front
// door every 202 has a Location, whatever the provider sends.
func (s *Scene) patterns(method string) []Pattern {
	var found []Pattern
	for _, p := range s.Description.Asynchrony.Patterns {
		if p.Method == method {
			p.derived = s.Adapter.Through && p.Accepted && p.Status && !p.Location
			p.Location = p.Location || p.derived
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		s.pass()
	}
	return found
}

// long and short request a pattern with an operation that does not end, or soon ends.
func (s *Scene) long(p Pattern) option {
	return withAll(p.Headers, s.Description.Asynchrony.Long)
}

func (s *Scene) short(p Pattern, further ...Headers) option {
	return withAll(p.Headers, s.Description.Asynchrony.Short, headers(further...))
}

// links expects the headers that the pattern promises.
func (a *Answer) links(p Pattern) *Answer {
	if p.Location {
		a.link("Location")
	}
	if p.Status {
		a.link("Azure-AsyncOperation")
	}
	return a
}

// ended waits until a resource's state is terminal, or the resource is gone.
func (s *Scene) ended(id string) *Answer {
	return s.await(id+" reaches a terminal state", func() (*Answer, bool) {
		a := s.get(id)
		return a, a.Status == 404 || a.Status == 200 && terminal(a.state())
	})
}

// statusEnded waits until the operation resource has a terminal status; every poll must
// be 200.
func (s *Scene) statusEnded(begun *Answer) *Answer {
	link := begun.link("Azure-AsyncOperation")
	return s.await("the operation ends", func() (*Answer, bool) {
		a := s.follow(link, begun).status(200)
		return a, terminal(text(a.doc, "status"))
	})
}

// result waits until the Location no longer reports a running operation; until then,
// each answer has a Location and no body.
func (s *Scene) result(begun *Answer) *Answer {
	link := begun.link("Location")
	return s.await("the operation ends", func() (*Answer, bool) {
		a := s.follow(link, begun)
		if a.Status != http.StatusAccepted {
			return a, true
		}
		a.empty().link("Location")
		return a, false
	})
}

// asyncPutCases check PUT that shows the resource during its creation.
func asyncPutCases() []Case {
	return []Case{
		{
			Name: "async put/creates in a state that is not terminal", Section: asyncPut, On: asyncTypes,
			Rule: "201 with a provisioningState that is not terminal and the target's properties; GETs are 200 and show the same while it runs",
			Run: func(s *Scene) {
				for _, p := range s.shown() {
					id, body := beside(s.id, p.Name), s.body(s.Type)
					s.put(id, body, s.long(p)).status(201).named(id).running().shows(body).links(p)
					s.get(id).status(200).running().shows(body)
					for _, item := range s.walk(collection(id)).like(id) {
						s.check(!terminal(text(item, "properties.provisioningState")), "the list shows a state that is not terminal", "%s", show(item))
					}
				}
			},
		},
		{
			Name: "async put/updates in a state that is not terminal", Section: asyncPut, On: asyncTypes,
			Rule: "200 with a provisioningState that is not terminal; properties reflect the update that is in progress",
			Run: func(s *Scene) {
				for _, p := range s.shown() {
					id, other := beside(s.id, p.Name), s.other(s.Type)
					s.put(id, s.body(s.Type)).status(201)
					s.put(id, other, s.long(p)).status(200).running().shows(other).links(p)
					s.get(id).status(200).running().shows(other)
				}
			},
		},
		{
			Name: "async put/ends in Succeeded", Section: asyncPut, On: asyncTypes,
			Rule: "after provisioning completes the state is terminal, and is returned on all later GETs",
			Run: func(s *Scene) {
				for _, p := range s.shown() {
					id := beside(s.id, p.Name)
					for i, body := range []Object{s.body(s.Type), s.other(s.Type)} {
						begun := s.put(id, body, s.short(p)).status(201 - min(i, 1))
						if p.Status {
							end := s.statusEnded(begun)
							s.check(text(end.doc, "status") == "Succeeded", "the status is Succeeded", "%s", end)
						}
						s.ended(id).status(200).inState("Succeeded").shows(body)
						s.get(id).status(200).inState("Succeeded").shows(body)
					}
				}
			},
		},
		{
			Name: "async put/a failed update is reverted", Section: asyncPut, On: asyncTypes,
			Rule: "if an update failed the properties are reverted to their previous state, and the provisioningState tells of the failure",
			Run: func(s *Scene) {
				a := s.Description.Asynchrony
				for _, p := range s.shown() {
					for outcome, asked := range map[string]Headers{"Failed": a.Failed, "Canceled": a.Canceled} {
						id, body := beside(s.id, p.Name+"-"+outcome), s.body(s.Type)
						s.put(id, body).status(201)
						begun := s.put(id, s.other(s.Type), s.short(p, asked)).status(200)
						if p.Status {
							end := s.statusEnded(begun)
							s.check(text(end.doc, "status") == outcome, "the status is "+outcome, "%s", end)
						}
						s.ended(id).status(200).inState(outcome).shows(body)
						s.get(id).status(200).inState(outcome)
						s.put(id, s.other(s.Type)).status(200).inState("Succeeded")
					}
				}
			},
		},
		{
			Name: "async put/a failed creation", Section: asyncPut, On: asyncTypes,
			Rule: "a creation that failed shows Failed, or the resource is not there",
			Run: func(s *Scene) {
				for _, p := range s.shown() {
					id := beside(s.id, p.Name)
					s.put(id, s.body(s.Type), s.short(p, s.Description.Asynchrony.Failed)).status(201)
					if a := s.ended(id); a.Status == http.StatusOK {
						a.inState("Failed")
					}
				}
			},
		},
	}
}

// acceptedPutCases check PUT that answers 202, the old model.
func acceptedPutCases() []Case {
	return []Case{
		{
			Name: "202 put/invisible until it is done", Section: accepted, On: asyncTypes,
			Rule: "a resource whose creation was answered with 202 is not visible before the operation completes: GETs are 404 and collections lack it",
			Run: func(s *Scene) {
				for _, p := range s.hidden() {
					id := beside(s.id, p.Name)
					s.put(id, s.body(s.Type), s.long(p)).status(202).empty().links(p)
					s.get(id).refused(404)
					s.check(len(s.walk(collection(id)).like(id)) == 0, "the collection does not have it", "it has")
				}
			},
		},
		{
			Name: "202 put/ends as the synchronous call would have", Section: accepted, On: asyncTypes,
			Rule:    "when complete, the Location answers exactly as the synchronous operation would have, and the resource is visible",
			Through: "a Location that the front door made answers 200 with the resource",
			Run: func(s *Scene) {
				for _, p := range s.hidden() {
					id := beside(s.id, p.Name)
					for i, body := range []Object{s.body(s.Type), s.other(s.Type)} {
						begun := s.put(id, body, s.short(p)).status(202).empty().links(p)
						switch {
						case p.derived:
							s.same(s.result(begun), 200, id)
						case p.Location:
							s.same(s.result(begun), 201-min(i, 1), id)
						case p.Status:
							s.statusEnded(begun)
						}
						s.ended(id).status(200).inState("Succeeded").named(id).shows(body)
						s.check(s.walk(collection(id)).has(id), "the collection has it", "it has not")
					}
				}
			},
		},
		{
			Name: "202 put/a failed creation", Section: accepted, On: asyncTypes,
			Rule: "a creation that failed makes nothing; its Location answers with the error",
			Run: func(s *Scene) {
				for _, p := range s.hidden() {
					id := beside(s.id, p.Name)
					begun := s.put(id, s.body(s.Type), s.short(p, s.Description.Asynchrony.Failed)).status(202).empty()
					switch {
					case p.Location:
						s.failed(s.result(begun))
					case p.Status:
						s.statusEnded(begun)
					}
					s.get(id).refused(404)
				}
			},
		},
	}
}

// same expects a finished Location's answer to equal the synchronous call's: its
// status, and the current resource.
func (s *Scene) same(result *Answer, status int, id string) {
	result.status(status)
	read := s.get(id).status(200)
	lack := missing(result.doc, read.doc, "")
	if lack == "" {
		lack = missing(read.doc, result.doc, "")
	}
	s.check(lack == "", "the finished Location answers with the resource", "%s", lack)
	if s.Type.Capabilities.ETags {
		s.check(result.etag() == read.etag(), "the finished Location has the ETag "+read.etag(), "%q", result.etag())
	}
}

// failed expects the error of an operation.
func (s *Scene) failed(result *Answer) {
	s.check(result.Status >= 400, "the Location of a failed operation answers with an error", "%s", result)
	result.envelope()
}
