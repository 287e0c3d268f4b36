package contract

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"
)

// acceptedCases check the 202 of PATCH, DELETE and POST.
func acceptedCases() []Case {
	return []Case{
		{
			ID: "202-patch/while-it-runs", Profile: Asynchronous, Section: asyncPatch, On: asyncTypes,
			Rule: "202 with a Location, which answers 202 while it runs; a provisioningState becomes one that is not terminal",
			Run:  func(s *Scene) { s.whileItRuns(patchWrite, http.MethodPatch) },
		},
		{
			ID: "202-patch/ends-as-the-synchronous-call-would-have", Profile: Asynchronous, Section: asyncPatch, On: asyncTypes,
			Rule: "on completion the Location answers as the synchronous request would have succeeded",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodPatch) {
					id := s.variant(p)
					started := s.prepared(patchWrite, &p, id, s.short(p))
					if s.hasLocation(p) {
						s.sameAsSynchronous(s.result(started), id, 200)
					}
				}
			},
		},
		{
			ID: "202-patch/ends-with-the-update", Profile: Asynchronous, Section: asyncPatch, On: func(t *Type) bool { return asyncTypes(t) && hasChange(t) },
			Rule: "on completion the resource has the changes of the PATCH, in the state Succeeded",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodPatch) {
					id := s.variant(p)
					started := s.prepared(patchWrite, &p, id, s.short(p))
					s.prepare(func() { s.followed(started) })
					if !hasURL(started) {
						s.awaitTerminal(id)
					}
					over := s.readSoon(id, func(a *Answer) bool { return terminal(a.state()) })
					over.status(200).inState("Succeeded").shows(Object{"properties": plain(s.Type.Contract.Change)})
				}
			},
		},
		{
			ID: "202-patch/a-failed-one-is-reverted", Profile: Asynchronous, Section: asyncPatch, On: asyncTypes,
			Rule: "a PATCH that failed leaves the resource as it was, in the state Failed; its Location answers with the error",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodPatch) {
					id := s.variant(p)
					started := s.prepared(patchWrite, &p, id, s.failing(p, s.Description.Asynchrony.Failed))
					if p.Location {
						s.failed(s.result(started))
					}
					s.awaitState("Failed", id).status(200).shows(s.body(s.Type))
				}
			},
		},
		{
			ID: "202-delete/while-it-runs", Profile: Asynchronous, Section: asyncDelete, On: asyncTypes,
			Rule: "202 with a Location, which answers 202 while it runs; a provisioningState becomes one that is not terminal",
			Run:  func(s *Scene) { s.whileItRuns(deleteWrite, http.MethodDelete) },
		},
		{
			ID: "202-delete/ends-with-200-or-204", Profile: Asynchronous, Section: asyncDelete, On: asyncTypes,
			Rule: "on completion the Location returns 200 or 204",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodDelete) {
					started := s.prepared(deleteWrite, &p, s.variant(p), s.short(p))
					if s.hasLocation(p) {
						s.result(started).status(200, 204)
					}
				}
			},
		},
		{
			ID: "202-delete/ends-with-the-resource", Profile: Asynchronous, Section: asyncDelete, On: asyncTypes, OwnGroup: true,
			Rule: "on completion the resource disappears",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodDelete) {
					id := s.variant(p)
					started := s.prepared(deleteWrite, &p, id, s.short(p))
					s.prepare(func() { s.followed(started) })
					if !hasURL(started) {
						s.awaitTerminal(id)
					}
					s.readSoon(id, (*Answer).isGone).gone()
					s.check(len(s.listed(collection(id)).like(id)) == 0, "the collection no longer has it", "it has")
				}
			},
		},
		{
			ID: "202-delete/a-failed-one-leaves-the-resource", Profile: Asynchronous, Section: asyncDelete, On: asyncTypes,
			Rule: "the resource disappears only if the DELETE completes successfully",
			Run: func(s *Scene) {
				for _, p := range s.patterns(http.MethodDelete) {
					id := s.variant(p)
					started := s.prepared(deleteWrite, &p, id, s.failing(p, s.Description.Asynchrony.Failed))
					if p.Location {
						s.failed(s.result(started))
					}
					a := s.awaitTerminal(id).status(200)
					a.check(a.state() != "Canceled", "the state is Failed or as before", "%s", a)
				}
			},
		},
		{
			ID: "202-post/while-it-runs", Profile: Asynchronous, Section: asyncPost, On: hasActions,
			Rule: "202 with a Location, which answers 202 while it runs",
			Run:  func(s *Scene) { s.whileItRuns(postWrite, http.MethodPost) },
		},
		{
			ID: "202-post/ends-as-the-synchronous-call-would-have", Profile: Asynchronous, Section: asyncPost, On: hasActions,
			Rule: "on completion the Location answers as the synchronous request would have succeeded, or 200 or 204",
			Run: func(s *Scene) {
				s.created()
				tried := false
				for _, action := range s.Type.Contract.Actions {
					for _, p := range s.patterns(http.MethodPost) {
						var started *Answer
						s.prepare(func() { started = s.post(s.id+"/"+action.Name, nil, s.short(p)).done() })
						if p.natural && !started.asynchronous() {
							continue
						}
						s.prepare(func() { s.begins(&p, started) })
						if tried = true; p.Location {
							s.result(started).status(action.Status).shows(action.Shows)
						}
					}
				}
				if !tried {
					s.leaveOut("the provider answered synchronously")
				}
			},
		},
		{
			ID: "202/retry-after-is-an-integer-of-seconds", Profile: Asynchronous, Section: accepted, On: asyncTypes, Once: true,
			Rule: "Retry-After, on the first answer and on polls, is in whole seconds, not a date",
			Run: func(s *Scene) {
				for _, a := range s.retryAfters() {
					got := a.Header.Get("Retry-After")
					_, err := strconv.Atoi(got)
					a.check(err == nil, "Retry-After is an integer", "%q", got)
				}
			},
		},
		{
			ID: "202/retry-after-is-from-10-to-600", Profile: Asynchronous, Section: accepted, On: asyncTypes, Once: true,
			Rule:    "Retry-After of a 202 is from 10 seconds to 10 minutes",
			Through: "values outside these bounds are moved to the nearest bound",
			Run: func(s *Scene) {
				for _, a := range s.retryAfters() {
					seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
					a.check(a.Status != http.StatusAccepted || err != nil || 10 <= seconds && seconds <= 600, "Retry-After is from 10 to 600", "%d", seconds)
				}
			},
		},
		{
			ID: "202/retry-after-is-what-the-provider-asks-for", Profile: Asynchronous, Section: accepted, On: asyncTypes, Once: true, Side: ThroughOnly,
			Rule:    "clients wait for the interval that the provider has specified",
			Through: "values within the bounds pass, others are moved to the nearest bound",
			Run: func(s *Scene) {
				name := s.Description.Asynchrony.RetryAfter
				if name == "" {
					s.leaveUndescribed("asynchrony.retryAfter")
				}
				for _, row := range []struct{ sent, got string }{{"42", "42"}, {"10", "10"}, {"600", "600"}, {"3", "10"}, {"86400", "600"}} {
					started := s.operation(s.Description.Asynchrony.Long, Headers{name: row.sent})
					for _, a := range append([]*Answer{started}, s.polls(started)...) {
						got := a.Header.Get("Retry-After")
						a.check(got == row.got, a.call.String()+" has Retry-After "+row.got, "%q", got)
					}
				}
			},
		},
		{
			ID: "202/the-url-lies-in-one-of-the-contracts-places", Profile: Asynchronous, Section: accepted, On: asyncTypes,
			Rule: "the Location is below the subscription's provider, its location, or the resource; each can be polled",
			Run: func(s *Scene) {
				places := s.Description.Asynchrony.Places
				if len(places) == 0 {
					inAnyPlace(s, s.operation(s.Description.Asynchrony.Long))
				}
				for _, place := range places {
					started := s.operation(s.Description.Asynchrony.Long, place.Headers)
					inPlace(s, started, place)
					for _, a := range s.polls(started) {
						a.status(200, 202)
					}
				}
			},
		},
	}
}

