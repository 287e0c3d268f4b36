package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// etagCases check how tags are made and shown, and preconditions outside the contract's
// table.
func etagCases() []Case {
	return []Case{
		{
			ID: "etag/header-body-and-list-item", Profile: ETags, Section: getResource, On: hasETags,
			Rule: "an etag in the body is also in the header; each list item has its own",
			Run: func(s *Scene) {
				made := s.made()
				tag := made.etag()
				s.check(tag != "", "the answer of PUT has a header ETag", "none")
				made.shows(Object{"etag": tag})
				read := s.get(s.id).status(200).shows(Object{"etag": tag})
				s.check(read.etag() == tag, "GET has the ETag of the PUT, "+tag, "%s", read.etag())
				for _, item := range s.walk(collection(s.id)).like(s.id) {
					s.check(text(item, "etag") == tag, "the list item has the etag "+tag, "%s", text(item, "etag"))
				}
			},
		},
		{
			ID: "etag/is-weak", Profile: ETags, Section: etagSpec, On: hasETags,
			Rule: `the tag has the prefix W/, which marks a weak validator, and is quoted`,
			Run: func(s *Scene) {
				tag := s.made().etag()
				s.check(strings.HasPrefix(tag, `W/"`) && strings.HasSuffix(tag, `"`) && len(tag) > 4, `the tag is W/"…"`, "%s", tag)
			},
		},
		{
			ID: "etag/changes-with-the-resource", Profile: ETags, Section: etagSpec, On: func(t *Type) bool { return hasETags(t) && hasChange(t) },
			Rule: "a request that modifies a resource makes a new etag, and the answer has it; reading makes none",
			Run: func(s *Scene) {
				first := s.made().etag()
				patched := s.patch(s.id, Object{"properties": s.Type.Contract.Change}).status(200)
				s.check(patched.etag() != "" && patched.etag() != first, "PATCH answers with a new ETag", "%q after %q", patched.etag(), first)
				patched.shows(Object{"etag": patched.etag()})
				for range 2 {
					read := s.get(s.id).status(200)
					s.check(read.etag() == patched.etag(), "GET has the ETag of the PATCH", "%s", read.etag())
				}
				put := s.put(s.id, s.other(s.Type)).status(200)
				s.check(put.etag() != "" && put.etag() != patched.etag(), "PUT answers with a new ETag", "%q after %q", put.etag(), patched.etag())
			},
		},
		{
			ID: "etag/is-the-same-in-every-api-version", Profile: ETags, Section: etagSpec, On: hasETags,
			Rule: "the etag does not depend on the api-version of the request",
			Run: func(s *Scene) {
				tag := s.made().etag()
				for _, version := range s.Type.APIVersions {
					if !s.without(version) {
						got := s.get(s.id, at(version)).status(200).etag()
						s.check(got == tag, "GET with api-version "+version+" has the ETag "+tag, "%s", got)
					}
				}
			},
		},
		{
			ID: "etag/the-bodys-own-is-ignored", Profile: ETags, Section: putResource, On: hasETags,
			Rule: "etag is not writable: one in the body of a PUT has no effect",
			Run: func(s *Scene) {
				s.made()
				a := s.put(s.id, s.body(s.Type, Object{"etag": `W/"mine"`})).status(200)
				s.check(a.etag() != `W/"mine"`, "the ETag is the provider's own", "%s", a.etag())
			},
		},
		{
			ID: "etag/if-none-match-on-get", Profile: ETags, Section: etags, On: hasETags,
			Rule: "a GET whose If-None-Match names the tag, in a list, weakly or by *, is 304 without a body; another is 200",
			Run: func(s *Scene) {
				tag := s.made().etag()
				for _, value := range []string{tag, strings.TrimPrefix(tag, "W/"), `"other", ` + tag, `W/"a,b" ,` + tag, "*"} {
					s.get(s.id, with("If-None-Match", value)).status(304).empty()
				}
				for _, value := range []string{`"other"`, `W/"other", "another"`, ""} {
					s.get(s.id, with("If-None-Match", value)).status(200)
				}
			},
		},
		{
			ID: "etag/a-refused-write-changes-nothing", Profile: ETags, Section: etags, On: func(t *Type) bool { return hasETags(t) && hasChange(t) },
			Rule: "what 412 answers was not applied, and its body is an error",
			Run: func(s *Scene) {
				s.made()
				before := s.get(s.id).status(200)
				stale := with("If-Match", `W/"stale"`)
				s.put(s.id, s.other(s.Type), stale).refused(412)
				s.patch(s.id, Object{"properties": s.Type.Contract.Change}, stale).refused(412)
				s.remove(s.id, stale).refused(412)
				after := s.get(s.id).status(200)
				s.check(bytes.Equal(before.Body, after.Body), "the resource is as it was", "%s", missing(after.doc, before.doc, ""))
			},
		},
		{
			ID: "etag/version-without-tags", Profile: ETags, Section: etagClients, On: hasOldVersion,
			Rule: "an api-version from before etags shows none, and a write with If-Match is 406",
			Run: func(s *Scene) {
				tag := s.made().etag()
				for _, version := range s.Type.Contract.WithoutETags {
					old := at(version)
					read := s.get(s.id, old).status(200).lacks("etag")
					s.check(read.etag() == "", "GET with api-version "+version+" has no ETag", "%s", read.etag())
					for _, value := range []string{tag, "*", `"other"`} {
						s.put(s.id, s.body(s.Type), old, with("If-Match", value)).refused(406)
						s.patch(s.id, Object{"properties": Object{}}, old, with("If-Match", value)).refused(406)
						s.remove(s.id, old, with("If-Match", value)).refused(406)
					}
					s.put(s.id, s.body(s.Type), old).status(200).lacks("etag")
				}
				s.get(s.id).status(200)
			},
		},
		{
			ID: "etag/of-concurrent-writers-one-wins", Profile: ETags, Section: etags, On: func(t *Type) bool { return hasETags(t) && isTracked(t) },
			Rule: "preconditions are evaluated with the write: of 50 concurrent PATCHes with one If-Match one gets 200, the others 412",
			Run: func(s *Scene) {
				tag := s.made().etag()
				statuses := s.race(50, http.MethodPatch, "If-Match", tag, func(i int) any {
					return Object{"tags": Object{"winner": fmt.Sprint(i)}}
				})
				s.check(statuses[200] == 1 && statuses[412] == 49, "one 200 and 49 of 412", "%v", statuses)
			},
		},
		{
			ID: "etag/of-concurrent-creators-one-wins", Profile: ETags, Section: etags, On: func(t *Type) bool { return hasETags(t) && isTracked(t) },
			Rule: "of 20 concurrent PUTs with If-None-Match: * one creates, with 201, and the others get 412",
			Run: func(s *Scene) {
				statuses := s.race(20, http.MethodPut, "If-None-Match", "*", func(int) any { return s.body(s.Type) })
				s.check(statuses[201] == 1 && statuses[412] == 19, "one 201 and 19 of 412", "%v", statuses)
			},
		},
		{
			ID: "etag/does-not-follow-the-state", Profile: ETags, Section: etagSpec, On: func(t *Type) bool { return hasETags(t) && asyncTypes(t) },
			Rule: "what changes by itself is no part of the etag: the end of an operation that applied what was asked changes none",
			Run: func(s *Scene) {
				s.made()
				for _, p := range s.shown() {
					tag := s.put(s.id, s.other(s.Type), s.short(p)).status(200).etag()
					got := s.ended(s.id).status(200).etag()
					s.check(got == tag, "when the operation has ended the ETag is still "+tag, "%s", got)
				}
			},
		},
	}
}

