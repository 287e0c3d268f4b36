package contoso

import "net/http"

// get answers GET and HEAD of one resource (resource reference, Get Resource).
func (p *Provider) get(c *call, t *resourceType) (answer, error) {
	if a, weary := p.refuseBurst(c); weary {
		return a, nil
	}
	return p.transact(func(x *tx) (answer, error) {
		r, err := x.findResource(c.address, t)
		if err != nil {
			return answer{}, err
		}
		if noneMatch := parseTags(c.header.Values("If-None-Match")); c.etags && noneMatch.has(r) && !x.breaks[ifNoneMatchIgnored] {
			a := emptyAnswer(http.StatusNotModified)
			a.header.Set("ETag", r.ETag)
			return a, nil
		}
		return r.answer(http.StatusOK, c.etags), nil
	})
}

// findResource returns a resource that must exist.
func (t *tx) findResource(a address, kind *resourceType) (*resource, error) {
	if err := t.checkParent(a, kind); err != nil {
		return nil, err
	}
	r := t.resourceAt(a)
	if r == nil {
		return nil, resourceNotFound(a)
	}
	return r, nil
}

// parentNotFound is the code of the error about a missing parent.
const parentNotFound = "ParentResourceNotFound"

// checkParent refuses a resource below a parent that does not exist (addendum, Nested
// Resources).
func (t *tx) checkParent(a address, kind *resourceType) error {
	if !kind.nested() || t.breaks[childrenSurvive] {
		return nil
	}
	parent, _ := a.instanceAbove()
	if t.resource(parent.key()) == nil {
		return notFound(parentNotFound, "Can not perform requested operation on nested resource. Parent resource '%s' not found.", parent.name())
	}
	return nil
}
