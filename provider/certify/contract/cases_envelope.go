package contract

import (
	"reflect"
	"slices"
	"strings"
)

// envelopeMembers may stand next to properties, in any casing: the contract's
// members and members of today's ARM resources.
var envelopeMembers = []string{
	"id", "name", "type", "location", "tags", "properties", "kind", "sku", "plan", "managedby", "managedbyextended",
	"identity", "zones", "etag", "systemdata", "extendedlocation", "scale", "placement",
}

// envelopeCases check which members stand inside properties and which next to it.
func envelopeCases() []Case {
	return []Case{
		{
			ID: "envelope/is-not-repeated-in-properties", Profile: Core, Section: putResource, On: writable,
			Rule: "members defined outside of properties, such as name, tags and location, are not repeated inside",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				if isTracked(s.Type) {
					body["tags"] = Object{"certify": "repeated"}
				}
				read, _ := s.create(s.id, body).doc.(Object)
				inside, _ := read["properties"].(Object)
				for name, value := range inside {
					s.check(!repeats(read, name, value), "properties do not repeat the member "+name+" of the envelope", "both are %s", show(value))
				}
			},
		},
		{
			ID: "envelope/everything-else-lies-in-properties", Profile: Core, Section: putResource, On: writable,
			Rule: "all properties that are specific to a resource provider are placed within properties",
			Run: func(s *Scene) {
				read, _ := s.create(s.id, s.body(s.Type)).doc.(Object)
				for name, value := range read {
					s.check(slices.Contains(envelopeMembers, strings.ToLower(name)), "only members of ARM's envelope are next to properties",
						"%s: %s", name, show(value))
				}
			},
		},
		{
			ID: "envelope/a-member-that-nobody-knows", Profile: Core, Section: putResource, On: writable,
			Rule: "an unknown member next to properties is ignored or refused, never a server error",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				body := s.body(s.Type, Object{"certifyUnknown": Object{"a": 1}})
				s.put(s.id, body).notServerError("with a member that it does not know")
			},
		},
		{
			ID: "envelope/properties-null-in-a-patch", Profile: Core, Section: patchResource, On: writable,
			Rule: "a PATCH with null for properties succeeds or is refused, never a server error, and the resource stays",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				s.concluded(s.patch(s.id, Object{"properties": nil}).notServerError("with properties that are null"))
				s.awaitEnd(s.id).status(200)
			},
		},
	}
}

// repeats reports whether the envelope has a member of this name with the
// same value. With another value, a property may have the name for itself.
func repeats(envelope Object, name string, value any) bool {
	for outer, same := range envelope {
		if outer == "properties" || !strings.EqualFold(outer, name) || same == nil || same == "" {
			continue
		}
		if reflect.DeepEqual(same, value) || samePlace(same, value) {
			return true
		}
	}
	return false
}