// without reports whether the api-version has no tags.
func (s *Scene) without(version string) bool {
	for _, old := range s.Type.Contract.WithoutETags {
		if old == version {
			return true
		}
	}
	return false
}

// race makes concurrent writes of the scene's resource, all with one condition, and
// counts the statuses of their answers; 0 means no answer.
func (s *Scene) race(writers int, method, header, value string, body func(int) any) map[int]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	statuses := map[int]int{}
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
		all.Go(func() {
			status := 0
			if a, err := s.Adapter.send(s.ctx, c); err == nil {
				status = a.Status
			}
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	all.Wait()
	return statuses
}

// Values of a precondition in the table: {tag} is the resource's tag, {strong} its text
// without W/, {old} the tag before its last change.
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
	{"PUT", false, "If-None-Match", "", 201},
	{"PUT", true, "If-Match", "", 200},
	{"PUT", true, "If-Match", "*", 200},
	{"PUT", true, "If-Match", "{tag}", 200},
	{"PUT", true, "If-Match", "{strong}", 200},
	{"PUT", true, "If-Match", `W/"xyz", {tag}`, 200},
	{"PUT", true, "If-Match", `W/"xyz"`, 412},
	{"PUT", true, "If-Match", `W/"xyz", "abc"`, 412},
	{"PUT", true, "If-Match", "{old}", 412},
	{"PUT", true, "If-None-Match", "*", 412},
	{"PUT", true, "If-None-Match", "", 200},
	{"PATCH", false, "If-Match", "", 404},
	{"PATCH", false, "If-Match", "*", 404},
	{"PATCH", false, "If-Match", `W/"xyz"`, 404},
	{"PATCH", true, "If-Match", "", 200},
	{"PATCH", true, "If-Match", "*", 200},
	{"PATCH", true, "If-Match", "{tag}", 200},
	{"PATCH", true, "If-Match", "{strong}", 200},
	{"PATCH", true, "If-Match", `"abc",{tag}`, 200},
	{"PATCH", true, "If-Match", `W/"xyz"`, 412},
	{"PATCH", true, "If-Match", "{old}", 412},
	{"DELETE", false, "If-Match", "", 204},
	{"DELETE", false, "If-Match", "*", 204},
	{"DELETE", false, "If-Match", `W/"xyz"`, 204},
	{"DELETE", true, "If-Match", "", 200},
	{"DELETE", true, "If-Match", "*", 200},
	{"DELETE", true, "If-Match", "{tag}", 200},
	{"DELETE", true, "If-Match", "{strong}", 200},
	{"DELETE", true, "If-Match", `"abc", {tag}`, 200},
	{"DELETE", true, "If-Match", `W/"xyz"`, 412},
	{"DELETE", true, "If-Match", "{old}", 412},
}

