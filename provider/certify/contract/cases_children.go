package contract

import (
	"net/http"
	"strings"
)

func isNested(t *Type) bool { return t.nested() && writable(t) }

// children returns the types nested directly in the given type.
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
	cascades := func(t *Type) bool { return isNested(t) && writable(t.parent) && t.parent.DeletionPolicy != "refuse" }
	return []Case{
		{
			ID: "child/of-a-parent-that-is-not-there", Profile: Nested, Section: nested, On: isNested,
			Rule:    "a nested resource needs its parent: without it, it cannot be read or created",
			Through: "if the parent is tracked, the gateway answers ParentResourceNotFound or ResourceNotFound",
			Run: func(s *Scene) {
				parent := collection(collection(s.id))
				orphan := sibling(parent, "absent") + "/" + s.Type.last() + "/" + nameOf(s.id)
				s.put(orphan, s.body(s.Type)).refused()
				s.get(orphan).gone()
			},
		},
		{
			ID: "child/parents-are-apart", Profile: Nested, Section: nested, On: func(t *Type) bool { return isNested(t) && writable(t.parent) },
			Rule: "a parent shows only its own children",
			Run: func(s *Scene) {
				s.created()
				other := sibling(collection(collection(s.id)), "other")
				s.create(other, s.body(s.Type.parent))
				twin := other + "/" + s.Type.last() + "/" + nameOf(s.id)
				s.get(twin).gone()
				s.create(twin, s.body(s.Type))
				s.removed(twin)
				s.get(s.id).status(200)
			},
		},
		{
			ID: "child/goes-with-its-parent", Profile: Nested, Section: designing, On: cascades,
			Rule: "a nested resource is deleted when its parent is; it does not come back with a new one",
			Run: func(s *Scene) {
				parent := collection(collection(s.id))
				s.created()
				a := s.remove(parent)
				if a.Status >= 400 && a.Status < 500 {
					s.leaveOut("the provider refuses to delete a resource with nested ones")
				}
				s.prepare(func() { s.settled(a.done(), parent) })
				s.get(s.id).gone()
				a = s.put(parent, s.body(s.Type.parent))
				if a.Status == http.StatusConflict {
					s.leaveOut("the provider reserves the name of a deleted resource")
				}
				s.settled(a.done(), parent)
				s.get(s.id).gone()
			},
		},
		{
			ID: "child/goes-with-its-parents-asynchronous-delete", Profile: Nested, Section: designing, On: cascades,
			Rule: "a nested resource is deleted when its parent is, also if the parent's DELETE is answered with 202",
			Run: func(s *Scene) {
				parent := collection(collection(s.id))
				p := s.patterns(http.MethodDelete)[0]
				s.created()
				a := s.remove(parent, s.short(p))
				if a.Status != http.StatusAccepted {
					s.leaveOut("the provider did not answer 202")
				}
				s.settled(a, parent)
				s.get(s.id).gone()
			},
		},
		{
			ID: "child/keeps-its-parent", Profile: Nested, Section: groupDeletes,
			On:   func(t *Type) bool { return isNested(t) && writable(t.parent) && t.parent.DeletionPolicy != "cascade" },
			Rule: "a delete that is invalid until a related resource is deleted is 4xx, deletes nothing, and succeeds afterwards",
			Run: func(s *Scene) {
				parent := collection(collection(s.id))
				s.created()
				a := s.remove(parent)
				if a.Status < 300 && s.Type.parent.DeletionPolicy == "" {
					s.leaveOut("the provider deletes nested resources with their parent")
				}
				a.refused()
				s.get(s.id).status(200)
				s.get(parent).status(200)
				s.removed(s.id)
				s.remove(parent).done()
			},
		},
		{
			ID: "child/proxy-only-has-no-tags-and-no-location", Profile: Core, Section: designing,
			On:   func(t *Type) bool { return t.Kind != Tracked && writable(t) },
			Rule: "a resource that is not tracked has no location and no tags, and shows none even if they were sent",
			Run: func(s *Scene) {
				a := s.put(s.id, s.body(s.Type, Object{"tags": Object{"a": "b"}}))
				if a.Status >= 400 && a.Status < 500 {
					s.created()
				} else {
					s.prepare(func() { s.settled(a.done(), s.id) })
				}
				s.read(s.id).lacks("tags").lacks("location")
			},
		},
		{
			ID: "child/deep-insert", Profile: Nested, Section: designing, On: func(t *Type) bool { return t.Contract.DeepInsert != "" },
			Rule: "a proxy-only resource can be PUT with its parent in a single call, and then behaves like any other",
			Run: func(s *Scene) {
				name := s.Type.Contract.DeepInsert
				var child *Type
				for _, t := range s.Description.children(s.Type) {
					if strings.EqualFold(t.last(), name) {
						child = t
					}
				}
				if child == nil {
					s.leaveOut("the description has no child type " + name)
				}
				insert := func(names ...string) Object {
					elements := []any{}
					for _, n := range names {
						elements = append(elements, overlay(child.Contract.Body, Object{"name": n}))
					}
					properties, _ := s.Type.Contract.Body["properties"].(Object)
					return s.body(s.Type, Object{"properties": overlay(properties, Object{name: elements})})
				}
				s.settled(s.put(s.id, insert("one", "two")).done(), s.id)
				for _, n := range []string{"one", "two"} {
					s.get(s.id + "/" + child.last() + "/" + n).status(200).shows(child.Contract.Body)
				}
				s.check(len(s.listed(s.id+"/"+child.last()).items) == 2, "the collection of children has two", "it has not")
				shown, _ := lookup(s.read(s.id).doc, "properties."+name)
				for _, n := range []string{"one", "two"} {
					s.check(strings.Contains(show(shown), `"`+n+`"`), "the parent shows its child "+n, "%s", show(shown))
				}
			},
		},
	}
}

// extensionCases check extension resources, which can have any scope.
func extensionCases() []Case {
	on := func(t *Type) bool { return t.Kind == Extension && writable(t) }
	scoped := func(s *Scene, scope string) {
		id := scope + "/providers/" + s.Type.FullName() + "/" + s.Type.nameOf(scenes.Add(1))
		a := s.put(id, s.body(s.Type))
		if a.Status >= 400 && a.Status < 500 {
			s.leaveOut("the type cannot have this scope")
		}
		s.settled(a.done(), id)
		s.get(id).status(200).showsID(id).shows(s.body(s.Type))
		s.get(collection(s.id) + "/" + nameOf(id)).gone()
		s.removed(id)
		s.get(id).gone()
	}
	return []Case{
		{
			ID: "extension/on-a-resource", Profile: Extensions, Section: designing, On: on,
			Rule: "an extension resource can be created on a resource, and is found only there",
			Run: func(s *Scene) {
				host := s.Description.host()
				if host == nil {
					s.leaveOut("the description has no type that can have extensions")
				}
				id := s.group + "/providers/" + host.FullName() + "/" + host.nameOf(scenes.Add(1))
				s.create(id, s.body(host))
				scoped(s, id)
			},
		},
		{
			ID: "extension/on-a-group", Profile: Extensions, Section: designing, On: on,
			Rule: "an extension resource can be created on a group, and is found only there",
			Run: func(s *Scene) {
				if s.Description.host() == nil {
					s.leaveOut("the description has no other scope")
				}
				scoped(s, s.group)
			},
		},
		{
			ID: "extension/on-a-subscription", Profile: Extensions, Section: designing, On: on,
			Rule: "an extension resource can be created on a subscription, and is found only there",
			Run:  func(s *Scene) { scoped(s, "/subscriptions/"+s.Adapter.Subscription) },
		},
	}
}