// plain returns the members of a merge-patch that have the same effect if
// properties are replaced.
func plain(change Object) Object {
	set := Object{}
	for name, value := range change {
		if _, isObject := value.(Object); value != nil && !isObject {
			set[name] = value
		}
	}
	return set
}

// retryAfters returns the answers of an operation and of its polls that have
// a Retry-After.
func (s *Scene) retryAfters() []*Answer {
	wanted := Headers{}
	if name := s.Description.Asynchrony.RetryAfter; name != "" {
		wanted[name] = "42"
	}
	var found []*Answer
	for started := range s.operations(s.Description.Asynchrony.Long, wanted) {
		for _, a := range append([]*Answer{started}, s.polls(started)...) {
			if a.Header.Get("Retry-After") != "" {
				found = append(found, a)
			}
		}
	}
	if len(found) == 0 {
		s.leaveOut("no answer had a Retry-After, which is optional")
	}
	return found
}

// write creates the resource that its request needs, and then makes a request
// that may be answered with 202.
type write func(s *Scene, id string, options ...option) *Answer

func putWrite(s *Scene, id string, options ...option) *Answer {
	return s.put(id, s.body(s.Type), options...)
}

func patchWrite(s *Scene, id string, options ...option) *Answer {
	s.create(id, s.body(s.Type))
	body := s.patchBody()
	if hasChange(s.Type) {
		body = Object{"properties": s.Type.Contract.Change}
	}
	return s.patch(id, body, options...)
}

func deleteWrite(s *Scene, id string, options ...option) *Answer {
	s.create(id, s.body(s.Type))
	return s.remove(id, options...)
}

func postWrite(s *Scene, id string, options ...option) *Answer {
	s.create(id, s.body(s.Type))
	action := s.Type.Contract.Actions[0]
	for _, a := range s.Type.Contract.Actions {
		if a.Asynchronous {
			action = a
		}
	}
	return s.post(id+"/"+action.Name, nil, options...)
}

