package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// etagCases check how tags are made and shown, and preconditions outside the contract's
// table. They read tags from a GET: tags in other answers have rules of their own.
func etagCases() []Case {
	return []Case{
		{
			ID: "etag/header-body-and-list-item", Profile: ETags, Section: getResource, On: hasETags,
			Rule: "an etag in the body is also in the header; a list item has the etag of its resource",
			Run: func(s *Scene) {
				s.created()
				read := s.read(s.id)
				tag := read.Header.Get("ETag")
				read.check(tag != "", "the answer of GET has a header ETag", "none")
				if inBody := text(read.doc, "etag"); inBody != "" && tag != "" {
					read.check(inBody == tag, "the body has the etag of the header, "+tag, "%s", inBody)
				}
				for _, item := range s.listed(collection(s.id)).like(s.id) {
					if shown := text(item, "etag"); shown != "" {
						s.check(shown == read.etag(), "the list item has the etag "+read.etag(), "%s", shown)
					}
				}
			},
		},
		{
			ID: "etag/is-weak", Profile: ETags, Section: etagSpec, On: hasETags,
			Rule: "the tag has the prefix W/, which marks a weak validator",
			Run: func(s *Scene) {
				s.created()
				read := s.read(s.id)
				tag := read.etag()
				read.check(strings.HasPrefix(tag, "W/"), "the tag begins with W/", "%q", tag)
			},
		},
		{
			ID: "etag/changes-with-the-resource", Profile: ETags, Section: etagSpec, On: func(t *Type) bool { return hasETags(t) && hasOther(t) },
			Rule: "a request that modifies a resource changes its etag; reading does not",
			Run: func(s *Scene) {
				s.created()
				first := s.read(s.id).etag()
				again := s.read(s.id).etag()
				s.check(again == first, "reading does not change the ETag "+first, "%s", again)
				s.create(s.id, s.other(s.Type))
				put := s.read(s.id).etag()
				s.check(put != "" && put != first, "a PUT changes the ETag", "%q after %q", put, first)
				if hasChange(s.Type) {
					s.create(s.id, s.body(s.Type))
					before := s.read(s.id).etag()
					s.changed(s.id, Object{"properties": s.Type.Contract.Change})
					patched := s.read(s.id).etag()
					s.check(patched != "" && patched != before, "a PATCH changes the ETag", "%q after %q", patched, before)
				}
			},
		},
		{
			ID: "etag/is-the-same-in-every-api-version", Profile: ETags, Section: etagSpec,
			On:   func(t *Type) bool { return hasETags(t) && len(t.APIVersions)-len(t.Contract.WithoutETags) > 1 },
			Rule: "the etag does not depend on the api-version of the request",
			Run: func(s *Scene) {
				s.created()
				tag := s.read(s.id).etag()
				for _, version := range s.Type.APIVersions {
					if !slices.Contains(s.Type.Contract.WithoutETags, version) {
						got := s.read(s.id, withVersion(version)).etag()
						s.check(got == tag, "GET with api-version "+version+" has the ETag "+tag, "%s", got)
					}
				}
			},
		},
		{
			ID: "etag/the-bodys-own-is-ignored", Profile: ETags, Section: putResource, On: hasETags,
			Rule: "the provider makes the etag: one in the body of a PUT is not stored",
			Run: func(s *Scene) {
				s.created()
				s.overwritable(s.id)
				a := s.put(s.id, s.body(s.Type, Object{"etag": `W/"mine"`}))
				if a.Status >= 400 && a.Status < 500 {
					s.leaveOut("the provider refuses an etag in a body")
				}
				s.settled(a.done(), s.id)
				got := s.read(s.id).etag()
				s.check(got != `W/"mine"`, "the ETag is not the one in the body", "%s", got)
			},
		},
		{
			ID: "etag/if-none-match-on-get", Profile: ETags, Section: etags, On: hasETags,
			Rule: "a GET with the tag in If-None-Match may answer 304 without a body; with another tag it answers 200",
			Run: func(s *Scene) {
				s.created()
				tag := s.read(s.id).etag()
				a := s.get(s.id, with("If-None-Match", tag)).status(200, 304)
				if a.Status == http.StatusOK {
					s.leaveOut("the provider does not serve conditional reads")
				}
				a.empty()
				s.get(s.id, with("If-None-Match", `W/"other"`)).status(200)
			},
		},
		{
			ID: "etag/a-refused-write-changes-nothing", Profile: ETags, Section: etags, On: func(t *Type) bool { return hasETags(t) && hasOther(t) },
			Rule: "a write that is answered with 412 has no effect",
			Run: func(s *Scene) {
				s.created()
				before := s.read(s.id)
				stale := with("If-Match", `W/"stale"`)
				for _, a := range []*Answer{s.put(s.id, s.other(s.Type), stale), s.patch(s.id, s.patchBody(), stale), s.remove(s.id, stale)} {
					if a.Status != http.StatusPreconditionFailed {
						s.leaveOut("the provider did not answer 412")
					}
				}
				after := s.get(s.id).status(200)
				lack := missing(after.doc, before.shownOf(s.body(s.Type)), "")
				after.check(lack == "" && after.etag() == before.etag(), "the resource is as it was", "%s", after)
			},
		},
		{
			ID: "etag/version-without-tags", Profile: ETags, Section: etagClients, On: hasOldVersion,
			Rule: "an api-version older than etags shows none, and refuses a write with If-Match with 406",
			Run: func(s *Scene) {
				s.created()
				tag := s.read(s.id).etag()
				for _, version := range s.Type.Contract.WithoutETags {
					old := withVersion(version)
					read := s.get(s.id, old).status(200).lacks("etag")
					read.check(read.Header.Get("ETag") == "", "GET with api-version "+version+" has no ETag", "%s", read.etag())
					for _, value := range []string{tag, "*", `"other"`} {
						s.put(s.id, s.body(s.Type), old, with("If-Match", value)).refused(406)
						s.patch(s.id, s.patchBody(), old, with("If-Match", value)).refused(406)
						s.remove(s.id, old, with("If-Match", value)).refused(406)
					}
				}
			},
		},
		{
			ID: "etag/of-concurrent-writers-one-wins", Profile: ETags, Section: etags, On: func(t *Type) bool { return hasETags(t) && isTracked(t) },
			Rule: "preconditions are evaluated with the write: of 20 concurrent PATCHes with one If-Match one succeeds, the others are refused",
			Run: func(s *Scene) {
				s.created()
				first := s.read(s.id).etag()
				s.changed(s.id, s.patchBody())
				tag := s.read(s.id).etag()
				if tag == first {
					s.leaveOut("the ETag does not change, which another case reports")
				}
				oneWins(s, s.race(20, http.MethodPatch, "If-Match", tag, func(i int) any {
					return Object{"tags": Object{"winner": fmt.Sprint(i)}}
				}))
			},
		},
		{
			ID: "etag/of-concurrent-creators-one-wins", Profile: ETags, Section: etags, On: func(t *Type) bool { return hasETags(t) && isTracked(t) },
			Rule: "of 20 concurrent PUTs with If-None-Match: * one creates, and the others are refused",
			Run: func(s *Scene) {
				oneWins(s, s.race(20, http.MethodPut, "If-None-Match", "*", func(int) any { return s.body(s.Type) }))
			},
		},
	}
}

