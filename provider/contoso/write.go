package contoso

import (
	"encoding/json"
	"maps"
	"net/http"
	"portico/provider/contoso/fault"
)

// put creates or replaces a resource (resource reference, Put Resource).
func (p *Provider) put(c *call, t *resourceType) (answer, error) {
	body, condition, err := p.desired(c, t)
	if err != nil {
		return answer{}, err
	}
	stale := p.hesitate(c)
	return p.transact(func(x *tx) (answer, error) {
		w, err := p.evaluatePut(c, x, t, wanted{body, condition}, stale(x.resourceAt(c.address)))
		if err != nil {
			return answer{}, err
		}
		if w.current != nil && w.current.Operation != "" && x.breaks[repeatedPut500] {
			return answer{}, errBroken
		}
		return p.carryOut(c, x, t, w)
	})
}

// wanted is the content of a PUT.
type wanted struct {
	body      object
	condition precondition
}

// evaluatePut returns the effect of a PUT on the current resource, or an error if
// it is refused. It changes nothing.
func (p *Provider) evaluatePut(c *call, x *tx, t *resourceType, w wanted, current *resource) (writing, error) {
	if err := x.mayWrite(c, t); err != nil {
		return writing{}, err
	}
	if err := w.condition.allows(current); err != nil {
		return writing{}, err
	}
	if beingDeleted(current) {
		return writing{}, fail(http.StatusConflict, "ResourceBeingDeleted", "The resource '%s' is being deleted.", c.address.id())
	}
	if current != nil && x.breaks[putExisting409] {
		return writing{}, fail(http.StatusConflict, "ResourceAlreadyExists", "The resource '%s' already exists.", current.ID)
	}
	next, children, err := p.replacement(c, x, t, w.body, current)
	return writing{current, next, children}, err
}

// patch updates a resource (resource reference, Patch Resource).
func (p *Provider) patch(c *call, t *resourceType) (answer, error) {
	body, condition, err := p.desired(c, t)
	if err != nil {
		return answer{}, err
	}
	return p.transact(func(x *tx) (answer, error) {
		if err := x.mayWrite(c, t); err != nil {
			return answer{}, err
		}
		current, err := x.findResource(c.address, t)
		if err != nil {
			return answer{}, err
		}
		if err := condition.allows(current); err != nil {
			return answer{}, err
		}
		if current.Operation != "" {
			return answer{}, fail(http.StatusConflict, "AnotherOperationInProgress", "Another operation on the resource '%s' is in progress.", current.ID)
		}
		next, children, err := p.patched(c, x, t, body, current)
		if err != nil {
			return answer{}, err
		}
		return p.carryOut(c, x, t, writing{current, next, children})
	})
}

// desired reads the body and the preconditions of a PUT or PATCH. For a
// composite resource it also creates the parts.
func (p *Provider) desired(c *call, t *resourceType) (object, precondition, error) {
	body, err := c.object()
	if err != nil {
		return nil, precondition{}, err
	}
	condition, err := c.preconditions()
	if err != nil {
		return nil, condition, err
	}
	body, err = p.compose(c, t, condition, body)
	return body, condition, err
}

// remove deletes a resource and all below it (resource reference, Delete
// Resource).
func (p *Provider) remove(c *call, t *resourceType) (answer, error) {
	condition, err := c.preconditions()
	if err != nil {
		return answer{}, err
	}
	if err := p.decompose(c, t, condition); err != nil {
		return answer{}, err
	}
	defer p.hesitateToDelete(c)()
	return p.transact(func(x *tx) (answer, error) {
		if err := x.permits(c); err != nil {
			return answer{}, err
		}
		key := c.address.key()
		current := x.resourceAt(c.address)
		if current == nil && x.breaks[deleteAbsent404] {
			return answer{}, resourceNotFound(c.address)
		}
		if current == nil && c.fault.Name == fault.Overlook {
			return overlooked(c)
		}
		if current == nil {
			x.overtake(key) // it will never appear
			return emptyAnswer(http.StatusNoContent), nil
		}
		if err := condition.allows(current); err != nil {
			return answer{}, err
		}
		if err := x.mayDelete(t, current); err != nil {
			return answer{}, err
		}
		if beingDeleted(current) && x.breaks[repeatedDelete500] {
			return answer{}, errBroken
		}
		if c.order.mode == modeSynchronous {
			if c.order.outcome != stateSucceeded {
				return answer{}, outcomeFailure(c.order.outcome)
			}
			x.dropResource(key)
			return emptyAnswer(http.StatusOK), nil
		}
		o, links, err := p.beginOperation(c, x, deleteOperation, stateDeleting, c.address)
		if err != nil {
			return answer{}, err
		}
		o.Result = &result{Status: http.StatusOK}
		if o.Unshown {
			return answer{status: http.StatusAccepted, header: links}, nil
		}
		x.overtake(key)
		x.put(current.inState(stateDeleting, o.ID))
		return answer{status: http.StatusAccepted, header: links}, nil
	})
}