// prepared starts an operation in a case that judges another rule.
func (s *Scene) prepared(w write, p *Pattern, id string, options ...option) *Answer {
	var started *Answer
	s.prepare(func() {
		if started = w(s, id, options...); !p.natural {
			started.status(202)
		}
	})
	s.begins(p, started)
	if p.natural && !p.Accepted {
		s.leaveOut("the provider did not answer 202")
	}
	if p.natural { // a missing Location breaks a rule of its own
		p.Location = started.Header.Get("Location") != ""
	}
	return started
}

// hasLocation leaves out a case about a finished Location if the provider sends none.
func (s *Scene) hasLocation(p Pattern) bool {
	if p.natural && !p.Location {
		s.leaveOut("the 202 has no Location, which another case reports")
	}
	return p.Location
}

// whileItRuns checks the answer that starts an operation, and the first polls.
func (s *Scene) whileItRuns(w write, method string) {
	for _, p := range s.patterns(method) {
		id := s.variant(p)
		started := s.begins(&p, w(s, id, s.long(p)))
		if p.natural && !p.Accepted {
			s.leaveOut("the provider did not answer 202")
		}
		started.links(p)
		read := s.get(id)
		if !p.natural {
			s.runs(started, p)
			if method != http.MethodPost {
				read.status(200).running()
			}
			continue
		}
		if poll := s.follow(started.link("Location"), started); poll.Status != http.StatusAccepted && s.surelyRuns(started) {
			poll.status(202)
		}
		if method != http.MethodPost && text(read.doc, "properties.provisioningState") != "" && s.surelyRuns(started) {
			read.running()
		}
	}
}

// surelyRuns reports whether several polls in a row find the operation running.
func (s *Scene) surelyRuns(started *Answer) bool {
	for range certainPolls {
		if !s.stillRuns(started) {
			return false
		}
	}
	return true
}

// runs checks the poll of a running operation: the Location answers 202, with
// a Location.
func (s *Scene) runs(started *Answer, p Pattern) {
	if p.Location {
		s.follow(started.link("Location"), started).status(202).link("Location")
	}
}

// operation starts an operation on a new resource: by the PATCH pattern with the most
// headers, or by the first write that the provider answers with a polling URL.
func (s *Scene) operation(headers ...Headers) *Answer { return s.operationBy(Owner, headers...) }

func (s *Scene) operationBy(caller Caller, headers ...Headers) *Answer {
	for started := range s.operationsBy(caller, headers) {
		return started
	}
	return nil // operationsBy has left the case
}

// operations starts one operation with each kind of write that can start one,
// and yields its answer before it starts the next.
func (s *Scene) operations(headers ...Headers) iter.Seq[*Answer] {
	return s.operationsBy(Owner, headers)
}

func (s *Scene) operationsBy(caller Caller, headers []Headers) iter.Seq[*Answer] {
	fresh := func() string { return sibling(s.id, fmt.Sprintf("op-%d", scenes.Add(1))) }
	return func(yield func(*Answer) bool) {
		if s.Description.Asynchrony.steered() {
			for _, way := range s.ways() {
				var started *Answer
				s.prepare(func() {
					started = way.write(s, fresh(), as(caller), withAll(way.pattern.Headers), withAll(headers...))
					s.begins(&way.pattern, started)
				})
				if !yield(started) {
					return
				}
			}
			return
		}
		found := false
		for _, w := range []write{patchWrite, deleteWrite, putWrite} {
			if a := w(s, fresh(), as(caller)); a.Status < 300 && hasURL(a) {
				if found = true; !yield(a) {
					return
				}
			}
		}
		if !found {
			s.leaveOut("no write was answered with a polling URL")
		}
	}
}

// way is a write with a pattern that answers it with a polling URL.
type way struct {
	method  string
	write   write
	pattern Pattern
}

// ways returns the ways in the description: only PATCH if it is answered with
// a Location, since such an operation shows everything; otherwise one for
// each kind of write.
func (s *Scene) ways() []way {
	var found []way
	for _, w := range []way{
		{method: http.MethodPatch, write: patchWrite}, {method: http.MethodDelete, write: deleteWrite}, {method: http.MethodPut, write: putWrite},
	} {
		best, there := fullest(s, w.method)
		if !there {
			continue
		}
		w.pattern = best
		if found = append(found, w); w.method == http.MethodPatch && best.Location {
			break
		}
	}
	if len(found) == 0 {
		s.leaveUndescribed("a pattern of PATCH, DELETE or PUT with a polling URL")
	}
	return found
}

// fullest returns a method's pattern with the most headers, if any has headers.
func fullest(s *Scene, method string) (best Pattern, there bool) {
	for _, p := range s.Description.Asynchrony.Patterns {
		if p.Method != method || !p.Location && !p.Status {
			continue
		}
		if !there || p.Location && !best.Location || p.Location == best.Location && p.Status {
			best, there = p, true
		}
	}
	return best, there
}

// polls calls each polling URL of an answer once.
func (s *Scene) polls(started *Answer) []*Answer {
	var all []*Answer
	for _, header := range []string{"Location", "Azure-AsyncOperation"} {
		if started.Header.Get(header) != "" {
			all = append(all, s.follow(started.Header.Get(header), started))
		}
	}
	return all
}
