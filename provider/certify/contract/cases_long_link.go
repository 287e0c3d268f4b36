package contract

import (
	"net/url"
	"strings"
)

// longestLink bounds path and query of a nextLink, in bytes: a request line and its
// headers share 16 KiB, and a front door that merges lists adds to the link.
const longestLink = 12 << 10

// longLinkCases check that a request can carry a nextLink.
func longLinkCases() []Case {
	return []Case{{
		ID: "list/nextlink-fits-a-request", Profile: Core, Section: paging, On: isFirst, Side: StraightOnly, OwnGroup: true,
		Rule: "path and query of a nextLink have 12 KiB at most: clients send them in a request line",
		Run: func(s *Scene) {
			link := s.nextLink()
			target := link
			if u, err := url.Parse(link); err == nil {
				target = strings.TrimPrefix(link, u.Scheme+"://"+u.Host)
			}
			s.check(len(target) <= longestLink, "path and query of nextLink have 12 KiB at most", "%d bytes", len(target))
		},
	}}
}
