package contract

import (
	"mime"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// headerCases check the ids of requests, the identities of writers, and errors.
func headerCases() []Case {
	return []Case{
		{
			ID: "header/request-id", Profile: Core, Section: tracing, On: isFirst,
			Rule: "every answer has its own x-ms-request-id, also among calls with one correlation id, and it is not the routing id",
			Run: func(s *Scene) {
				seen := map[string]bool{}
				// All calls of a long-running client request have one correlation id.
				shared := withAll(Headers{"x-ms-correlation-request-id": uuid.NewString(), "x-ms-client-request-id": uuid.NewString()})
				for _, a := range []*Answer{
					s.get(s.id, shared), s.get(s.id, shared), s.created(), s.get(s.id), s.get(collection(s.id)), s.patch(s.id, s.patchBody()),
					s.get(sibling(s.id, "absent")), s.remove(s.id),
				} {
					id := a.Header.Get("x-ms-request-id")
					a.check(id != "", a.call.String()+" has an x-ms-request-id", "none")
					a.check(!seen[id], a.call.String()+" has an x-ms-request-id of its own", "%s again", id)
					seen[id] = true
					a.check(!strings.Contains(id, a.ids.routing), "the x-ms-request-id is not the routing id", "%s", id)
				}
			},
		},
		{
			ID: "header/systemdata", Profile: TrackedResources, Section: systemData, On: writableTracked,
			Rule:    "a provider that shows systemData stores it from the request: the creation's with the first write, the modification's with each",
			Through: "the gateway makes systemData from the caller",
			Run: func(s *Scene) {
				owner, colleague := s.callerName(Owner), s.callerName(Colleague)
				s.created()
				read := s.read(s.id)
				if _, shown := lookup(read.doc, "systemData"); !shown && !s.Type.Contract.SystemData {
					s.leaveOut("the type shows no systemData")
				}
				read.hasText("systemData.createdAt").hasText("systemData.lastModifiedAt")
				read.shows(Object{"systemData": Object{"createdBy": owner, "lastModifiedBy": owner}})
				created := text(read.doc, "systemData.createdAt")
				s.changed(s.id, Object{"tags": Object{"a": "b"}}, as(Colleague))
				s.read(s.id).shows(Object{"systemData": Object{"createdBy": owner, "createdAt": created, "lastModifiedBy": colleague}})
			},
		},
		{
			ID: "header/errors-have-the-envelope", Profile: Core, Section: operationFormat, On: isFirst, Once: true,
			Rule: "every error has error.code and error.message, as JSON",
			Run: func(s *Scene) {
				answers := []*Answer{s.get(s.id), s.put(s.id, "{"), s.patch(s.id, s.patchBody())}
				s.created()
				if hasETags(s.Type) {
					answers = append(answers, s.put(s.id, s.body(s.Type), with("If-Match", `W/"stale"`)))
				}
				if isTracked(s.Type) {
					answers = append(answers, s.put(sibling(s.id, "nowhere"), overlay(s.Type.Contract.Body)))
				}
				for _, a := range answers {
					if a.Status < 400 || a.Status == http.StatusMethodNotAllowed {
						continue // whether it may succeed is another rule
					}
					a.envelope()
					a.isJSON("an error")
				}
			},
		},
		{
			ID: "header/answers-are-json", Profile: Core, Section: getResource, On: writable,
			Rule: "resources and lists have the Content-Type application/json",
			Run: func(s *Scene) {
				s.created()
				s.read(s.id).isJSON("a resource")
				s.get(collection(s.id)).status(200).isJSON("a list")
			},
		},
		{
			ID: "header/answers-to-writes-are-json", Profile: Core, Section: putResource, On: writable,
			Rule: "answers to PUT, PATCH and actions have the Content-Type application/json",
			Run: func(s *Scene) {
				answers := []*Answer{s.put(s.id, s.body(s.Type))}
				s.prepare(func() { s.settled(answers[0].done(), s.id).inState("Succeeded") })
				for _, action := range s.Type.Contract.Actions {
					if !action.Asynchronous {
						answers = append(answers, s.post(s.id+"/"+action.Name, nil))
					}
				}
				answers = append(answers, s.patch(s.id, s.patchBody()))
				tried := false
				for _, a := range answers {
					tried = a.resultIsJSON("the answer to a "+a.call.method) || tried
				}
				if !tried {
					s.leaveOut("no write was answered with a body")
				}
			},
		},
		{
			ID: "operation/is-json", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "the operation resource has the Content-Type application/json",
			Run: func(s *Scene) {
				started, link := s.statusURL(s.Description.Asynchrony.Long)
				if !s.follow(link, started).resultIsJSON("an operation") {
					s.leaveOut("no operation resource was shown")
				}
			},
		},
		{
			ID: "202/results-are-json", Profile: Asynchronous, Section: accepted, On: asyncTypes,
			Rule: "the answer of a finished Location has the Content-Type application/json",
			Run: func(s *Scene) {
				tried := false
				for started := range s.operations(s.Description.Asynchrony.Short) {
					if started.Header.Get("Location") == "" {
						continue
					}
					var end *Answer
					s.prepare(func() { end = s.result(started) })
					tried = end.resultIsJSON("the result of a "+started.call.method) || tried
				}
				if !tried {
					s.leaveOut("no operation ended with a body at its Location")
				}
			},
		},
	}
}

// isJSON expects the Content-Type of JSON, with any parameters. Clients read
// text/json and types that end in +json like application/json.
func (a *Answer) isJSON(what string) {
	kind := a.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(kind)
	json := media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
	a.check(err == nil && json, what+" is application/json", "%q", kind)
}

// resultIsJSON is like isJSON for a success with a body. It reports whether
// the answer is one.
func (a *Answer) resultIsJSON(what string) bool {
	if a.Status > 299 || len(a.Body) == 0 {
		return false
	}
	a.isJSON(what)
	return true
}
