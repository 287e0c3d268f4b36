package contract

import (
	"net/http"
	"strings"
)

func isNested(t *Type) bool { return t.nested() && writable(t) }

// children are the types nested directly in one.
func (d *Description) children(of *Type) []*Type {
	var found []*Type
	for _, t := range d.types() {
		if t.parent == of && writable(t) {
			found = append(found, t)
		}
	}
	return found
}

// childCases check nested resources.
func childCases() []Case {
	return []Case{
		{
			ID: "child/of-a-parent-that-is-not-there", Profile: Nested, Section: nested, On: isNested,
			Rule:    "a nested resource hangs below its parent: without it, everything is 404",
			Through: "of a tracked parent: ParentResourceNotFound, or ResourceNotFound of what cannot be there, by the gateway",
			Run: func(s *Scene) {
				orphan := s.group + "/providers/" + s.Type.parent.FullName() + "/absent/" + s.Type.last() + "/a"
				s.put(orphan, s.body(s.Type)).refused(404)
				s.get(orphan).refused(404)
				s.get(collection(orphan)).refused(404)
			},
		},
		{
			ID: "child/parents-are-apart", Profile: Nested, Section: nested, On: isNested,
			Rule: "children of one parent are not another's",
			Run: func(s *Scene) {
				s.made()
				other := collection(collection(collection(s.id))) + "/other"
				s.put(other, s.body(s.Type.parent)).status(201)
				twin := other + "/" + s.Type.last() + "/" + nameOf(s.id)
				s.get(twin).refused(404)
				s.put(twin, s.body(s.Type)).status(201).named(twin)
				s.remove(twin).status(200)
				s.get(s.id).status(200).named(s.id)
			},
		},
		{
			ID: "child/goes-with-its-parent", Profile: Nested, Section: designing, On: func(t *Type) bool { return isNested(t) && t.parent.DeletionPolicy != "refuse" },
			Rule: "a nested resource is deleted when its parent is; it does not come back with a new one",
			Run: func(s *Scene) {
				parent := collection(collection(s.id))
				s.made()
				s.remove(parent).status(200)
				s.get(s.id).refused(404)
				s.put(parent, s.body(s.Type.parent)).status(201)
				s.get(s.id).refused(404)
				s.check(len(s.walk(collection(s.id)).items) == 0, "the new parent has no children", "it has")
			},
		},
		{
			ID: "child/goes-with-its-parents-asynchronous-delete", Profile: Nested, Section: designing, On: func(t *Type) bool { return isNested(t) && t.parent.DeletionPolicy != "refuse" },
			Rule: "the same, when the parent's DELETE was answered with 202",
			Run: func(s *Scene) {
				parent := collection(collection(s.id))
				s.made()
				s.remove(parent, s.short(s.patterns(http.MethodDelete)[0])).status(202)
				s.ended(parent).refused(404)
				s.get(s.id).refused(404)
			},
		},
		{
			ID: "child/keeps-its-parent", Profile: Nested, Section: groupDeletes, On: func(t *Type) bool { return isNested(t) && t.parent.DeletionPolicy == "refuse" },
			Rule: "a delete that is invalid until a related resource is deleted is 4xx, deletes nothing, and succeeds afterwards",
			Run: func(s *Scene) {
				parent := collection(collection(s.id))
				s.made()
				a := s.remove(parent)
				s.check(a.Status >= 400 && a.Status < 500, "DELETE of a parent that must not go answers 4xx", "%s", a)
				a.envelope()
				s.get(s.id).status(200)
				s.get(parent).status(200)
				s.remove(s.id).status(200)
				s.remove(parent).status(200)
				s.get(parent).refused(404)
			},
		},
		{
			ID: "child/proxy-only-has-no-tags-and-no-location", Profile: Nested, Section: designing, On: func(t *Type) bool { return t.Kind != Tracked && writable(t) },
			Rule: "location and tags are not applicable to a resource that is not tracked; it shows none, whatever was sent",
			Run: func(s *Scene) {
				s.put(s.id, s.body(s.Type, Object{"tags": Object{"a": "b"}})).status(201).lacks("tags").lacks("location")
				s.get(s.id).status(200).lacks("tags").lacks("location")
				for _, item := range s.walk(collection(s.id)).like(s.id) {
					_, tags := lookup(item, "tags")
					_, location := lookup(item, "location")
					s.check(!tags && !location, "its list item has neither tags nor location", "%s", show(item))
				}
			},
		},
		{
			ID: "child/deep-insert", Profile: Nested, Section: designing, On: func(t *Type) bool { return t.Contract.DeepInsert != "" },
			Rule: "a proxy-only resource can be PUT with its parent in a single call, is then a resource like any other, and goes with the parent",
			Run: func(s *Scene) {
				name := s.Type.Contract.DeepInsert
				var child *Type
				for _, t := range s.Description.children(s.Type) {
					if strings.EqualFold(t.last(), name) {
						child = t
					}
				}
				if child == nil {
					s.fatal("the description has the child type "+name, "it has not")
				}
				insert := func(names ...string) Object {
					elements := []any{}
					for _, n := range names {
						elements = append(elements, overlay(child.Contract.Body, Object{"name": n}))
					}
					properties, _ := lookup(s.Type.Contract.Body, "properties")
					o, _ := properties.(Object)
					return s.body(s.Type, Object{"properties": overlay(o, Object{name: elements})})
				}
				s.put(s.id, insert("one", "two")).status(201)
				for _, n := range []string{"one", "two"} {
					id := s.id + "/" + child.last() + "/" + n
					s.get(id).status(200).named(id).shows(child.Contract.Body)
				}
				s.check(len(s.walk(s.id+"/"+child.last()).items) == 2, "the collection of children has two", "it has not")
				shown, _ := lookup(s.get(s.id).status(200).doc, "properties."+name)
				for _, n := range []string{"one", "two"} {
					s.check(strings.Contains(show(shown), `"`+n+`"`), "the parent shows its child "+n, "%s", show(shown))
				}
				s.remove(s.id).status(200)
				s.get(s.id + "/" + child.last() + "/one").refused(404)
			},
		},
	}
}