// oneWins expects one success, and otherwise refusals that a concurrent write explains.
func oneWins(s *Scene, statuses map[int]int) {
	won, explained := statuses[200]+statuses[201]+statuses[202], statuses[412]+statuses[409]+statuses[429]
	all := 0
	for _, n := range statuses {
		all += n
	}
	s.check(won == 1 && explained == all-1, "one success, and 412 for the others", "%s", tally(statuses))
}

// tally lists how many answers had each status.
func tally(statuses map[int]int) string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		parts = append(parts, fmt.Sprintf("%d with %d", statuses[status], status))
	}
	return strings.Join(parts, ", ")
}

// race sends concurrent writes of the scene's resource, all with one
// condition, and counts the statuses of their answers.
func (s *Scene) race(writers int, method, header, value string, body func(int) any) map[int]int {
	var calls []call
	for i := range writers {
		content, err := json.Marshal(body(i))
		if err != nil {
			s.fatal("the case's body has a JSON form", err.Error())
		}
		c := call{
			method: method, target: escape(s.id) + "?api-version=" + s.Type.version(),
			region: s.endpoint(s.id), body: content, header: http.Header{},
		}
		c.header.Set(header, value)
		calls = append(calls, c)
	}
	statuses := map[int]int{}
	for _, a := range s.atOnce(calls) {
		statuses[a.Status]++
		if a.Status != http.StatusPreconditionFailed {
			s.last = a // a fault shows one that was not refused, if there is one
		}
	}
	return statuses
}

