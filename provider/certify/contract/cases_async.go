package contract

import (
	"net/http"
	"slices"
)

// asyncTypes selects the types on which asynchronous writes are tried:
// tracked types, or any type of a provider without tracked ones.
func asyncTypes(t *Type) bool { return hasOther(t) && (isTracked(t) || !t.provider.hasTracked()) }

func (p *Provider) hasTracked() bool {
	return slices.ContainsFunc(p.ResourceTypes, isTracked)
}

// stateCases check the property provisioningState.
func stateCases() []Case {
	sent := func(s *Scene, value string) Object {
		properties, _ := s.Type.Contract.Body["properties"].(Object)
		return s.body(s.Type, Object{"properties": overlay(properties, Object{"provisioningState": value})})
	}
	current := func(s *Scene) string {
		state := text(s.read(s.id).doc, "properties.provisioningState")
		if state == "" {
			s.leaveOut("the type shows no provisioningState")
		}
		return state
	}
	return []Case{
		{
			ID: "state/ends-in-one-that-clients-know", Profile: Core, Section: stateProperty, On: writable, First: true,
			Rule: "when no operation runs, the provisioningState is Succeeded, Failed or Canceled: clients wait for one of these",
			Run: func(s *Scene) {
				s.prepare(func() { s.put(s.id, s.body(s.Type)).done() })
				read := s.get(s.id)
				for w := s.newWait(); (read.Status != http.StatusOK || !terminal(read.state())) && w.until(read); {
					read = s.get(s.id)
				}
				s.prepare(func() { read.status(http.StatusOK) })
				if text(read.doc, "properties.provisioningState") == "" {
					s.leaveOut("the type shows no provisioningState")
				}
				read.check(ofContract(read.state()), "the provisioningState becomes Succeeded, Failed or Canceled", "after %s: %s", s.Limits.Wait, read.state())
			},
		},
		{
			ID: "state/a-matching-one-is-ignored", Profile: Core, Section: stateProperty, On: writable,
			Rule: "a provisioningState that matches the value on the server is ignored",
			Run: func(s *Scene) {
				s.created()
				s.overwritable(s.id)
				now := current(s)
				s.settled(s.put(s.id, sent(s, now)).done(), s.id)
				s.read(s.id).inState(now)
			},
		},
		{
			ID: "state/a-differing-one-is-refused", Profile: Core, Section: stateProperty, On: writable,
			Rule: "a provisioningState that does not match the value on the server is 400",
			Run: func(s *Scene) {
				s.created()
				s.overwritable(s.id)
				current(s)
				for _, value := range []string{"Creating", "Failed", "Mine"} {
					s.put(s.id, sent(s, value)).refused(400)
				}
			},
		},
		{
			ID: "state/a-differing-one-is-refused-during-an-operation", Profile: Asynchronous, Section: stateProperty, On: asyncTypes,
			Rule: "the provisioningState is compared with the current value on the server",
			Run: func(s *Scene) {
				if !s.Description.Asynchrony.steered() {
					s.leaveOut("the description has no headers for an operation that does not end")
				}
				p := s.shownPatterns()[0]
				s.prepare(func() { s.begins(&p, s.put(s.id, s.body(s.Type), s.long(p))) })
				if terminal(current(s)) {
					s.leaveOut("the state is terminal at once")
				}
				a := s.put(s.id, sent(s, "Succeeded"))
				if a.Status == http.StatusConflict {
					s.leaveOut("the provider refuses every write while an operation runs")
				}
				a.refused(400)
			},
		},
	}
}

// shownPatterns returns the PUT patterns that show the resource immediately,
// and hiddenPatterns the patterns that answer 202.
func (s *Scene) shownPatterns() []Pattern  { return s.putPatterns(false) }
func (s *Scene) hiddenPatterns() []Pattern { return s.putPatterns(true) }

