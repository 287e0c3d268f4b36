package contract

import (
	"net/http"
	"strings"
)

// casingCases check that names match in any casing, and are shown in the
// casing of the latest write.
func casingCases() []Case {
	return []Case{
		{
			ID: "arguments/group-and-names-match-in-any-casing", Profile: Core, Section: putResource, On: writable,
			Rule: "a resource created in group rG1 can be read and deleted in RG1",
			Run: func(s *Scene) {
				s.created()
				for _, id := range []string{shout(s.id), recased(s.id, strings.ToLower)} {
					s.get(id).status(200)
				}
				s.removed(s.id)
				s.create(s.id, s.body(s.Type))
				s.prepare(func() { s.settled(s.remove(shout(s.id)).done(), shout(s.id)) })
				s.get(s.id).gone()
			},
		},
		{
			ID: "arguments/another-casing-is-no-other-resource", Profile: Core, Section: putResource, On: writable, OwnGroup: true,
			Rule: "a PUT in another casing overwrites the existing resource",
			Run: func(s *Scene) {
				s.created()
				recasedPut(s)
				items := s.listed(collection(s.id))
				s.check(len(items.like(s.id)) == 1, "the collection has the resource once", "%d times", len(items.like(s.id)))
			},
		},
		{
			ID: "arguments/the-latest-casing-is-returned", Profile: Core, Section: putResource, On: writable,
			Rule: "the most recently specified casing of group and name is returned, not a normalized one",
			Run: func(s *Scene) {
				s.created()
				s.read(s.id).showsExactID(s.id)
				again := recasedPut(s)
				s.read(again).showsExactID(again)
			},
		},
	}
}

// recasedPut prepares the scene's resource under an id in another casing, and
// returns that id. Only the group is recased if the type restricts its names.
func recasedPut(s *Scene) string {
	again := recase(s.id)
	s.prepare(func() {
		a := s.put(again, s.body(s.Type))
		if a.Status >= 400 && a.Status < 500 && a.Status != http.StatusConflict {
			again = collection(again) + "/" + nameOf(s.id)
			a = s.put(again, s.body(s.Type))
		}
		s.settled(a.done(), again)
	})
	return again
}

// shout and recase return the id with group and name in another casing.
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
