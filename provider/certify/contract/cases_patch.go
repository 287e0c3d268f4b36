package contract

import (
	"net/http"
	"reflect"
	"strings"
)

// patchCases check PATCH.
func patchCases() []Case {
	return []Case{
		{
			ID: "put/replaces-tags", Profile: Tags, Section: putResource, On: writableTracked,
			Rule: "a PUT replaces the resource: tags that are not in its body are gone, also if it has no tags",
			Run: func(s *Scene) {
				s.created(tagged)
				s.create(s.id, s.body(s.Type, Object{"tags": Object{"tag2": "2"}}))
				s.read(s.id).shows(Object{"tags": Object{"tag2": "2"}}).lacks("tags.tag1")
				s.create(s.id, s.body(s.Type))
				s.read(s.id).lacks("tags.tag1").lacks("tags.tag2")
			},
		},
		{
			ID: "put/tags-are-kept", Profile: Tags, Section: putResource, On: writableTracked,
			Rule: "the resource provider stores the tags with the resource",
			Run: func(s *Scene) {
				s.created(tagged)
				s.read(s.id).shows(tagged)
			},
		},
		{
			ID: "patch/tags-are-replaced-whole", Profile: Tags, Section: patchResource, On: writableTracked,
			Rule: "a resource with tag1 and tag2 that is patched with tag3 has only tag3",
			Run: func(s *Scene) {
				s.created(tagged)
				s.settled(s.patch(s.id, Object{"tags": Object{"tag3": "3"}}).succeeds(200), s.id)
				s.read(s.id).lacks("tags.tag1").lacks("tags.tag2").shows(Object{"tags": Object{"tag3": "3"}})
			},
		},
		{
			ID: "patch/tags-alone", Profile: Tags, Section: patchResource, On: writableTracked,
			Rule: "a PATCH of tags does not affect any of the other properties",
			Run: func(s *Scene) {
				s.created(tagged)
				s.changed(s.id, Object{"tags": Object{"tag3": "3"}})
				s.read(s.id).shows(s.body(s.Type))
			},
		},
		{
			ID: "patch/properties-follow-merge-patch", Profile: Core, Section: patchResource, On: hasChange,
			Rule: "the fields inside the properties envelope are patched according to RFC 7396",
			Run: func(s *Scene) {
				s.created()
				sent, _ := s.body(s.Type)["properties"].(Object)
				before, _ := s.read(s.id).shownOf(Object{"properties": sent})["properties"].(Object)
				change := s.Type.Contract.Change
				s.settled(s.patch(s.id, Object{"properties": change}).succeeds(200), s.id)
				want, _ := mergePatch(before, change).(Object)
				for name := range sent {
					if _, shown := before[name]; !shown { // an unshown member breaks another rule
						delete(want, name)
					}
				}
				read := s.read(s.id).shows(Object{"properties": want})
				for _, path := range removed("", change) {
					was, _ := lookup(before, path)
					got, there := lookup(read.doc, "properties."+path)
					read.check(!there || got == nil || !reflect.DeepEqual(got, was), "the PATCH has removed properties."+path, "%s", show(got))
				}
				if merged, _ := mergePatch(sent, change).(Object); reflect.DeepEqual(merged, change) {
					s.leaveOut(sampleLacks + "a member of properties that the update does not name")
				}
			},
		},
		{
			ID: "patch/properties-alone", Profile: Core, Section: patchResource, On: hasChange,
			Rule: "a PATCH of properties changes nothing outside of properties",
			Run: func(s *Scene) {
				further := overlay(s.Type.Contract.Kept)
				if isTracked(s.Type) {
					further = overlay(further, tagged)
				}
				s.created(further)
				before := s.read(s.id)
				s.changed(s.id, Object{"properties": s.Type.Contract.Change})
				s.read(s.id).shows(before.shownOf(further))
			},
		},
		{
			ID: "patch/answers-with-the-updated-resource", Profile: Core, Section: patchResource, On: hasChange,
			Rule: "the response body contains the updated resource",
			Run: func(s *Scene) {
				s.created()
				before, _ := s.body(s.Type)["properties"].(Object)
				var a *Answer
				s.prepare(func() { a = s.patch(s.id, Object{"properties": s.Type.Contract.Change}).done() })
				if a.Status == http.StatusAccepted {
					s.leaveOut("the provider answered 202, which has no body")
				}
				a.showsID(s.id)
				properties, _ := mergePatch(before, s.Type.Contract.Change).(Object)
				read := s.read(s.id)
				lack := missing(a.doc, read.shownOf(Object{"properties": properties}), "")
				a.check(lack == "", "the answer of PATCH has what a GET returns", "%s", lack)
			},
		},
		{
			ID: "patch/sku-alone", Profile: SKUs, Section: patchResource, On: hasSKU,
			Rule: "a PATCH of sku updates the sku and does not affect any of the other properties",
			Run: func(s *Scene) {
				with := overlay(s.Type.Contract.Kept, Object{"sku": s.Type.Contract.SKU})
				if isTracked(s.Type) {
					with = overlay(with, tagged)
				}
				body := s.body(s.Type, with)
				s.created(with)
				before := s.read(s.id)
				s.settled(s.patch(s.id, Object{"sku": s.Type.Contract.OtherSKU}).succeeds(200), s.id)
				s.read(s.id).shows(overlay(before.shownOf(body), Object{"sku": s.Type.Contract.OtherSKU}))
			},
		},
		{
			ID: "patch/location-type-and-name-stay", Profile: Core, Section: patchResource, On: isFirst,
			Rule: "a user cannot change the location, type or name of a resource with a PATCH",
			Run: func(s *Scene) {
				s.created()
				changes := []Object{{"name": "another"}, {"type": "Else.Where/things"}}
				if isTracked(s.Type) {
					changes = append(changes, Object{"location": s.Adapter.elsewhere(s.locationFor(s.Type))})
				}
				before := s.read(s.id)
				for _, change := range changes {
					if a := s.patch(s.id, change); a.Status < 300 { // the provider may refuse or ignore it
						s.settled(a, s.id)
					}
				}
				after := s.read(s.id).showsID(bare(text(before.doc, "id")))
				after.check(strings.EqualFold(text(after.doc, "type"), text(before.doc, "type")), "the type is still "+text(before.doc, "type"), "%s",
					text(after.doc, "type"))
				if isTracked(s.Type) {
					s.unmoved()
				}
			},
		},
		{
			ID: "patch/of-what-is-not-there", Profile: Core, Section: patchResource, On: writable,
			Rule: "if the resource does not exist, 404 is returned",
			Run: func(s *Scene) {
				a := s.patch(s.id, s.patchBody())
				if a.Status == http.StatusMethodNotAllowed {
					s.leaveOut("the provider does not support PATCH, which another case reports")
				}
				a.refused(404)
				s.get(s.id).gone()
			},
		},
	}
}

// tagged is a patch with two tags.
var tagged = Object{"tags": Object{"tag1": "1", "tag2": "2"}}

func writableTracked(t *Type) bool { return isTracked(t) && writable(t) }

// patchBody returns the smallest PATCH that the scene's type supports.
func (s *Scene) patchBody() Object {
	switch {
	case isTracked(s.Type):
		return Object{"tags": Object{"a": "b"}}
	case hasChange(s.Type):
		return Object{"properties": s.Type.Contract.Change}
	}
	return Object{"properties": Object{}}
}

// shownOf returns the members of an object that the answer shows: a later answer must
// show them too. A member that was never shown breaks another rule.
func (a *Answer) shownOf(members Object) Object {
	o, _ := a.doc.(Object)
	return shownMembers(o, members)
}

// removed lists the paths that a merge-patch removes.
func removed(at string, patch Object) []string {
	var paths []string
	for name, value := range patch {
		path := strings.TrimPrefix(at+"."+name, ".")
		switch v := value.(type) {
		case nil:
			paths = append(paths, path)
		case Object:
			paths = append(paths, removed(path, v)...)
		}
	}
	return paths
}
