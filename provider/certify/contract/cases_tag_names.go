package contract

import "fmt"

// tagNameCases check the list that a front door makes of the tags of
// providers' resources.
func tagNameCases() []Case {
	return []Case{{
		ID: "tags/names-in-use-are-listed", Profile: Tags, Section: putResource, On: isTop, Once: true, Side: ThroughOnly,
		Rule:    "the subscription's tag names include every tag of its resources, with its values",
		Through: "the gateway answers; providers are not called",
		Run: func(s *Scene) {
			name := fmt.Sprintf("certify-%d", s.number)
			s.create(s.id, s.body(s.Type, Object{"tags": Object{name: "one"}}))
			s.await("the tag names of the subscription have "+name, func() (*Answer, bool) {
				names := s.walk("/subscriptions/"+s.Adapter.Subscription+"/tagNames", withVersion(resourcesVersion))
				for _, item := range names.items {
					values, _ := lookup(item, "values")
					if text(item, "tagName") == name && missing(valueOf(values), Object{"tagValue": "one"}, "") == "" {
						return s.last, true
					}
				}
				return s.last, false
			})
		},
	}}
}

// valueOf returns the only element of a list, nil if it has none or several.
func valueOf(list any) any {
	if all, _ := list.([]any); len(all) == 1 {
		return all[0]
	}
	return nil
}
