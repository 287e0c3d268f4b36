package contract

import (
	"net/http"
)

// urlCases check the headers and bodies of answers that start an operation,
// for each kind of write.
func urlCases() []Case {
	var cases []Case
	for _, row := range []struct {
		family, method, section string
		on                      func(*Type) bool
		write                   write
	}{
		{"202-put", http.MethodPut, accepted, asyncTypes, putWrite},
		{"202-patch", http.MethodPatch, asyncPatch, asyncTypes, patchWrite},
		{"202-delete", http.MethodDelete, asyncDelete, asyncTypes, deleteWrite},
		{"202-post", http.MethodPost, asyncPost, hasActions, postWrite},
	} {
		// started returns the 202 answers to the write, with the first polls of
		// their Location.
		started := func(s *Scene) []*Answer {
			patterns := s.patterns(row.method)
			if row.method == http.MethodPut {
				patterns = s.hiddenPatterns()
			}
			var all []*Answer
			for _, p := range patterns {
				a := s.prepared(row.write, &p, s.variant(p), s.long(p))
				if all = append(all, a); a.Header.Get("Location") != "" {
					if poll := s.follow(a.Header.Get("Location"), a); poll.Status == http.StatusAccepted {
						all = append(all, poll)
					}
				}
			}
			return all
		}
		cases = append(cases, Case{
			ID: row.family + "/has-no-body", Profile: Asynchronous, Section: row.section, On: row.on,
			Rule: "202 has no response body, on the first answer and on polls of its Location",
			Run: func(s *Scene) {
				for _, a := range started(s) {
					a.empty()
				}
			},
		}, Case{
			ID: row.family + "/its-urls-are-absolute-and-public", Profile: Asynchronous, Section: row.section, On: row.on,
			Rule: "Location and Azure-AsyncOperation are absolute URIs on the host of the Referer header",
			Run: func(s *Scene) {
				for _, a := range started(s) {
					a.public("Location")
					a.public("Azure-AsyncOperation")
				}
			},
		})
	}
	return append(cases, Case{
		ID: "async-put/its-url-is-absolute-and-public", Profile: Asynchronous, Section: asyncPut, On: asyncTypes,
		Rule: "Azure-AsyncOperation is an absolute URI on the host of the Referer header",
		Run: func(s *Scene) {
			found := false
			for _, p := range s.shownPatterns() {
				var started *Answer
				s.prepare(func() { started = s.put(s.variant(p), s.body(s.Type), s.long(p)).done() })
				s.beginsShown(&p, started)
				found = found || started.Header.Get("Azure-AsyncOperation") != ""
				started.public("Azure-AsyncOperation")
			}
			if !found {
				s.leaveOut("the provider sends no Azure-AsyncOperation, which is optional")
			}
		},
	}, Case{
		ID: "202/says-where-it-ends", Profile: Core, Section: accepted, On: writable,
		Rule: "a write that is answered with 202 has a Location that shows its end",
		Run: func(s *Scene) {
			tried := false
			for _, write := range []struct {
				method string
				body   any
			}{{http.MethodPut, s.body(s.Type)}, {http.MethodPatch, s.patchBody()}, {http.MethodDelete, nil}} {
				a := s.call(write.method, s.id, write.body, s.slowly(write.method))
				if a.Status == http.StatusMethodNotAllowed {
					continue
				}
				if s.prepare(func() { a.done() }); a.Status == http.StatusAccepted {
					tried = true
					a.check(a.Header.Get("Location") != "", a.call.String()+" with 202 has a Location", "none")
				}
				s.settled(a, s.id)
			}
			if !tried {
				s.leaveOut("no write was answered with 202")
			}
		},
	})
}
