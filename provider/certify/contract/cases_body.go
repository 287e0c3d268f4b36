package contract

import (
	"maps"
	"slices"
	"strings"
)

// bodyCases check members with a form fixed by the contract.
func bodyCases() []Case {
	return []Case{
		{
			ID: "body/kept-members", Profile: Core, Section: putResource, Rule: "plan, kind, managedBy, identity and sku are validated, persisted and returned",
			On: func(t *Type) bool { return len(t.Contract.Kept) > 0 },
			Run: func(s *Scene) {
				s.created(s.Type.Contract.Kept)
				s.get(s.id).status(200).shows(s.Type.Contract.Kept)
			},
		},
		{
			ID: "body/refused-members", Profile: Core, Section: putResource,
			Rule: "sku without a name, plan without name, publisher or product, and the like are refused",
			On:   func(t *Type) bool { return len(t.Contract.Refused) > 0 },
			Run: func(s *Scene) {
				for _, row := range s.Type.Contract.Refused {
					a := s.put(s.id, s.body(s.Type, row.Members))
					a.check(a.denied() && a.Status != 403, "PUT with "+row.Why+" is refused with 4xx, not 403", "%s", a)
				}
			},
		},
		{
			ID: "body/members-in-any-order", Profile: Core, Section: putResource, On: isFirst,
			Rule: "the order of the members in a request is unspecified and not relied on",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				names := slices.Sorted(maps.Keys(body))
				for i, id := range []string{s.id, sibling(s.id, "again")} {
					if i > 0 {
						slices.Reverse(names)
					}
					s.put(id, ordered(body, names)).done()
				}
			},
		},
		{
			ID: "body/no-json-object", Profile: Core, Section: putResource, On: writable,
			Rule: "a body that is not a well-formed JSON object is refused",
			Run: func(s *Scene) {
				for _, body := range []string{`{"location":`, `[]`, `"text"`} {
					s.put(s.id, body).refused()
				}
				s.get(s.id).gone()
			},
		},
	}
}

// ordered writes an object's members in the given order.
func ordered(o Object, names []string) string {
	var members []string
	for _, name := range names {
		members = append(members, showFull(name)+":"+showFull(o[name]))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// tagCases check the limits of tags.
func tagCases() []Case {
	var cases []Case
	for _, row := range []struct {
		what    string
		tags    Object
		allowed bool
	}{
		{"15-are-accepted", fifteen(), true},
		{"name-of-512-is-accepted", Object{strings.Repeat("k", 512): "v"}, true},
		{"value-of-256-is-accepted", Object{"k": strings.Repeat("v", 256)}, true},
		{"name-of-513-is-refused", Object{strings.Repeat("k", 513): "v"}, false},
		{"value-of-257-is-refused", Object{"k": strings.Repeat("v", 257)}, false},
		{"name-with-less-than-is-refused", Object{"a<b": "v"}, false},
		{"name-with-greater-than-is-refused", Object{"a>b": "v"}, false},
		{"name-with-percent-is-refused", Object{"a%b": "v"}, false},
		{"name-with-ampersand-is-refused", Object{"a&b": "v"}, false},
		{"name-with-backslash-is-refused", Object{`a\b`: "v"}, false},
		{"name-with-question-mark-is-refused", Object{"a?b": "v"}, false},
		{"name-with-slash-is-refused", Object{"a/b": "v"}, false},
		{"name-with-control-character-is-refused", Object{"a\tb": "v"}, false},
	} {
		cases = append(cases, Case{
			ID: "tags/" + row.what, Profile: Tags, Section: putResource, On: isTop, Once: true,
			Rule: "a tag has a key of at most 512 and a value of at most 256 characters; its name has none of <>%&\\?/ and no control characters",
			Run: func(s *Scene) {
				a := s.put(s.id, s.body(s.Type, Object{"tags": row.tags}))
				if !row.allowed {
					a.refused()
					return
				}
				s.settled(a.done(), s.id)
				s.read(s.id).shows(Object{"tags": row.tags})
			},
		})
	}
	for _, row := range []struct {
		what string
		tags any
	}{
		{"no-object-is-refused", []any{"a"}}, {"value-that-is-no-string-is-refused", Object{"a": 1}},
	} {
		cases = append(cases, Case{
			ID: "tags/" + row.what, Profile: Tags, Section: putResource, On: isTop, Once: true,
			Rule: "tags map keys to texts: other values are refused or not stored",
			Run: func(s *Scene) {
				a := s.put(s.id, s.body(s.Type, Object{"tags": row.tags}))
				if a.Status >= 400 && a.Status < 500 {
					return
				}
				s.settled(a.done(), s.id)
				read := s.read(s.id)
				shown, _ := lookup(read.doc, "tags")
				read.check(pairs(shown), "tags are an object of texts", "%s", show(shown))
			},
		})
	}
	return cases
}

func fifteen() Object {
	tags := Object{}
	for i := range 15 {
		tags["tag"+string(rune('a'+i))] = "v"
	}
	return tags
}

// pairs reports whether tags are absent or map names to texts.
func pairs(tags any) bool {
	if tags == nil {
		return true
	}
	o, ok := tags.(Object)
	for _, value := range o {
		_, isText := value.(string)
		ok = ok && isText
	}
	return ok
}
