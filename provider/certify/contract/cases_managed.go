package contract

// managedCases check managedBy of types that are described to keep it. That a complete
// deployment spares such resources is for the template engine.
func managedCases() []Case {
	kept := func(t *Type) bool { return writable(t) && manager(t) != "" }
	return []Case{
		{
			ID: "managed-by/is-replaced", Profile: Core, Section: putResource, On: kept,
			Rule: "a PUT with another managedBy replaces it",
			Run: func(s *Scene) {
				other := manager(s.Type) + "-2"
				s.create(s.id, s.body(s.Type, s.Type.Contract.Kept))
				end := s.concluded(s.put(s.id, s.body(s.Type, s.Type.Contract.Kept, Object{"managedBy": other})))
				if end.Status == 400 { // it knows that there is no such manager
					s.leave("the provider knows that there is no other manager")
				}
				s.prepare(func() { s.check(end.done, "the PUT succeeds", "%s", end) })
				s.over(s.id).status(200).shows(Object{"managedBy": other})
			},
		},
		{
			ID: "managed-by/goes-with-a-put-without-it", Profile: Core, Section: putResource, On: kept,
			Rule: "a PUT replaces the resource: a managedBy that it does not carry is gone",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type, s.Type.Contract.Kept))
				without := s.body(s.Type, s.Type.Contract.Kept)
				delete(without, "managedBy")
				s.prepare(func() {
					end := s.concluded(s.put(s.id, without))
					s.check(end.done, "the PUT succeeds", "%s", end)
				})
				read := s.over(s.id).status(200)
				got := text(read.doc, "managedBy")
				s.check(got == "", "the resource has no managedBy", "%q", got)
			},
		},
	}
}

// manager is the managedBy that resources of the type keep, "" if they keep none.
func manager(t *Type) string { return text(t.Contract.Kept, "managedBy") }
