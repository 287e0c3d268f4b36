package contract

import "strings"

// CreatedFor locates the resources that a provider creates in its own
// subscription for a resource of the type.
type CreatedFor struct {
	// IDs is the path of the resource's member that names these resources, by
	// id or as a list of ids: "properties.machines".
	IDs string `yaml:"ids"`
	// More is a merge-patch of properties that makes the provider create more.
	More Object `yaml:"more"`
}

// createdForTag is the tag on such a resource with the id of the resource
// that it was created for.
const createdForTag = "resourceCreatedFor"

// createdForCases check the tag of resources that a provider creates for its users'
// resources. They can run only if the provider's own subscription is readable.
func createdForCases() []Case {
	makes := func(t *Type) bool { return writable(t) && t.Contract.CreatedFor.IDs != "" }
	return []Case{
		{
			ID: "created-for/upon-put", Profile: ResourceCreatedFor, Section: createdFor, On: makes,
			Rule: "resources that a provider creates in its own subscription for a PUT have the tag resourceCreatedFor, with the id of the resource that was PUT",
			Run: func(s *Scene) {
				read := s.create(s.id, s.body(s.Type))
				defer s.discard(s.id)
				for _, id := range s.createdFor(read) {
					s.tagged(id)
				}
			},
		},
		{
			ID: "created-for/upon-patch", Profile: ResourceCreatedFor, Section: createdFor,
			On:   func(t *Type) bool { return makes(t) && len(t.Contract.CreatedFor.More) > 0 },
			Rule: "resources that a provider creates in its own subscription for a PATCH have the tag resourceCreatedFor, with the id of the resource that was patched",
			Run: func(s *Scene) {
				before := s.createdFor(s.create(s.id, s.body(s.Type)))
				defer s.discard(s.id)
				var after []string
				s.prepare(func() {
					end := s.concluded(s.patch(s.id, Object{"properties": s.Type.Contract.CreatedFor.More}))
					s.check(end.done, "the PATCH succeeds", "%s", end)
					after = s.createdFor(s.awaitEnd(s.id).status(200))
					s.check(len(after) > len(before), "the provider creates more resources", "%d before, %d after", len(before), len(after))
				})
				for _, id := range after {
					if !containsFold(before, id) {
						s.tagged(id)
					}
				}
			},
		},
		{
			ID: "created-for/not-at-the-customers", Profile: ResourceCreatedFor, Section: createdFor, On: makes,
			Rule: "the tag is not visible to the customer: the resource that was PUT does not have it",
			Run: func(s *Scene) {
				read := s.create(s.id, s.body(s.Type))
				defer s.discard(s.id)
				read.lacks("tags." + createdForTag)
			},
		},
	}
}

// createdFor returns the ids, named by a resource, of resources that the
// provider created for it. Resources in the customer's own subscription need
// no tag and are left out.
func (s *Scene) createdFor(read *Answer) []string {
	var ids []string
	s.prepare(func() {
		named, _ := lookup(read.doc, s.Type.Contract.CreatedFor.IDs)
		list, isList := named.([]any)
		if !isList {
			list = []any{named}
		}
		for _, v := range list {
			id, isText := v.(string)
			s.check(isText && strings.HasPrefix(id, "/"), s.Type.Contract.CreatedFor.IDs+" names resources by their ids", "%s", show(named))
			if !strings.HasPrefix(strings.ToLower(id), "/subscriptions/"+strings.ToLower(s.Adapter.Subscription)+"/") {
				ids = append(ids, id)
			}
		}
		s.check(len(ids) > 0, "the provider creates resources in another subscription than the customer's", "%s", show(named))
	})
	return ids
}

// tagged expects the tag on a resource that was created for the scene's resource.
func (s *Scene) tagged(id string) {
	var read *Answer
	s.prepare(func() { read = s.get(id).status(200) })
	got := text(read.doc, "tags."+createdForTag)
	s.check(strings.EqualFold(got, s.id), id+" has the tag "+createdForTag+" with the value "+s.id, "%q in %s", got, read)
}

func containsFold(all []string, one string) bool {
	for _, s := range all {
		if strings.EqualFold(s, one) {
			return true
		}
	}
	return false
}
