package contract

import (
	"strings"
)

// argumentCases check the common arguments: names, casing, api-versions.
func argumentCases() []Case {
	cases := []Case{
		{
			ID: "arguments/group-and-names-match-in-any-casing", Profile: Core, Section: putResource, On: writable,
			Rule: "a resource made in group rG1 is the one that is read in RG1",
			Run: func(s *Scene) {
				s.made()
				for _, id := range []string{shout(s.id), recased(s.id, strings.ToLower)} {
					s.get(id).status(200)
				}
				s.put(recase(s.id), s.body(s.Type)).status(200)
				s.remove(shout(s.id)).status(200)
				s.get(s.id).status(404)
			},
		},
		{
			ID: "arguments/the-latest-casing-is-returned", Profile: Core, Section: putResource, On: writable,
			Rule: "the most recently specified casing of group and name is returned, and no other; reading changes nothing",
			Run: func(s *Scene) {
				s.made().named(s.id)
				s.get(shout(s.id)).status(200).named(s.id)
				again := recase(s.id)
				s.put(again, s.body(s.Type)).status(200).named(again)
				s.get(s.id).status(200).named(again)
				items := s.walk(collection(s.id))
				s.check(len(items.like(s.id)) == 1, "the collection has the resource once", "%d times", len(items.like(s.id)))
				s.check(items.has(again), "the collection shows the id "+again, "%s", items)
				s.patch(s.id, Object{"properties": Object{}}).status(200).named(s.id)
				s.get(again).status(200).named(s.id)
			},
		},
		{
			ID: "arguments/type-is-the-namespace-and-the-type", Profile: Core, Section: getResource, On: writable,
			Rule: "type includes the namespace and the type of the entity; id is neither encoded nor has it a host or api-version",
			Run: func(s *Scene) {
				id := beside(s.id, "A name (of its own) - ö")
				a := s.put(id, s.body(s.Type)).status(201).named(id)
				s.check(strings.EqualFold(text(a.doc, "type"), s.Type.FullName()), "type is "+s.Type.FullName(), "%s", text(a.doc, "type"))
				s.get(id).status(200).named(id)
				s.remove(id).status(200)
			},
		},
		{
			ID: "arguments/api-version-is-required", Profile: Core, Section: arguments, On: isTop, Once: true,
			Rule: "a request without an api-version, or with one of no use, is refused",
			Run: func(s *Scene) {
				s.made()
				path := escape(s.id)
				for _, bare := range []string{path, path + "?api-version=", path + "?api-version=1999-01-01", path + "?api-version=tomorrow"} {
					s.get(s.id, target(bare)).refused(400)
				}
			},
		},
	}
	for _, row := range []struct{ what, name string }{
		{"less-than", "a%3Cb"}, {"greater-than", "a%3Eb"}, {"percent", "a%25b"}, {"ampersand", "a%26b"}, {"colon", "a%3Ab"},
		{"backslash", "a%5Cb"}, {"question-mark", "a%3Fb"}, {"control-character", "a%0Ab"}, {"261-characters", strings.Repeat("n", 261)},
	} {
		cases = append(cases, Case{
			ID: "arguments/name-with-" + row.what, Profile: Core, Section: arguments, On: isTop, Once: true,
			Rule: "the name cannot include <, >, %, &, :, \\, ?, / or control characters, nor exceed 260 characters",
			Run: func(s *Scene) {
				bad := escape(collection(s.id)) + "/" + row.name + "?api-version=" + s.Type.version()
				s.put(s.id, s.body(s.Type), target(bad)).refused(400)
			},
		})
	}
	for _, row := range []struct{ what, group string }{
		{"final-dot", "group."}, {"space", "a%20group"}, {"star", "a*"}, {"91-characters", strings.Repeat("g", 91)},
	} {
		cases = append(cases, Case{
			ID: "arguments/group-with-" + row.what, Profile: Core, Section: arguments, On: isTop, Once: true,
			Rule: "a group name has at most 90 letters, digits and -_(). and does not end with a dot",
			Run: func(s *Scene) {
				bad := collection(s.group) + "/" + row.group + "/providers/" + s.Type.FullName() + "/a?api-version=" + s.Type.version()
				s.put(s.id, s.body(s.Type), target(bad)).refused(400)
			},
		})
	}
	return cases
}

// shout and recase are the id in other casings of the parts that a client may spell
// freely: group and name.
func shout(id string) string { return recased(id, strings.ToUpper) }

func recase(id string) string { return recased(id, swapCase) }

// swapCase writes each ASCII letter in its other casing.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

func recased(id string, f func(string) string) string {
	segments := strings.Split(id, "/")
	segments[4] = f(segments[4])
	segments[len(segments)-1] = f(segments[len(segments)-1])
	return strings.Join(segments, "/")
}