// Values of a precondition in the table: {tag} is the resource's tag, {old} the tag before
// its last change.
var etagRows = []struct {
	method string
	exists bool
	header string
	value  string
	status int
}{
	{"PUT", false, "If-Match", "", 201},
	{"PUT", false, "If-Match", "*", 412},
	{"PUT", false, "If-Match", `W/"xyz"`, 412},
	{"PUT", false, "If-None-Match", "*", 201},
	{"PUT", true, "If-Match", "", 200},
	{"PUT", true, "If-Match", "*", 200},
	{"PUT", true, "If-Match", "{tag}", 200},
	{"PUT", true, "If-Match", `W/"xyz"`, 412},
	{"PUT", true, "If-Match", `W/"xyz", "abc"`, 412},
	{"PUT", true, "If-Match", "{old}", 412},
	{"PUT", true, "If-None-Match", "*", 412},
	{"PATCH", false, "If-Match", "", 404},
	{"PATCH", false, "If-Match", "*", 404},
	{"PATCH", false, "If-Match", `W/"xyz"`, 404},
	{"PATCH", true, "If-Match", "", 200},
	{"PATCH", true, "If-Match", "*", 200},
	{"PATCH", true, "If-Match", "{tag}", 200},
	{"PATCH", true, "If-Match", `W/"xyz"`, 412},
	{"PATCH", true, "If-Match", "{old}", 412},
	{"DELETE", false, "If-Match", "", 204},
	{"DELETE", false, "If-Match", "*", 204},
	{"DELETE", false, "If-Match", `W/"xyz"`, 204},
	{"DELETE", true, "If-Match", "", 200},
	{"DELETE", true, "If-Match", "*", 200},
	{"DELETE", true, "If-Match", "{tag}", 200},
	{"DELETE", true, "If-Match", `W/"xyz"`, 412},
	{"DELETE", true, "If-Match", "{old}", 412},
}

// valueWords name the table's values in the ids of its cases.
var valueWords = map[string]string{
	"": "empty", "*": "any", `W/"xyz"`: "other", "{tag}": "current", "{old}": "old", `W/"xyz", "abc"`: "list-of-others",
}

// etagTable makes a case of each row of the contract's table.
func etagTable() []Case {
	var cases []Case
	for _, row := range etagRows {
		there := "absent"
		if row.exists {
			there = "present"
		}
		on := hasETags
		if row.value == "{old}" {
			on = func(t *Type) bool { return hasETags(t) && hasOther(t) }
		}
		cases = append(cases, Case{
			ID: "etag/table-" + strings.ToLower(row.method+"-"+there+"-"+row.header) + "-" + valueWords[row.value], Profile: ETags, Section: etags, On: on,
			Rule: "the table of preconditions; an empty value counts as absent",
			Run: func(s *Scene) {
				condition := with(row.header, tableValue(s, row.value, row.exists))
				unconditional(s, row.method, row.exists)
				a := s.call(row.method, s.id, tableBody(s, row.method), condition)
				if row.status == http.StatusOK || row.status == http.StatusCreated {
					a.done() // the exact status has a rule of its own
					return
				}
				a.status(row.status)
			},
		})
	}
	return cases
}

// tableValue creates the resource if the row requires one, and returns the
// precondition's value.
func tableValue(s *Scene, value string, exists bool) string {
	if !exists {
		return value
	}
	s.created()
	switch value {
	case "{tag}":
		return s.currentTag()
	case "{old}":
		old := s.currentTag()
		s.create(s.id, s.other(s.Type))
		if s.currentTag() == old {
			s.leaveOut("the ETag does not change, which another case reports")
		}
		return old
	}
	return value
}

// unconditional checks, on another resource, that the provider answers
// correctly without a condition.
func unconditional(s *Scene, method string, exists bool) {
	id := sibling(s.id, "bare")
	s.prepare(func() {
		switch {
		case exists && method == http.MethodPut:
			s.create(id, s.body(s.Type))
			s.overwritable(id)
		case exists && method == http.MethodPatch:
			s.create(id, s.body(s.Type))
			s.changed(id, s.patchBody())
		case !exists && method == http.MethodPatch:
			s.patch(id, s.patchBody()).status(404)
		case !exists && method == http.MethodDelete:
			s.remove(id).status(204)
		}
	})
}

// currentTag returns the tag of the scene's resource, which must have one.
func (s *Scene) currentTag() string {
	read := s.read(s.id)
	s.prepare(func() { read.check(read.etag() != "", "the resource has an ETag", "%s", read) })
	return read.etag()
}

func tableBody(s *Scene, method string) any {
	switch method {
	case http.MethodPut:
		return s.body(s.Type)
	case http.MethodPatch:
		return s.patchBody()
	}
	return nil
}
