package contract

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// racers is the number of simultaneous requests for one resource, and rounds
// how often they are sent.
const (
	racers = 8
	rounds = 3
)

// raceCases check concurrent requests for one resource. The provider may
// refuse any of them; the final state must be one that some order of the
// successful ones would have left.
func raceCases() []Case {
	return []Case{
		{
			ID: "race/one-creation", Profile: Core, Section: putResource, On: writable,
			Rule: "of concurrent PUTs of one new resource exactly one creates it; there is then one resource, with the body of one of them",
			Run: func(s *Scene) {
				bodies := []Object{s.body(s.Type)}
				if hasOther(s.Type) {
					bodies = append(bodies, s.other(s.Type))
				}
				var alone []any // what each body shows without a race
				for i, body := range bodies {
					id := sibling(s.id, fmt.Sprintf("alone-%d", i))
					createdNew(s, id, body)
					alone = append(alone, echoed(body, s.read(id).doc))
				}
				for round := range rounds {
					id := sibling(s.id, fmt.Sprintf("race-%d", round))
					puts := make([]call, racers)
					for i := range puts {
						puts[i] = s.writing(http.MethodPut, id, bodies[i%len(bodies)])
					}
					answers := s.atOnce(puts)
					plausible(s, answers)
					created, done, later := count(answers, 201), count(answers, 200), count(answers, 202)
					s.check(created <= 1, "at most one PUT of a new resource answers 201", "%d do", created)
					s.check(created+later > 0, "one PUT of a new resource creates it", "none does; %d answer 200", done)
					concludeAll(s, answers)
					read := s.awaitEnd(id).status(200)
					if read.state() == "Succeeded" {
						fits := slices.ContainsFunc(alone, func(body any) bool { return missing(read.doc, body, "") == "" })
						s.check(fits, "the resource has the body of one of the PUTs", "%s", read)
					}
					s.listedOnce(id, false)
				}
			},
		},
		{
			ID: "race/put-and-delete", Profile: Core, Section: deleteResource, On: writable,
			Rule: "concurrent PUTs and a DELETE of one resource have the result of some order of them",
			Run: func(s *Scene) {
				createdNew(s, s.id, s.body(s.Type))
				s.removed(s.id)
				for round := range rounds {
					id := sibling(s.id, fmt.Sprintf("race-%d", round))
					s.create(id, s.body(s.Type))
					calls := []call{s.writing(http.MethodDelete, id, nil)}
					for range racers / 2 {
						calls = append(calls, s.writing(http.MethodPut, id, s.body(s.Type)))
					}
					answers := s.atOnce(calls)
					plausible(s, answers)
					concludeAll(s, answers)
					s.ordered(id, answers[1:], answers[0])
				}
			},
		},
	}
}

// createdNew prepares a resource whose answer shows that it was created. That
// status, and a DELETE that removes, have rules of their own.
func createdNew(s *Scene, id string, body Object) {
	s.prepare(func() { s.settled(s.put(id, body).status(201, 202), id) })
}

// ordered checks the state of an existing resource after PUTs and a DELETE: some order of
// the successful ones must lead to it.
func (s *Scene) ordered(id string, puts []*Answer, remove *Answer) {
	read := s.awaitEnd(id)
	gone := read.isGone()
	s.listedOnce(id, gone)
	synchronous := remove.Status != http.StatusAccepted && count(puts, http.StatusAccepted) == 0
	if !synchronous {
		return // the order cannot be known
	}
	created := count(puts, http.StatusCreated)
	what := fmt.Sprintf("after a DELETE with %d, %d PUTs with 200 and %d with 201", remove.Status, count(puts, 200), created)
	switch {
	case remove.Status >= 300:
		s.check(!gone && created == 0, what+" the resource is there and was not created again", "GET answers %d", read.Status)
	case !gone:
		// race/one-creation checks that no two requests create it.
		s.check(created > 0, what+" a resource that is there was created again", "no PUT answers 201")
	default:
		s.check(created == 0, what+" a resource that is gone was not created again", "%d PUTs answer 201", created)
	}
}

// writing returns a call of the scene's type.
func (s *Scene) writing(method, id string, body Object) call {
	c := call{method: method, target: escape(id) + "?api-version=" + s.Type.version(), region: s.endpoint(id), header: http.Header{}}
	if body != nil {
		c.body = []byte(showFull(body))
	}
	return c
}

// atOnce makes calls concurrently and returns their answers in the same
// order. A call without an answer ends the scene.
func (s *Scene) atOnce(calls []call) []*Answer {
	answers, failures := make([]*Answer, len(calls)), make([]error, len(calls))
	start := make(chan struct{})
	var done sync.WaitGroup
	for i, c := range calls {
		done.Go(func() {
			<-start
			answers[i], failures[i] = s.send(c)
		})
	}
	close(start)
	done.Wait()
	for i, a := range answers {
		if a == nil {
			s.unlessStopped(failures[i])
			s.fatal(calls[i].String()+" is answered", failures[i].Error())
		}
	}
	s.last = answers[0]
	s.recordStep(answers...)
	return answers
}

// plausible expects each of several concurrent calls to succeed or to be refused.
func plausible(s *Scene, answers []*Answer) {
	for _, a := range answers {
		s.last = a
		s.check(a.Status < 500 || isThrottled(a), a.call.String()+" succeeds or is refused while other calls run", "%s", a)
	}
}

// concludeAll waits for the operations that the answers started.
func concludeAll(s *Scene, answers []*Answer) {
	for _, a := range answers {
		s.concluded(a)
	}
}

func count(answers []*Answer, status int) int {
	n := 0
	for _, a := range answers {
		if a.Status == status {
			n++
		}
	}
	return n
}
