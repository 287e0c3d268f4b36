package contract

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
)

func isMovable(t *Type) bool { return isTop(t) && writable(t) && t.Capabilities.Move }

// moveCases check Move Resource. Checks that a front door makes before it
// calls a provider, such as a target group that is the source, are tried only
// through a front door.
func moveCases() []Case {
	cases := []Case{
		{
			ID: "move/answers-200-or-202", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true,
			Rule:    "a move is answered with 200, or with 202 if it completes asynchronously, without a body",
			Through: "the gateway answers 202",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				to := s.neighbour()
				defer s.discard(idInGroup(to, s.id))
				s.move(to, s.id).status(forWay(s, []int{200, 202}, []int{202})...).empty()
			},
		},
		{
			ID: "move/puts-the-resource-into-the-target-group", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true,
			Rule: "after a move the resource is in the target group, unchanged",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				if isTracked(s.Type) {
					body["tags"] = Object{"a": "b"}
				}
				s.create(s.id, body)
				to := s.neighbour()
				moved := idInGroup(to, s.id)
				defer s.discard(moved)
				s.moves(to, s.id)
				read := s.get(moved).status(200).shows(Object{"location": body["location"], "tags": body["tags"]})
				s.check(strings.EqualFold(text(read.doc, "id"), moved), "the moved resource has the id "+moved, "%q", text(read.doc, "id"))
				s.listedOnce(moved, false)
			},
		},
		{
			ID: "move/takes-the-resource-from-its-group", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true,
			Rule: "after a move the resource is no longer in its old group",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				to := s.neighbour()
				defer s.discard(idInGroup(to, s.id))
				s.moves(to, s.id)
				s.get(s.id).gone()
				s.listedOnce(s.id, true)
			},
		},
		{
			ID: "move/of-several", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true,
			Rule: "a move that succeeds has moved every resource that it names",
			Run: func(s *Scene) {
				other := sibling(s.id, "second")
				s.create(s.id, s.body(s.Type))
				s.create(other, s.body(s.Type))
				to := s.neighbour()
				defer s.discard(idInGroup(to, s.id))
				defer s.discard(idInGroup(to, other))
				end := s.concluded(s.move(to, s.id, other))
				s.check(end.done, "the move succeeds", "%s", end)
				for _, id := range []string{s.id, other} {
					s.get(idInGroup(to, id)).status(200)
				}
			},
		},
		{
			ID: "move/to-another-subscription", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true, Side: StraightOnly,
			Rule: "the target group may be in another subscription; a provider that does not permit that refuses the move",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				to := foreignGroup(s)
				moved := idInGroup(to, s.id)
				defer s.discard(moved)
				if end := s.concluded(s.move(to, s.id)); !end.done {
					end.restricts()
				}
				s.get(moved).status(200)
			},
		},
		{
			ID: "move/takes-children-along", Profile: Moves, Section: moveResource,
			On: func(t *Type) bool { return isMovable(t) && t.hasChildren() }, OwnGroup: true,
			Rule: "only top-level resources are named; their children are moved with them",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				to := s.neighbour()
				moved := idInGroup(to, s.id)
				defer s.discard(moved)
				var names []string
				for _, child := range s.Description.children(s.Type) {
					s.create(s.id+"/"+child.last()+"/child", s.body(child))
					names = append(names, "/"+child.last()+"/child")
				}
				s.moves(to, s.id)
				s.prepare(func() { s.get(moved).status(200) })
				for _, name := range names {
					s.get(moved + name).status(200)
					s.discard(moved + name)
				}
			},
		},
		{
			ID: "move/of-what-is-not-there", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true,
			Rule: "if a resource does not exist, 404 is returned",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				to := s.neighbour()
				defer s.discard(idInGroup(to, s.id))
				end := s.concluded(s.move(to, s.id, sibling(s.id, "absent")))
				s.check(!end.done && forWay(s, reportsAbsence(end.Answer), end.Status >= 400), "a move of a resource that does not exist ends with 404", "%s", end)
			},
		},
		{
			ID: "move/a-refused-one-moves-nothing", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true,
			Rule: "a refused move leaves every resource where it is",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				to := s.neighbour()
				moved := idInGroup(to, s.id)
				defer s.discard(moved)
				s.prepare(func() {
					end := s.concluded(s.move(to, s.id, sibling(s.id, "absent")))
					s.check(!end.done, "a move of a resource that does not exist is refused", "%s", end)
				})
				s.get(s.id).status(200)
				s.get(moved).gone()
			},
		},
		{
			ID: "move/sent-twice", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true,
			Rule: "a repeated move succeeds or is refused, and leaves the resource where the first move put it",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				to := s.neighbour()
				moved := idInGroup(to, s.id)
				defer s.discard(moved)
				s.moves(to, s.id)
				s.prepare(func() { s.get(moved).status(200) })
				again := s.move(to, s.id).notServerError("as a move sent again")
				s.concluded(again)
				s.get(moved).status(200)
				s.listedOnce(moved, false)
			},
		},
		{
			ID: "move/by-an-operation", Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true,
			Rule: "a move that is answered with 202 has a Location; when that no longer answers 202, the resource has moved",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				to := s.neighbour()
				moved := idInGroup(to, s.id)
				defer s.discard(moved)
				started := s.move(to, s.id, s.slowly(http.MethodPost))
				if started.Status != http.StatusAccepted {
					s.leaveOut("the provider answered synchronously")
				}
				if started.Header.Get("Location") == "" {
					s.fatal("a move that is answered with 202 has a Location", started.String())
				}
				end := s.concluded(started)
				s.check(end.done, "the move succeeds", "%s", end)
				s.get(moved).status(200)
			},
		},
	}
	return append(cases, refusedMoves()...)
}

