package contract

import (
	"net/http"
	"reflect"
	"strings"
)

// putCases check PUT.
func putCases() []Case {
	return []Case{
		{
			ID: "put/creates-with-201", Profile: Core, Section: putResource, On: writable, First: true,
			Rule: "a PUT that creates a resource answers 201, or starts an operation",
			Run:  func(s *Scene) { s.put(s.id, s.body(s.Type)).succeeds(201) },
		},
		{
			ID: "put/answers-with-what-was-put", Profile: Core, Section: putResource, On: writable,
			Rule: "the response body has at least the members that were sent, with name, id and type, and any other properties that a GET returns",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				var created *Answer
				s.prepare(func() { created = s.put(s.id, body).done() })
				if created.Status == http.StatusAccepted {
					s.leaveOut("the provider answered 202, which has no body")
				}
				created.showsID(s.id).hasText("type").shows(body)
				if created.asynchronous() {
					return
				}
				lack := absent(created.doc, s.read(s.id).doc, "")
				created.check(lack == "" || lack == "etag", "the answer of PUT has what a GET returns", "%s is absent in %s", lack, created)
			},
		},
		{
			ID: "put/what-was-put-is-read", Profile: Core, Section: putResource, On: writable, First: true,
			Rule: "a GET shows the body that was PUT, with name, id and type",
			Run: func(s *Scene) {
				s.created()
				s.get(s.id).status(200).showsID(s.id).hasText("type").shows(s.body(s.Type))
			},
		},
		{
			ID: "put/overwrites-with-200", Profile: Core, Section: putResource, On: hasOther,
			Rule: "a PUT may always overwrite an existing resource; it then answers 200 or starts an operation",
			Run: func(s *Scene) {
				s.created()
				s.put(s.id, s.other(s.Type)).succeeds(200)
			},
		},
		{
			ID: "put/replaces-what-was-there", Profile: Core, Section: putResource, On: hasOther,
			Rule: "after a PUT the resource is as if that PUT had created it",
			Run: func(s *Scene) {
				s.created()
				s.create(s.id, s.other(s.Type))
				s.asNew()
			},
		},
		{
			ID: "put/name-type-and-id-come-from-the-url", Profile: Core, Section: putResource, On: writable,
			Rule: "the group name and the resource name come from the URL and not from the body",
			Run: func(s *Scene) {
				other := sibling(s.id, "elsewhere")
				strange := Object{"name": nameOf(other), "id": other}
				a := s.put(s.id, s.body(s.Type, strange))
				if a.Status >= 400 && a.Status < 500 {
					s.leaveOut("the provider refuses a body with another name and id than the URL")
				}
				if s.prepare(func() { a.done() }); a.asynchronous() {
					s.settled(a, s.id)
				}
				s.get(s.id).status(200).showsID(s.id)
				s.get(other).gone()
			},
		},
		{
			ID: "put/what-was-read-can-be-put", Profile: Core, Section: putResource, On: writable,
			Rule: "the body of a GET, PUT back unchanged, is accepted and changes nothing",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				s.created()
				s.overwritable(s.id)
				read, _ := s.read(s.id).doc.(Object)
				again, _ := mergePatch(read, s.Type.hidden(body)).(Object)
				s.settled(s.put(s.id, again).done(), s.id)
				after := s.read(s.id)
				lack := missing(after.doc, after.visible(shownMembers(read, body)), "")
				after.check(lack == "", "the resource is as it was", "%s", lack)
			},
		},
		{
			ID: "put/no-such-group", Profile: Core, Section: putResource, On: isFirst, Side: ThroughOnly,
			Rule:    "if the subscription or the resource group does not exist, 404 is returned",
			Through: "the gateway answers, with ResourceGroupNotFound and SubscriptionNotFound; providers are not called",
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

// shownMembers returns those members of a body that a resource shows, with the
// resource's values.
func shownMembers(read, body Object) Object {
	shown := Object{}
	for name, value := range body {
		got, there := read[name]
		if !there {
			continue
		}
		inner, isObject := value.(Object)
		if was, ok := got.(Object); ok && isObject {
			got = shownMembers(was, inner)
		}
		shown[name] = got
	}
	return shown
}

// sampleLacks begins the reason why a case could not be tried with the sample's bodies.
const sampleLacks = "the sample cannot show it: it lacks "

// asNew expects the scene's resource, after its body was replaced, to look as
// if it never had the earlier body: members that only the earlier body names
// are absent or have the provider's default.
func (s *Scene) asNew() {
	fresh := sibling(s.id, "fresh")
	s.create(fresh, s.other(s.Type))
	never, read := s.read(fresh), s.read(s.id)
	read.shows(never.shownOf(s.other(s.Type)))
	was, _ := s.Type.Contract.Body["properties"].(Object)
	is, _ := s.Type.Contract.Other["properties"].(Object)
	gone := lost(was, is)
	if len(gone) == 0 {
		s.leaveOut(sampleLacks + "a member of properties that the changed body does not have; the update can set one to null")
	}
	for _, name := range gone {
		got, _ := lookup(read.doc, "properties."+name)
		usual, _ := lookup(never.doc, "properties."+name)
		if !reflect.DeepEqual(got, usual) {
			read.check(!reflect.DeepEqual(got, was[name]), "properties."+name+", which the later body does not have, is gone", "%s in %s", show(got), read)
		}
	}
}

// locationCases check the location of tracked resources.
func locationCases() []Case {
	return []Case{
		{
			ID: "put/location-ignores-case-and-spaces", Profile: TrackedResources, Section: putResource, On: isTracked,
			Rule: `"West US", "westus" and "West us" are the same location`,
			Run: func(s *Scene) {
				where := s.locationFor(s.Type)
				spaced := where
				if len(where) > 4 {
					spaced = strings.ToUpper(where[:1]) + where[1:len(where)-2] + " " + strings.ToUpper(where[len(where)-2:])
				}
				for i, spelled := range []string{strings.ToUpper(where), spaced} {
					id := sibling(s.id, string(rune('a'+i)))
					s.settled(s.put(id, s.body(s.Type, Object{"location": spelled})).done(), id)
					read := s.read(id)
					got, _ := lookup(read.doc, "location")
					read.check(samePlace(got, where), "the location is "+where, "%s", show(got))
				}
			},
		},
		{
			ID: "put/location-never-changes", Profile: TrackedResources, Section: putResource, On: isTop,
			Rule:    "the region of a resource never changes after it is created",
			Through: "the gateway answers 409 InvalidResourceLocation if the type is served in the other region",
			Run: func(s *Scene) {
				s.created()
				elsewhere := s.Adapter.elsewhere(s.locationFor(s.Type))
				a := s.put(s.id, s.body(s.Type, Object{"location": elsewhere}))
				if s.Adapter.Through {
					a.refused()
				} else if a.Status < 300 { // only the location counts, not the status
					s.settled(a, s.id)
				}
				s.unmoved()
			},
		},
		{
			ID: "put/location-is-required", Profile: TrackedResources, Section: putResource, On: isTop,
			Rule: "location is required",
			Run: func(s *Scene) {
				s.put(s.id, overlay(s.Type.Contract.Body)).refused()
				s.get(s.id).gone()
			},
		},
		{
			ID: "put/location-is-one-that-is-served", Profile: TrackedResources, Section: putResource, On: isTop, Side: ThroughOnly,
			Rule:    "the location is one of the provider's registered locations",
			Through: "the gateway refuses other locations",
			Run: func(s *Scene) {
				s.put(s.id, s.body(s.Type, Object{"location": "nowhere at all"})).refused()
				s.get(s.id).gone()
			},
		},
	}
}

// unmoved expects the scene's resource to be still in its first location.
func (s *Scene) unmoved() {
	read := s.read(s.id)
	got, _ := lookup(read.doc, "location")
	read.check(samePlace(got, s.locationFor(s.Type)), "the location is still "+s.locationFor(s.Type), "%s", show(got))
}