// valueWords name the values of the table in the ids of its cases.
var valueWords = map[string]string{
	"": "empty", "*": "any", `W/"xyz"`: "other", "{tag}": "current", "{strong}": "current-strong", "{old}": "old",
	`W/"xyz", {tag}`: "list-with-current", `"abc", {tag}`: "list-with-current", `"abc",{tag}`: "list-without-space", `W/"xyz", "abc"`: "list-of-others",
}

// etagTable makes a case of each row of the contract's table.
func etagTable() []Case {
	var cases []Case
	for _, row := range etagRows {
		there := "absent"
		if row.exists {
			there = "present"
		}
		cases = append(cases, Case{
			ID: "etag/table-" + strings.ToLower(row.method+"-"+there+"-"+row.header) + "-" + valueWords[row.value], Profile: ETags, Section: etags, On: hasETags,
			Rule: "the table of preconditions; lists and *, weak comparison, an empty value counts as absent",
			Run: func(s *Scene) {
				condition := with(row.header, s.tableValue(row.value, row.exists))
				a := s.call(row.method, s.id, s.tableBody(row.method), condition).status(row.status)
				if row.status == http.StatusPreconditionFailed {
					a.envelope()
				}
			},
		})
	}
	return cases
}

// tableValue creates the resource if the row requires one, and returns the header that
// refers to it.
func (s *Scene) tableValue(value string, exists bool) string {
	if !exists {
		return value
	}
	old := s.made().etag()
	tag := s.put(s.id, s.other(s.Type)).status(200).etag()
	return strings.NewReplacer("{tag}", tag, "{strong}", strings.TrimPrefix(tag, "W/"), "{old}", old).Replace(value)
}

func (s *Scene) tableBody(method string) any {
	switch method {
	case http.MethodPut:
		return s.body(s.Type)
	case http.MethodPatch:
		return Object{"properties": Object{}}
	}
	return nil
}
