package contract

// patchCases check PATCH.
func patchCases() []Case {
	tagged := Object{"tags": Object{"tag1": "1", "tag2": "2"}}
	return []Case{
		{
			ID: "patch/tags-are-replaced-whole", Profile: Tags, Section: patchResource, On: isTracked,
			Rule: "a resource with tag1 and tag2 that is patched with tag3 has tag3 alone",
			Run: func(s *Scene) {
				body := s.body(s.Type, tagged)
				s.made(tagged)
				a := s.patch(s.id, Object{"tags": Object{"tag3": "3"}}).status(200).lacks("tags.tag1").lacks("tags.tag2")
				delete(body, "tags")
				a.shows(overlay(body, Object{"tags": Object{"tag3": "3"}}))
				s.get(s.id).status(200).lacks("tags.tag1").lacks("tags.tag2").shows(overlay(body, Object{"tags": Object{"tag3": "3"}}))
				s.patch(s.id, Object{"tags": Object{}}).status(200)
				s.get(s.id).status(200).lacks("tags.tag3").shows(body)
			},
		},
		{
			ID: "patch/properties-follow-merge-patch", Profile: Core, Section: patchResource, On: hasChange,
			Rule: "the fields inside the properties envelope are patched as RFC 7396 says; everything else stays",
			Run: func(s *Scene) {
				further := Object{}
				if isTracked(s.Type) {
					further = tagged
				}
				body := s.body(s.Type, further)
				s.made(further)
				before, _ := lookup(body, "properties")
				after := mergePatch(before, s.Type.Contract.Change)
				want := overlay(body, Object{"properties": after})
				a := s.patch(s.id, Object{"properties": s.Type.Contract.Change}).status(200).shows(want)
				read := s.get(s.id).status(200).shows(want)
				for _, path := range removed("properties", s.Type.Contract.Change) {
					a.lacks(path)
					read.lacks(path)
				}
			},
		},
		{
			ID: "patch/answers-with-the-updated-resource", Profile: Core, Section: patchResource, On: hasChange,
			Rule: "the response body contains the updated resource",
			Run: func(s *Scene) {
				s.made()
				a := s.patch(s.id, Object{"properties": s.Type.Contract.Change}).status(200).named(s.id)
				lack := missing(a.doc, s.get(s.id).status(200).doc, "")
				s.check(lack == "", "the answer of PATCH has what a GET returns", "%s", lack)
			},
		},
		{
			ID: "patch/sku-alone", Profile: Core, Section: patchResource, On: hasSKU,
			Rule: "a PATCH of sku updates the sku and does not affect any of the other properties",
			Run: func(s *Scene) {
				with := overlay(tagged, s.Type.Contract.Kept, Object{"sku": s.Type.Contract.SKU})
				body := s.body(s.Type, with)
				s.made(with)
				want := overlay(body, Object{"sku": s.Type.Contract.OtherSKU})
				s.patch(s.id, Object{"sku": s.Type.Contract.OtherSKU}).status(200).shows(want)
				s.get(s.id).status(200).shows(want)
			},
		},
		{
			ID: "patch/location-type-and-name-stay", Profile: Core, Section: patchResource, On: isTop,
			Rule: "a user cannot change the location, type or name of a resource with a PATCH",
			Run: func(s *Scene) {
				s.made()
				for _, change := range []Object{
					{"location": s.Adapter.elsewhere(s.place(s.Type))}, {"name": "another"}, {"type": "Else.Where/things"},
				} {
					s.patch(s.id, change).refused(400)
				}
				s.get(s.id).status(200).named(s.id).shows(Object{"location": s.place(s.Type)})
			},
		},
		{
			ID: "patch/of-what-is-not-there", Profile: Core, Section: patchResource, On: writable,
			Rule: "if the resource does not exist, 404 is returned",
			Run: func(s *Scene) {
				s.patch(s.id, Object{"properties": Object{}}).refused(404)
				s.get(s.id).status(404)
			},
		},
	}
}

// removed lists the paths that a merge-patch removes.
func removed(at string, patch Object) []string {
	var paths []string
	for name, value := range patch {
		switch v := value.(type) {
		case nil:
			paths = append(paths, at+"."+name)
		case Object:
			paths = append(paths, removed(at+"."+name, v)...)
		}
	}
	return paths
}

// deleteCases check DELETE.
func deleteCases() []Case {
	return []Case{
		{
			ID: "delete/200-then-204", Profile: Core, Section: deleteResource, On: writable,
			Rule: "200 if the object exists and was deleted, 204 if it does not exist; no body; it is then gone",
			Run: func(s *Scene) {
				s.made()
				s.remove(s.id).status(200).empty()
				s.get(s.id).refused(404)
				s.check(len(s.walk(collection(s.id)).like(s.id)) == 0, "the collection has the resource no more", "it has")
				s.remove(s.id).status(204).empty()
			},
		},
		{
			ID: "delete/of-what-never-was", Profile: Core, Section: deleteResource, On: writable,
			Rule:    "204 is used if the resource does not exist and the request is well formed",
			Through: "of a tracked resource that the gateway does not know: 204, by the gateway",
			Run:     func(s *Scene) { s.remove(beside(s.id, "never")).status(204).empty() },
		},
		{
			ID: "delete/and-made-anew", Profile: Core, Section: deleteResource, On: writable,
			Rule: "a resource that was deleted can be created again, from its new body alone",
			Run: func(s *Scene) {
				s.made()
				s.remove(s.id).status(200)
				s.put(s.id, s.other(s.Type)).status(201).shows(s.other(s.Type))
			},
		},
	}
}