// extensionCases check extension resources, which can have any scope.
func extensionCases() []Case {
	on := func(t *Type) bool { return t.Kind == Extension && writable(t) }
	scoped := func(s *Scene, scope string) {
		id := scope + "/providers/" + s.Type.FullName() + "/ext-" + nameOf(s.id)
		s.put(id, s.body(s.Type)).status(201).named(id).shows(s.body(s.Type))
		s.get(id).status(200).named(id)
		s.check(s.walk(collection(id)).has(id), "the collection at the scope has it", "it has not")
		s.check(!s.walk(collection(s.id)).has(id), "the collection at another scope has it not", "it has")
		s.get(beside(s.id, nameOf(id))).refused(404)
		s.remove(id).status(200)
		s.get(id).refused(404)
	}
	return []Case{
		{
			ID: "extension/on-a-resource", Profile: Extensions, Section: designing, On: on,
			Rule: "an extension resource can hang on a resource, and is found there alone",
			Run: func(s *Scene) {
				host := s.Description.host()
				id := s.group + "/providers/" + host.FullName() + "/another"
				s.put(id, s.body(host)).status(201)
				scoped(s, id)
			},
		},
		{
			ID: "extension/on-a-group", Profile: Extensions, Section: designing, On: on,
			Rule: "an extension resource can hang on a group, and is found there alone",
			Run:  func(s *Scene) { scoped(s, s.group) },
		},
		{
			ID: "extension/on-a-subscription", Profile: Extensions, Section: designing, On: on,
			Rule: "an extension resource can hang on a subscription, and is found there alone",
			Run:  func(s *Scene) { scoped(s, "/subscriptions/"+s.Adapter.Subscription) },
		},
	}
}
