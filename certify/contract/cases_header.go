package contract

import (
	"strings"
)

// headerCases check the ids of requests, the identities of writers, and errors.
func headerCases() []Case {
	return []Case{
		{
			ID: "header/request-id", Profile: Core, Section: tracing, On: isTop,
			Rule: "every answer has an x-ms-request-id of its own, which is not the routing id",
			Run: func(s *Scene) {
				seen := map[string]bool{}
				for _, a := range []*Answer{s.made(), s.get(s.id), s.get(collection(s.id)), s.patch(s.id, Object{"tags": Object{}}), s.get(beside(s.id, "absent")), s.remove(s.id)} {
					id := a.Header.Get("x-ms-request-id")
					s.check(id != "", a.call.String()+" has an x-ms-request-id", "none")
					s.check(!seen[id], a.call.String()+" has an x-ms-request-id of its own", "%s again", id)
					seen[id] = true
					s.check(!strings.Contains(id, a.ids.routing), "the x-ms-request-id is not the routing id", "%s", id)
				}
			},
		},
		{
			ID: "header/systemdata", Profile: TrackedResources, Section: systemData, On: isTracked,
			Rule:    "a provider keeps the systemData that it is sent: the creation's with the first write, the modification's with each",
			Through: "the gateway makes it, from who calls",
			Run: func(s *Scene) {
				owner, colleague := s.named(Owner), s.named(Colleague)
				s.made().says("systemData.createdAt").says("systemData.lastModifiedAt")
				read := s.get(s.id).status(200).shows(Object{"systemData": Object{"createdBy": owner, "lastModifiedBy": owner}})
				created := text(read.doc, "systemData.createdAt")
				s.patch(s.id, Object{"tags": Object{"a": "b"}}, as(Colleague)).status(200)
				s.get(s.id).status(200).shows(Object{"systemData": Object{"createdBy": owner, "createdAt": created, "lastModifiedBy": colleague}})
			},
		},
		{
			ID: "header/errors-have-the-envelope", Profile: Core, Section: operationFormat, On: isTop, Once: true,
			Rule: "every error has error.code and error.message, as JSON",
			Run: func(s *Scene) {
				for _, a := range []*Answer{
					s.get(s.id), s.get(s.id, at("1999-01-01")), s.put(s.id, "{"), s.patch(s.id, Object{}),
					s.post(s.id+"/start", nil), s.get(s.group+"/providers/"+s.Type.provider.Namespace+"/noSuchThings/a", at(s.Type.version())),
				} {
					s.check(a.Status >= 400 && a.Status < 500, a.call.String()+" is refused", "%s", a)
					a.envelope()
					kind := a.Header.Get("Content-Type")
					s.check(strings.HasPrefix(kind, "application/json"), "an error is application/json", "%q", kind)
				}
			},
		},
	}
}
