package contract

import (
	"strings"
)

// argumentCases check the common arguments: names and api-versions. Every 4xx
// counts as a refusal, because the contract names no status.
func argumentCases() []Case {
	cases := []Case{
		{
			ID: "arguments/type-is-the-namespace-and-the-type", Profile: Core, Section: getResource, On: writable,
			Rule: "type includes the namespace and the type of the entity",
			Run: func(s *Scene) {
				s.created()
				a := s.read(s.id)
				a.check(strings.EqualFold(text(a.doc, "type"), s.Type.FullName()), "type is "+s.Type.FullName(), "%s", show(text(a.doc, "type")))
			},
		},
		{
			ID: "arguments/id-is-not-encoded", Profile: Core, Section: getResource, On: writable,
			Rule: "id is the URL of the entity without host and api-version, and is not encoded",
			Run: func(s *Scene) {
				id := s.id + " (of its own) ö"
				if a := s.put(id, s.body(s.Type)); a.Status >= 400 && a.Status < 500 {
					id = s.id // providers may permit only names that need no encoding
					s.created()
				} else {
					s.prepare(func() { s.settled(a.done(), id) })
				}
				read := s.read(id)
				got := text(read.doc, "id")
				read.check(strings.EqualFold(got, id), read.call.String()+" shows the id "+id, "%s", show(got))
			},
		},
		{
			ID: "arguments/api-version-is-required", Profile: Core, Section: arguments, On: isFirst, Once: true,
			Rule: "a request without an api-version, or with one that is not a date, is refused",
			Run: func(s *Scene) {
				s.created()
				path := escape(s.id)
				for _, bare := range []string{path, path + "?api-version=", path + "?api-version=tomorrow"} {
					s.get(s.id, target(bare)).refused()
				}
			},
		},
		{
			ID: "arguments/api-version-is-one-of-the-providers", Profile: Core, Section: arguments, On: isFirst, Once: true,
			Rule: "a request with an api-version that the provider does not support is refused",
			Run: func(s *Scene) {
				s.created()
				s.get(s.id, withVersion("1999-12-31")).refused()
			},
		},
	}
	for _, row := range []struct{ what, name string }{
		{"less-than", "a%3Cb"}, {"greater-than", "a%3Eb"}, {"percent", "a%25b"}, {"ampersand", "a%26b"}, {"colon", "a%3Ab"},
		{"backslash", "a%5Cb"}, {"question-mark", "a%3Fb"}, {"control-character", "a%0Ab"}, {"261-characters", strings.Repeat("n", 261)},
	} {
		cases = append(cases, Case{
			ID: "arguments/name-with-" + row.what, Profile: Core, Section: arguments, On: isFirst, Once: true,
			Rule: "the name cannot include <, >, %, &, :, \\, ?, / or control characters, nor exceed 260 characters",
			Run: func(s *Scene) {
				bad := escape(collection(s.id)) + "/" + row.name + "?api-version=" + s.Type.version()
				s.put(s.id, s.body(s.Type), target(bad)).refused()
			},
		})
	}
	for _, row := range []struct{ what, group string }{
		{"final-dot", "group."}, {"space", "a%20group"}, {"star", "a*"}, {"91-characters", strings.Repeat("g", 91)},
	} {
		cases = append(cases, Case{
			ID: "arguments/group-with-" + row.what, Profile: Core, Section: arguments, On: isFirst, Once: true,
			Rule:    "a group name has at most 90 letters, digits and -_(). and does not end with a dot",
			Through: "the gateway, which owns the groups, refuses it",
			Run: func(s *Scene) {
				bad := collection(s.group) + "/" + row.group + "/providers/" + s.Type.FullName() + "/a?api-version=" + s.Type.version()
				s.put(s.id, s.body(s.Type), target(bad)).refused()
			},
		})
	}
	return cases
}
