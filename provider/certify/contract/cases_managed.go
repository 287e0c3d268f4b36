package contract

// managedCases check managedBy on types that are described to keep it. Whether a
// complete deployment spares such resources is up to the template engine.
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
				if end.Status == 400 { // the provider checks that the manager exists
					s.leaveOut("the provider refuses a manager that does not exist")
				}
				s.prepare(func() { s.check(end.done, "the PUT succeeds", "%s", end) })
				s.awaitEnd(s.id).status(200).shows(Object{"managedBy": other})
			},
		},
		{
			ID: "managed-by/goes-with-a-put-without-it", Profile: Core, Section: putResource, On: kept,
			Rule: "a PUT replaces the resource: a managedBy that is not in its body is gone",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type, s.Type.Contract.Kept))
				without := s.body(s.Type, s.Type.Contract.Kept)
				delete(without, "managedBy")
				s.prepare(func() {
					end := s.concluded(s.put(s.id, without))
					s.check(end.done, "the PUT succeeds", "%s", end)
				})
				read := s.awaitEnd(s.id).status(200)
				got := text(read.doc, "managedBy")
				s.check(got == "", "the resource has no managedBy", "%q", got)
			},
		},
	}
}

// manager returns the managedBy that resources of the type keep, "" if they keep none.
func manager(t *Type) string { return text(t.Contract.Kept, "managedBy") }