// refusedMoves returns cases about moves that a front door refuses before it
// calls a provider.
func refusedMoves() []Case {
	var cases []Case
	for _, row := range []struct {
		what, why string
		to        func(s *Scene) string
		ids       func(s *Scene) []any
	}{
		{"into-its-own-group", "the target group is the source group", func(s *Scene) string { return s.group }, nil},
		{"into-a-group-that-is-not-there", "the target group does not exist", func(s *Scene) string { return s.group + "-absent" }, nil},
		{"of-a-resource-of-another-group", "a resource is not from the source group", (*Scene).neighbour,
			func(s *Scene) []any { return []any{idInGroup(s.group+"-other", s.id)} }},
		{"of-a-child", "a resource is a child", (*Scene).neighbour, func(s *Scene) []any { return []any{s.id + "/children/a"} }},
		{"of-nothing", "no resource is named", (*Scene).neighbour, func(*Scene) []any { return []any{} }},
		{"of-801-resources", "more than 800 resources are named", (*Scene).neighbour, func(s *Scene) []any {
			var ids []any
			for i := range 801 {
				ids = append(ids, fmt.Sprintf("%s-%d", s.id, i))
			}
			return ids
		}},
	} {
		cases = append(cases, Case{
			ID: "move/" + row.what, Profile: Moves, Section: moveResource, On: isMovable, OwnGroup: true, Once: true, Side: ThroughOnly,
			Rule:    "a move is 400 if " + row.why,
			Through: "the gateway answers; providers are not called",
			Run: func(s *Scene) {
				s.create(s.id, s.body(s.Type))
				ids := []any{s.id}
				if row.ids != nil {
					ids = row.ids(s)
				}
				s.move(row.to(s), ids...).refused(400)
				s.get(s.id).status(200)
			},
		})
	}
	return cases
}

// resourcesVersion is the api-version of the operations that a front door serves itself.
const resourcesVersion = "2021-04-01"

// move requests a move of resources of the scene's group; the ids may include options of
// the call. If the path is not found, it tries the contract's own spelling.
func (s *Scene) move(to string, what ...any) *Answer {
	var options []option
	ids := []any{}
	for _, w := range what {
		if o, ok := w.(option); ok {
			options = append(options, o)
			continue
		}
		ids = append(ids, w)
	}
	options = append([]option{withVersion(forWay(s, s.Type.version(), resourcesVersion)), inPlaceOf(s.Type, s)}, options...)
	body := Object{"targetResourceGroup": to, "resources": ids}
	a := s.post(s.group+"/moveResources", body, options...)
	if !s.Adapter.Through && (a.Status == http.StatusNotFound || a.Status == http.StatusMethodNotAllowed) {
		return s.post(strings.Replace(s.group, "/resourceGroups/", "/resourcegroups/", 1)+"/moveResources", body, options...)
	}
	return a
}

// moves moves resources to prepare the case.
func (s *Scene) moves(to string, ids ...any) {
	s.prepare(func() {
		end := s.concluded(s.move(to, ids...))
		s.check(end.done, "the move succeeds", "%s", end)
	})
}

// restricts leaves the case out if a restriction of the provider's own forbids the move.
func (c conclusion) restricts() {
	if c.Status >= 400 && c.Status < 500 || text(c.doc, "status") == "Failed" {
		c.s.leaveOut("the provider does not permit such moves")
	}
	c.s.fatal("the move succeeds or is refused", c.String())
}

// reportsAbsence reports whether an answer shows that something does not
// exist. An operation resource has no special status for that.
func reportsAbsence(a *Answer) bool {
	return a.Status == http.StatusNotFound || text(a.doc, "status") == "Failed"
}

// hasChildren reports whether clients can create resources nested directly in
// a resource of the type.
func (t *Type) hasChildren() bool {
	return slices.ContainsFunc(t.provider.ResourceTypes, func(c *Type) bool { return c.parent == t && writable(c) })
}

// idInGroup returns the id that a resource has in another group.
func idInGroup(group, id string) string {
	segments := strings.SplitN(id, "/", 6)
	return group + "/" + segments[5]
}

// neighbour creates another group in the scene's subscription, as the target of moves.
func (s *Scene) neighbour() string {
	group := s.furtherGroup(scenes.Add(1))
	s.prepare(func() { s.makeGroup(group) })
	return group
}

// foreignGroup returns a group of another subscription. It notifies the
// provider of that subscription first.
func foreignGroup(s *Scene) string {
	subscription := "/subscriptions/" + uuid.NewString()
	notice := Object{
		"state": "Registered", "registrationDate": "Tue, 15 Nov 1994 08:12:31 GMT",
		"properties": Object{"tenantId": s.Adapter.identities[Owner].TenantID, "quotaId": "PayAsYouGo_2014-09-01"},
	}
	s.put(subscription, notice, target(subscription+"?api-version=2.0"), inPlaceOf(s.Type, s))
	return subscription + "/resourceGroups/" + nameOf(s.furtherGroup(scenes.Add(1)))
}

// slowly requests an operation, by a described pattern with a Location if there is one.
func (s *Scene) slowly(method string) option {
	for _, p := range s.Description.Asynchrony.Patterns {
		if p.Method == method && p.Location {
			return s.short(p)
		}
	}
	return func(*call) {}
}

// discard deletes a resource that a case created outside its group; the
// outcome is not judged.
func (s *Scene) discard(id string) {
	t := s.Description.typeAt(id)
	if t == nil {
		return
	}
	c := call{
		method: http.MethodDelete, target: (&url.URL{Path: id}).EscapedPath() + "?api-version=" + t.version(), region: s.endpoint(id), header: http.Header{},
	}
	_, _ = s.Adapter.send(s.ctx, c) // leftovers are not the provider's fault
}
