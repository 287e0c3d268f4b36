package contoso

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Deep insert (addendum, Designing Resources): a member of a parent's properties may
// hold proxy-only children, each {name, properties}. The named children are created or
// replaced together with the parent; one without properties is left as it is, or created
// empty; other children stay. The parent shows all of its children in the same form.

// deepInsert removes the children from a parent's properties. It returns the
// remaining properties, and the children to write.
func (p *Provider) deepInsert(c *call, x *tx, t *resourceType, properties object) (object, []*resource, error) {
	if t.deep == "" {
		return properties, nil, nil
	}
	rest := properties.without(t.deep)
	v, given := properties.present(t.deep)
	if !given {
		return rest, nil, nil
	}
	var entries []object
	if json.Unmarshal(v, &entries) != nil {
		return nil, nil, invalidContent("The member 'properties.%s' must be an array of objects with name and properties.", t.deep)
	}
	kind, _ := p.catalog.lookup(t.namespace, t.path+"/"+t.deep)
	children := []*resource{}
	for _, entry := range entries {
		child, err := insertedChild(c, x, kind, t.deep, entry)
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(children, func(r *resource) bool { return r.key() == child.key() }) {
			return nil, nil, invalidContent("The member 'properties.%s' names '%s' twice.", t.deep, child.Name)
		}
		children = append(children, child)
	}
	return rest, children, nil
}

func insertedChild(c *call, x *tx, kind *resourceType, deep string, entry object) (*resource, error) {
	name, err := entry.text("name")
	if err != nil || !validName(name) {
		return nil, invalidContent("Each element of 'properties.%s' must have a name, one that is valid for a resource.", deep)
	}
	properties, err := entry.object("properties")
	if err != nil {
		return nil, err
	}
	a := c.address.child(deep, name)
	current := x.resource(a.key())
	if beingDeleted(current) {
		return nil, fail(http.StatusConflict, "ResourceBeingDeleted", "The resource '%s' is being deleted.", a.id())
	}
	if err := x.checkState(properties, current); err != nil {
		return nil, err
	}
	next := &resource{}
	if current != nil {
		kept := *current
		next = &kept
	}
	if _, given := entry.present("properties"); given || current == nil {
		next.Members, next.Properties = object{}, properties
	}
	err = next.complete(c, a, kind)
	return next.inState(stateSucceeded, ""), err
}

// insert writes the children of a deep insert.
func (t *tx) insert(children []*resource) {
	for _, r := range children {
		t.overtake(r.key())
		t.put(r)
	}
}

// relist updates the deep-inserted children that parents show, after the
// transaction's change. A parent with a running operation shows the target
// state, and is updated when the operation ends.
func (t *tx) relist() error {
	parents := map[string]*resourceType{}
	for key, r := range t.change.Resources {
		if r == nil {
			r = t.resources[key]
		}
		if r == nil {
			continue
		}
		for _, kind := range t.catalog {
			switch {
			case kind.deep == "":
			case r.Type == kind.name():
				parents[key] = kind
			case r.Type == kind.name()+"/"+kind.deep:
				parents[key[:strings.LastIndex(key, "/"+fold(kind.deep)+"/")]] = kind
			}
		}
	}
	for key, kind := range parents {
		r := t.resource(key)
		if r == nil || r.Operation != "" {
			continue
		}
		next, err := t.withChildren(r, kind, nil)
		if err != nil {
			return err
		}
		if !bytes.Equal(next.Children, r.Children) {
			t.put(next)
		}
	}
	return nil
}

// withChildren returns the parent with its children, including the new ones.
func (t *tx) withChildren(parent *resource, kind *resourceType, coming []*resource) (*resource, error) {
	if kind.deep == "" {
		return parent, nil
	}
	prefix := parent.key() + "/" + fold(kind.deep) + "/"
	held := map[string]*resource{}
	for _, k := range t.keysBelow(prefix, "") {
		held[k] = t.resource(k)
	}
	for k, r := range t.change.Resources {
		if strings.HasPrefix(k, prefix) {
			held[k] = r
		}
	}
	for _, r := range coming {
		held[r.key()] = r
	}
	var keys []string
	for k, r := range held {
		if r != nil && r.Type == kind.name()+"/"+kind.deep {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	next := *parent
	if next.Children = nil; len(keys) > 0 {
		list := []object{}
		for _, k := range keys {
			list = append(list, object{{"name", encode(held[k].Name)}, {"properties", held[k].Properties.bytes()}})
		}
		next.Children = object{{kind.deep, encode(list)}}.bytes()
	}
	err := next.tag(t.breaks)
	return &next, err
}