func (s *Scene) putPatterns(accepted bool) []Pattern {
	var found []Pattern
	for _, p := range s.patterns(http.MethodPut) {
		if p.natural || p.Accepted == accepted {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		s.leaveUndescribed("a pattern of PUT that answers " + map[bool]string{true: "202", false: "200 or 201"}[accepted])
	}
	return found
}

// patterns returns a method's patterns; the case is left out if there are
// none. A provider that is not steered has one pattern, its own. Through a
// front door every 202 has a Location, whatever the provider sends.
func (s *Scene) patterns(method string) []Pattern {
	if !s.Description.Asynchrony.steered() {
		return []Pattern{{Name: "natural", Method: method, natural: true}}
	}
	var found []Pattern
	for _, p := range s.Description.Asynchrony.Patterns {
		if p.Method == method {
			p.derived = s.Adapter.Through && p.Accepted && p.Status && !p.Location
			p.Location = p.Location || p.derived
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		s.leaveUndescribed("a pattern of " + method)
	}
	return found
}

// long and short request a pattern with an operation that does not end, or
// that ends soon.
func (s *Scene) long(p Pattern) option {
	return withAll(p.Headers, s.Description.Asynchrony.Long)
}

func (s *Scene) short(p Pattern, further ...Headers) option {
	return withAll(p.Headers, s.Description.Asynchrony.Short, mergedHeaders(further...))
}

// failing requests a pattern whose operation ends in an outcome. It leaves
// the case out if the description has no headers for that.
func (s *Scene) failing(p Pattern, outcome Headers) option {
	if len(outcome) == 0 {
		s.leaveOut("the description has no headers for an operation that fails")
	}
	return s.short(p, outcome)
}

// begins expects the pattern's answer to the start of an operation. If the
// provider is not steered, begins fills in the pattern from the answer.
func (s *Scene) begins(p *Pattern, a *Answer) *Answer {
	if !p.natural {
		if p.Accepted {
			return a.status(202)
		}
		return a.status(200, 201)
	}
	if a.Status == http.StatusMethodNotAllowed {
		s.leaveOut("the provider does not support " + a.call.method + ", which another case reports")
	}
	if s.prepare(func() { a.done() }); !a.asynchronous() {
		s.leaveOut("the provider answered synchronously")
	}
	p.Accepted = a.Status == http.StatusAccepted
	p.Location = p.Accepted
	p.Status = a.Header.Get("Azure-AsyncOperation") != ""
	return a
}

// beginsShown is like begins for a PUT that shows the resource, beginsHidden
// for a PUT that does not.
func (s *Scene) beginsShown(p *Pattern, a *Answer) *Answer {
	if s.begins(p, a); p.natural && p.Accepted {
		s.leaveOut("the provider answered 202")
	}
	return a
}

func (s *Scene) beginsHidden(p *Pattern, a *Answer) {
	if s.begins(p, a); p.natural && !p.Accepted {
		s.leaveOut("the provider answered with the resource")
	}
}

// links expects the polling headers of the pattern.
func (a *Answer) links(p Pattern) {
	if p.Location {
		a.link("Location")
	}
	if p.Status {
		a.link("Azure-AsyncOperation")
	}
}

// awaitTerminal waits until a resource's state is terminal, or the resource is gone.
func (s *Scene) awaitTerminal(id string) *Answer {
	return s.await(id+" reaches a terminal state", func() (*Answer, bool) {
		a := s.get(id)
		return a, a.Status == 404 || a.Status == 200 && terminal(a.state())
	})
}

// awaitState waits until a resource is in the state, or gone. A resource that
// shows another terminal state first breaks another rule.
func (s *Scene) awaitState(state, id string) *Answer {
	a := s.await(id+" shows the provisioningState "+state, func() (*Answer, bool) {
		a := s.get(id)
		return a, a.Status == 404 || a.Status == 200 && (a.state() == state || misspelled(a.state()))
	})
	if a.Status == 200 {
		a.inState(state)
	}
	return a
}

// awaitStatus waits until the operation resource has a terminal status. Its
// polls before that have a rule of their own.
func (s *Scene) awaitStatus(started *Answer) *Answer {
	var link string
	s.prepare(func() { link = started.link("Azure-AsyncOperation") })
	return s.await("the operation ends", func() (*Answer, bool) {
		a := s.follow(link, started)
		return a, a.Status > 299 || terminal(text(a.doc, "status"))
	})
}

// result waits until the Location no longer reports a running operation.
func (s *Scene) result(started *Answer) *Answer {
	var link string
	s.prepare(func() { link = started.link("Location") })
	return s.awaitLocation(link, started)
}

// awaitLocation polls a Location until it does not answer 202.
func (s *Scene) awaitLocation(link string, started *Answer) *Answer {
	return s.await("the operation ends", func() (*Answer, bool) {
		a := s.follow(link, started)
		return a, a.Status != http.StatusAccepted
	})
}

// variant returns an id for trying a pattern.
func (s *Scene) variant(p Pattern) string { return sibling(s.id, p.Name) }

// preparedPut makes a PUT that must succeed before the case can try its rule.
func (s *Scene) preparedPut(id string, body Object, options ...option) *Answer {
	var started *Answer
	s.prepare(func() { started = s.put(id, body, options...).done() })
	return started
}

// inProgress expects the answer to a PUT by a pattern, and a GET after it, to
// show the resource that is being created.
func (s *Scene) inProgress(p Pattern, started *Answer, id string, status int) {
	s.beginsShown(&p, started)
	if p.natural {
		reportedState(s, started, id)
		return
	}
	started.status(status).running().links(p)
	s.get(id).status(200).running()
}

// asyncPutCases check PUT that shows the resource during its creation.
func asyncPutCases() []Case {
	return []Case{
		{
			ID: "async-put/creates-in-a-state-that-is-not-terminal", Profile: Asynchronous, Section: asyncPut, On: asyncTypes,
			Rule: "201 with a provisioningState that is not terminal; GETs are 200 and show the same while it runs",
			Run: func(s *Scene) {
				for _, p := range s.shownPatterns() {
					id := s.variant(p)
					s.inProgress(p, s.put(id, s.body(s.Type), s.long(p)), id, 201)
				}
			},
		},
		{
			ID: "async-put/updates-in-a-state-that-is-not-terminal", Profile: Asynchronous, Section: asyncPut, On: asyncTypes,
			Rule: "200 with a provisioningState that is not terminal",
			Run: func(s *Scene) {
				for _, p := range s.shownPatterns() {
					id := s.variant(p)
					s.create(id, s.body(s.Type))
					s.overwritable(id)
					s.inProgress(p, s.put(id, s.other(s.Type), s.long(p)), id, 200)
				}
			},
		},
		{
			ID: "async-put/shows-the-update-in-progress", Profile: Asynchronous, Section: asyncPut, On: asyncTypes,
			Rule: "properties reflect the update that is in progress: the state that the resource will be in",
			Run: func(s *Scene) {
				for _, p := range s.shownPatterns() {
					id := s.variant(p)
					for _, body := range []Object{s.body(s.Type), s.other(s.Type)} {
						started := s.preparedPut(id, body, s.short(p))
						s.beginsShown(&p, started).shows(body)
						s.settled(started, id)
					}
				}
			},
		},
		{
			ID: "async-put/ends-in-succeeded", Profile: Asynchronous, Section: asyncPut, On: asyncTypes, First: true,
			Rule: "after provisioning completes the state is terminal, and is returned on all later GETs",
			Run: func(s *Scene) {
				for _, p := range s.shownPatterns() {
					id := s.variant(p)
					for _, body := range []Object{s.body(s.Type), s.other(s.Type)} {
						started := s.preparedPut(id, body, s.short(p))
						s.beginsShown(&p, started)
						s.awaitTerminal(id).status(200).inState("Succeeded").shows(body)
						s.get(id).status(200).inState("Succeeded")
					}
				}
			},
		},
		{
			ID: "async-put/the-state-stays-shown", Profile: Asynchronous, Section: asyncPut, On: asyncTypes,
			Rule: "the provisioningState is returned on all future GETs, even after it is complete",
			Run: func(s *Scene) {
				for _, p := range s.shownPatterns() {
					id := s.variant(p)
					started := s.preparedPut(id, s.body(s.Type), s.short(p))
					s.beginsShown(&p, started)
					if text(started.doc, "properties.provisioningState") == "" {
						s.leaveOut("the answer of PUT has no provisioningState, which another case reports")
					}
					s.settled(started, id)
					s.read(id).hasText("properties.provisioningState")
				}
			},
		},
		{
			ID: "async-put/a-failed-update-is-reverted", Profile: Asynchronous, Section: asyncPut, On: asyncTypes,
			Rule: "if an update fails, the properties are reverted to their previous state, and the provisioningState is Failed",
			Run: func(s *Scene) {
				a := s.Description.Asynchrony
				for _, p := range s.shownPatterns() {
					for outcome, headers := range map[string]Headers{"Failed": a.Failed, "Canceled": a.Canceled} {
						id, body := sibling(s.id, p.Name+"-"+outcome), s.body(s.Type)
						request := s.failing(p, headers)
						s.create(id, body)
						s.prepare(func() { s.put(id, s.other(s.Type), request).done() })
						s.awaitState(outcome, id).status(200).shows(body)
					}
				}
			},
		},
		{
			ID: "async-put/a-failed-creation", Profile: Asynchronous, Section: asyncPut, On: asyncTypes,
			Rule: "after a failed creation the resource is in the state Failed, or does not exist",
			Run: func(s *Scene) {
				for _, p := range s.shownPatterns() {
					id := s.variant(p)
					request := s.failing(p, s.Description.Asynchrony.Failed)
					s.prepare(func() { s.put(id, s.body(s.Type), request).done() })
					s.awaitState("Failed", id)
				}
			},
		},
	}
}

// reportedState checks a state seen during an operation that may end at any time: it
// must not be terminal if a later poll finds the operation still running.
func reportedState(s *Scene, started *Answer, id string) {
	link := started.Header.Get("Azure-AsyncOperation")
	if link == "" {
		started.running()
		s.get(id).status(200)
		return
	}
	read := s.get(id).status(200)
	for range certainPolls {
		a := s.follow(link, started)
		if status := text(a.doc, "status"); a.Status != http.StatusOK || status == "" || terminal(status) {
			return
		}
	}
	started.running()
	read.running()
}

// certainPolls polls in a row must find an operation running before a
// terminal state seen earlier counts as wrong: the provider may change the
// two shortly after each other.
const certainPolls = 3

// acceptedPutCases check a PUT that answers 202, the old model.
func acceptedPutCases() []Case {
	return []Case{
		{
			ID: "202-put/invisible-until-it-is-done", Profile: Asynchronous, Section: accepted, On: asyncTypes, OwnGroup: true,
			Rule: "a resource whose creation was answered with 202 is not visible before the operation completes: GETs are 404 and collections lack it",
			Run: func(s *Scene) {
				for _, p := range s.hiddenPatterns() {
					id := s.variant(p)
					started := s.preparedPut(id, s.body(s.Type), s.long(p))
					s.beginsHidden(&p, started)
					read := s.get(id)
					items := s.listed(collection(id)).like(id)
					if p.natural && !s.stillRuns(started) {
						s.leaveOut("the operation ended too soon to tell")
					}
					read.check(read.Status == 404, read.call.String()+" answers 404 while the operation runs", "%s", read)
					s.check(len(items) == 0, "the collection does not have it", "it has")
				}
			},
		},
		{
			ID: "202-put/ends-as-the-synchronous-call-would-have", Profile: Asynchronous, Section: accepted, On: asyncTypes,
			Rule:    "when complete, the Location answers exactly as the synchronous operation would have",
			Through: "a Location that the front door made answers 200 with the resource",
			Run: func(s *Scene) {
				for _, p := range s.hiddenPatterns() {
					id := s.variant(p)
					for i, body := range []Object{s.body(s.Type), s.other(s.Type)} {
						started := s.preparedPut(id, body, s.short(p))
						s.beginsHidden(&p, started)
						if p.Location {
							s.sameAsSynchronous(s.result(started), id, []int{200, 201}[:2-i]...)
						}
						s.settled(started, id)
					}
				}
			},
		},
		{
			ID: "202-put/ends-with-the-resource", Profile: Asynchronous, Section: accepted, On: asyncTypes, First: true,
			Rule: "when the operation has completed, the resource is visible, with the body that was PUT",
			Run: func(s *Scene) {
				for _, p := range s.hiddenPatterns() {
					id := s.variant(p)
					started := s.preparedPut(id, s.body(s.Type), s.short(p))
					s.beginsHidden(&p, started)
					s.prepare(func() { s.followed(started) })
					if !hasURL(started) {
						s.settled(started, id)
					}
					s.get(id).status(200).inState("Succeeded").shows(s.body(s.Type))
				}
			},
		},
		{
			ID: "202-put/a-failed-creation", Profile: Asynchronous, Section: accepted, On: asyncTypes,
			Rule: "a failed creation leaves no resource; its Location answers with the error",
			Run: func(s *Scene) {
				for _, p := range s.hiddenPatterns() {
					id := s.variant(p)
					request := s.failing(p, s.Description.Asynchrony.Failed)
					var started *Answer
					s.prepare(func() { started = s.put(id, s.body(s.Type), request).status(202) })
					if p.Location {
						s.failed(s.result(started))
					}
					s.get(id).gone()
				}
			},
		},
	}
}

// stillRuns reports whether a poll finds the operation of a 202 running.
func (s *Scene) stillRuns(started *Answer) bool {
	for _, a := range s.polls(started) {
		status := text(a.doc, "status")
		if a.Status == http.StatusAccepted || a.Status == http.StatusOK && status != "" && !terminal(status) {
			return true
		}
	}
	return false
}

// sameAsSynchronous expects a finished Location to answer like the synchronous call: with
// one of its statuses and the current resource.
func (s *Scene) sameAsSynchronous(result *Answer, id string, statuses ...int) {
	result.status(statuses...)
	read := s.read(id)
	lack := absent(result.doc, read.doc, "")
	if lack == "" {
		lack = missing(result.doc, read.shownOf(s.Type.visible(s.body(s.Type))), "")
	}
	result.check(lack == "", "the finished Location answers with the resource", "%s", lack)
}

// failed expects an error from a finished Location.
func (s *Scene) failed(result *Answer) {
	result.check(result.Status >= 400, "the Location of a failed operation answers with an error", "%s", result)
}
