package contract

import (
	"net/http"
	"strings"
)

// bodyCases check the members whose form the contract fixes.
func bodyCases() []Case {
	tags := func(n int) Object {
		o := Object{}
		for i := range n {
			o["tag"+string(rune('a'+i))] = "v"
		}
		return Object{"tags": o}
	}
	cases := []Case{
		{
			ID: "body/kept-members", Profile: Core, Section: putResource, Rule: "plan, kind, managedBy, identity, sku and tags are validated, persisted and returned",
			On: func(t *Type) bool { return len(t.Contract.Kept) > 0 },
			Run: func(s *Scene) {
				s.made(s.Type.Contract.Kept).shows(s.Type.Contract.Kept)
				s.get(s.id).status(200).shows(s.Type.Contract.Kept)
				for _, item := range s.walk(collection(s.id)).like(s.id) {
					lack := missing(item, s.Type.Contract.Kept, "")
					s.check(lack == "", "the collection shows the same", "%s", lack)
				}
			},
		},
		{
			ID: "body/refused-members", Profile: Core, Section: putResource, Rule: "sku without a name, plan without name, publisher or product, and the like are refused",
			On: func(t *Type) bool { return len(t.Contract.Refused) > 0 },
			Run: func(s *Scene) {
				for _, row := range s.Type.Contract.Refused {
					a := s.put(s.id, s.body(s.Type, row.Members))
					s.check(a.Status == 400, "PUT with "+row.Why+" answers 400", "%s", a)
				}
				s.get(s.id).status(404)
			},
		},
		{
			ID: "body/members-in-any-order", Profile: Core, Section: putResource, On: isTop,
			Rule: "the order of the members in a request is unspecified and not relied on",
			Run: func(s *Scene) {
				where := show(s.place(s.Type))
				properties, _ := lookup(s.Type.Contract.Body, "properties")
				s.put(s.id, `{"properties":`+showWhole(properties)+`,"tags":{},"location":`+where+`}`).status(201)
				s.put(s.id, `{"location":`+where+`,"tags":{},"properties":`+showWhole(properties)+`}`).status(200)
			},
		},
		{
			ID: "body/no-json-object", Profile: Core, Section: putResource, On: writable,
			Rule: "a body that is no well-formed JSON object is refused with the error envelope",
			Run: func(s *Scene) {
				for _, body := range []string{`{"location":`, `[]`, `"text"`, `{} {}`} {
					s.put(s.id, body).refused(400)
				}
				s.get(s.id).status(404)
			},
		},
	}
	for _, row := range []struct {
		what    string
		members Object
		status  int
	}{
		{"15-are-accepted", tags(15), 201},
		{"name-of-512-is-accepted", Object{"tags": Object{strings.Repeat("k", 512): "v"}}, 201},
		{"value-of-256-is-accepted", Object{"tags": Object{"k": strings.Repeat("v", 256)}}, 201},
		{"name-of-513-is-refused", Object{"tags": Object{strings.Repeat("k", 513): "v"}}, 400},
		{"value-of-257-is-refused", Object{"tags": Object{"k": strings.Repeat("v", 257)}}, 400},
		{"name-with-less-than-is-refused", Object{"tags": Object{"a<b": "v"}}, 400},
		{"name-with-greater-than-is-refused", Object{"tags": Object{"a>b": "v"}}, 400},
		{"name-with-percent-is-refused", Object{"tags": Object{"a%b": "v"}}, 400},
		{"name-with-ampersand-is-refused", Object{"tags": Object{"a&b": "v"}}, 400},
		{"name-with-backslash-is-refused", Object{"tags": Object{`a\b`: "v"}}, 400},
		{"name-with-question-mark-is-refused", Object{"tags": Object{"a?b": "v"}}, 400},
		{"name-with-slash-is-refused", Object{"tags": Object{"a/b": "v"}}, 400},
		{"name-with-control-character-is-refused", Object{"tags": Object{"a\tb": "v"}}, 400},
		{"no-object-is-refused", Object{"tags": []any{"a"}}, 400},
		{"value-that-is-no-string-is-refused", Object{"tags": Object{"a": 1}}, 400},
	} {
		cases = append(cases, Case{
			ID: "tags/" + row.what, Profile: Tags, Section: putResource, On: isTop, Once: true,
			Rule: "a tag has a key of at most 512 and a value of at most 256 characters; its name has none of <>%&\\?/ and no control characters",
			Run: func(s *Scene) {
				a := s.put(s.id, s.body(s.Type, row.members)).status(row.status)
				if row.status == http.StatusCreated {
					a.shows(row.members)
				}
			},
		})
	}
	return cases
}
