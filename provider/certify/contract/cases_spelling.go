package contract

import (
	"net/http"
	"net/url"
	"strings"
)

// spellingCases check ids in another casing than they were written in. In the
// contract, group and name match without case. It says nothing about the rest
// of an id: a provider may know it in one casing only, but must not take an
// id in another casing for another resource.
func spellingCases() []Case {
	var cases []Case
	for _, row := range []struct {
		what  string
		which part
	}{{"subscription", subscriptionPart}, {"literals", literalPart}, {"namespace", namespacePart}, {"type", typePart}} {
		cases = append(cases, Case{
			ID: "casing/of-the-" + row.what, Profile: Core, Section: arguments, On: writable,
			Rule: "an id in another casing of its " + row.what + " names the same resource or none, never another one",
			Run: func(s *Scene) {
				other := partsCased(s.id, row.which, swapCase)
				if other == s.id {
					s.leaveOut("there are no letters in the " + row.what)
				}
				s.create(s.id, s.body(s.Type))
				s.prepare(func() { s.get(recase(s.id)).status(200) }) // that names match is another rule
				again := s.put(other, s.body(s.Type))
				s.check(again.Status != http.StatusCreated, again.call.String()+" creates no second resource", "%s", again)
				s.concluded(again)
				s.listedOnce(s.id, false)
				if again.Status >= 300 {
					return
				}
				s.check(s.awaitEnd(other).Status == http.StatusOK, "a resource PUT as "+other+" can be read as that", "%s", s.last)
			},
		})
	}
	return append(cases,
		Case{
			ID: "casing/of-a-next-link", Profile: Core, Section: paging, On: isFirst, OwnGroup: true,
			Rule: "a nextLink leads to the same page with its group in another casing",
			Run: func(s *Scene) {
				link := s.nextLink()
				first := s.last
				other := s.follow(inOtherGroupCasing(link, s.group), first, sameHeader(first))
				if other.Status != http.StatusOK {
					s.prepare(func() { s.follow(link, first, sameHeader(first)).status(200) })
				}
				other.status(200)
			},
		},
		Case{
			ID: "casing/of-a-polling-url", Profile: Asynchronous, Section: accepted, On: asyncTypes,
			Rule: "a polling URL below a resource leads to the same operation with its group in another casing",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				started := s.remove(s.id, s.slowlyWithBoth(http.MethodDelete), belowTheResource(s))
				below := false
				for _, link := range pollingURLs(started) {
					other := inOtherGroupCasing(link, s.group)
					if other == link {
						continue
					}
					below = true
					s.prepare(func() { s.follow(link, started).status(200, 202, 204) })
					s.follow(other, started).status(200, 202, 204)
				}
				if !below {
					s.leaveOut("no polling URL is below a resource group")
				}
			},
		},
	)
}

// sameHeader sends the headers of another call.
func sameHeader(as *Answer) option {
	return func(c *call) { c.header = as.call.header }
}

// belowTheResource requests polling URLs below the resource, if the
// description has headers for it.
func belowTheResource(s *Scene) option {
	for _, place := range s.Description.Asynchrony.Places {
		if place.Path == "{resource}" {
			return withAll(place.Headers)
		}
	}
	return func(*call) {}
}

// inOtherGroupCasing writes the group's name in a URL in another casing.
func inOtherGroupCasing(link, group string) string {
	u, err := url.Parse(link)
	if err != nil {
		return link
	}
	segments := strings.Split(u.Path, "/")
	for i := 1; i < len(segments); i++ {
		if strings.EqualFold(segments[i-1], "resourceGroups") && strings.EqualFold(segments[i], nameOf(group)) {
			segments[i] = swapCase(segments[i])
		}
	}
	u.Path, u.RawPath = strings.Join(segments, "/"), ""
	return u.String()
}

// part is the kind of an id's segment.
type part int

const (
	literalPart part = iota
	subscriptionPart
	namespacePart
	typePart
	namePart // also a group's
)

// parts returns the kind of each segment of an id.
func parts(segments []string) []part {
	found := make([]part, len(segments))
	inside := -1 // where the last provider part began
	for i, segment := range segments {
		after := i - inside
		switch {
		case inside >= 0 && after == 1:
			found[i] = namespacePart
		case strings.EqualFold(segment, "providers") && (inside < 0 || after%2 == 0):
			inside = i
		case inside >= 0 && after%2 == 0:
			found[i] = typePart
		case inside >= 0:
			found[i] = namePart
		case i == 2:
			found[i] = subscriptionPart
		case i == 4:
			found[i] = namePart
		}
	}
	return found
}

// partsCased rewrites the casing of an id's segments of one kind.
func partsCased(id string, which part, write func(string) string) string {
	segments := strings.Split(id, "/")
	for i, is := range parts(segments) {
		if is == which {
			segments[i] = write(segments[i])
		}
	}
	return strings.Join(segments, "/")
}
