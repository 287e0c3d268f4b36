package contract

import (
	"strings"
)

// putCases check PUT.
func putCases() []Case {
	return []Case{
		{
			ID: "put/creates-with-201", Profile: Core, Section: putResource, On: writable,
			Rule: "a PUT of what is not there answers 201 with at least what was sent, and with what a GET would show",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				made := s.put(s.id, body).status(201).named(s.id).shows(body).inState("Succeeded")
				read := s.get(s.id).status(200).shows(body)
				lack := missing(made.doc, read.doc, "")
				s.check(lack == "", "the answer of PUT has what a GET returns", "%s", lack)
			},
		},
		{
			ID: "put/overwrites-with-200", Profile: Core, Section: putResource, On: hasOther,
			Rule: "a PUT is always allowed to overwrite an existing resource; what it does not name is gone",
			Run: func(s *Scene) {
				s.made()
				other := s.other(s.Type)
				s.put(s.id, other).status(200).shows(other)
				read := s.get(s.id).status(200).shows(other)
				before, _ := lookup(s.Type.Contract.Body, "properties")
				after, _ := lookup(s.Type.Contract.Other, "properties")
				was, _ := before.(Object)
				is, _ := after.(Object)
				for _, name := range lost(was, is) {
					read.lacks("properties." + name)
				}
			},
		},
		{
			ID: "put/replaces-tags", Profile: Tags, Section: putResource, On: isTracked,
			Rule: "a PUT replaces the resource: tags that it does not carry are gone",
			Run: func(s *Scene) {
				s.made(Object{"tags": Object{"one": "1", "two": "2"}}).shows(Object{"tags": Object{"one": "1", "two": "2"}})
				s.put(s.id, s.body(s.Type, Object{"tags": Object{"two": "2"}})).status(200)
				s.get(s.id).status(200).shows(Object{"tags": Object{"two": "2"}}).lacks("tags.one")
				s.put(s.id, s.body(s.Type)).status(200)
				s.get(s.id).status(200).lacks("tags.two")
			},
		},
		{
			ID: "put/name-type-and-id-come-from-the-url", Profile: Core, Section: putResource, On: writable,
			Rule: "the group name and the resource name come from the URL and not from the body",
			Run: func(s *Scene) {
				strange := Object{"name": "somebody-else", "id": beside(s.id, "somebody-else"), "type": "Else.Where/things"}
				a := s.put(s.id, s.body(s.Type, strange)).status(201).named(s.id)
				s.check(strings.EqualFold(text(a.doc, "type"), s.Type.FullName()), "type is "+s.Type.FullName(), "%s", text(a.doc, "type"))
				s.get(s.id).status(200).named(s.id)
				s.get(beside(s.id, "somebody-else")).status(404)
			},
		},
		{
			ID: "put/what-was-read-can-be-put", Profile: Core, Section: putResource, On: writable,
			Rule: "the body of a GET, put back as it is, is accepted and changes nothing",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				s.made()
				read := s.get(s.id).status(200)
				s.put(s.id, read.doc).status(200).named(s.id).shows(body)
				s.get(s.id).status(200).shows(body)
			},
		},
		{
			ID: "put/location-ignores-case-and-spaces", Profile: TrackedResources, Section: putResource, On: isTracked,
			Rule: `"West US", "westus" and "West us" are the same location`,
			Run: func(s *Scene) {
				where := s.place(s.Type)
				spaced := strings.ToUpper(where[:1]) + where[1:3] + " " + strings.ToUpper(where[3:])
				s.put(s.id, s.body(s.Type, Object{"location": strings.ToUpper(where)})).status(201).shows(Object{"location": where})
				s.put(s.id, s.body(s.Type, Object{"location": spaced})).status(200).shows(Object{"location": where})
			},
		},
		{
			ID: "put/location-never-changes", Profile: TrackedResources, Section: putResource, On: isTop,
			Rule:    "the region of a resource never changes after it is created: another is 400",
			Through: "of a region that the type is served in: 409 InvalidResourceLocation, by the gateway",
			Run: func(s *Scene) {
				s.made()
				elsewhere := s.Adapter.elsewhere(s.place(s.Type))
				conflict := 409
				if s.Type.global() {
					conflict = 400 // the type has no such location
				}
				s.put(s.id, s.body(s.Type, Object{"location": elsewhere})).refused(by(s, 400, conflict))
				s.get(s.id).status(200).shows(Object{"location": s.place(s.Type)})
			},
		},
		{
			ID: "put/location-is-required", Profile: TrackedResources, Section: putResource, On: isTop,
			Rule: "location is required, and one that is not served is refused",
			Run: func(s *Scene) {
				s.put(s.id, overlay(s.Type.Contract.Body)).refused(400)
				s.put(s.id, s.body(s.Type, Object{"location": "nowhere at all"})).refused(400)
				s.get(s.id).status(404)
			},
		},
		{
			ID: "put/no-such-group", Profile: Core, Section: putResource, On: isTop, Side: ThroughOnly,
			Rule:    "if the subscription or the resource group does not exist, 404 is returned",
			Through: "the gateway answers, with ResourceGroupNotFound and SubscriptionNotFound; providers are not asked",
			Run: func(s *Scene) {
				for _, absent := range []string{s.group + "-absent", "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/g"} {
					id := absent + "/providers/" + s.Type.FullName() + "/a"
					s.put(id, s.body(s.Type)).refused(404)
					s.get(id).refused(404)
					s.patch(id, Object{"tags": Object{}}).refused(404)
					s.remove(id).refused(404)
					s.get(collection(id)).refused(404)
				}
			},
		},
	}
}