// writing is the effect of a PUT or PATCH. current is nil if there was no resource.
type writing struct {
	current, next *resource
	children      []*resource // the children of a deep insert
}

// carryOut stores the next resource, at once or by an operation.
func (p *Provider) carryOut(c *call, x *tx, t *resourceType, w writing) (answer, error) {
	key := w.next.key()
	next, err := x.withChildren(w.next, t, w.children)
	if err != nil {
		return answer{}, err
	}
	status, running := http.StatusOK, stateUpdating
	if w.current == nil {
		status, running = http.StatusCreated, stateCreating
	}
	if t.free {
		status = t.writeStyle().status(w.current)
	}
	if c.order.mode == modeSynchronous {
		if c.order.outcome != stateSucceeded {
			return answer{}, outcomeFailure(c.order.outcome)
		}
		x.overtake(key)
		next = next.inState(stateSucceeded, "")
		x.put(next)
		x.insert(w.children)
		return next.answer(status, c.etags), nil
	}
	o, links, err := p.beginOperation(c, x, writeOperation, running, c.address)
	if err != nil {
		return answer{}, err
	}
	o.Result = &result{Status: status}
	o.Previous, o.Children = x.lastSettled(w.current), w.children
	x.overtake(key)
	accepted := c.order.accepted(c.method)
	unshown := w.current != nil && c.fault.Name == fault.Unshown && c.order.mode != modeNoURL
	if accepted && (unshown || w.current == nil && !c.breaks[async202Visible]) {
		o.Hidden = next
		return answer{status: http.StatusAccepted, header: links}, nil
	}
	if !accepted && c.breaks[asyncPutTerminalAtOnce] {
		running = stateSucceeded
	}
	next = next.inState(running, o.ID)
	x.put(next)
	if accepted {
		return answer{status: http.StatusAccepted, header: links}, nil
	}
	a := next.answer(status, c.etags)
	maps.Copy(a.header, links)
	return a, nil
}

// overtake ends earlier writes of the resource that still run: the latest write wins.
func (t *tx) overtake(key string) {
	t.cancel(func(o *operation) bool { return o.Kind == writeOperation && o.Key == key })
}

// lastSettled returns the resource before the write that is running.
func (t *tx) lastSettled(r *resource) *resource {
	if r == nil || r.Operation == "" {
		return r
	}
	return t.operation(r.Operation).Previous
}

// mayWrite checks the conditions that do not depend on the resource itself.
func (t *tx) mayWrite(c *call, kind *resourceType) error {
	if err := t.permits(c); err != nil {
		return err
	}
	if err := t.checkParent(c.address, kind); err != nil {
		return err
	}
	if parent, ok := c.address.instanceAbove(); ok && beingDeleted(t.resource(parent.key())) {
		return fail(http.StatusConflict, "ParentResourceBeingDeleted", "The parent resource '%s' is being deleted.", parent.name())
	}
	return nil
}

func beingDeleted(r *resource) bool { return r != nil && r.State == stateDeleting }

// mergeSystemData overlays the stored systemData with the front door's, so
// that a header without the members about the creation does not remove them.
func mergeSystemData(kept json.RawMessage, header string) (json.RawMessage, error) {
	if header == "" {
		return kept, nil
	}
	var sent, old object
	if json.Unmarshal([]byte(header), &sent) != nil {
		return nil, badRequest("InvalidSystemData", "The header x-ms-arm-resource-system-data must be a JSON object.")
	}
	if kept != nil {
		if err := json.Unmarshal(kept, &old); err != nil {
			return nil, err
		}
	}
	for _, m := range sent {
		old = old.with(m.key, m.value)
	}
	return old.bytes(), nil
}
