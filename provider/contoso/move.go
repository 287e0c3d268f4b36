package contoso

import (
	"bytes"
	"encoding/json"
	"net/http"
	"portico/provider/contoso/fault"
	"slices"
	"strings"
)

// Actions on a group that this endpoint serves (resource reference, Move Resource). The
// contract does not have the second, which reports whether the first would be refused.
const (
	moveAction         = "moveResources"
	validateMoveAction = "validateMoveResources"
)

// linkedTo is the property in which a resource names others, by id or a list
// of ids: within a group, linked resources move together or not at all.
const linkedTo = "linkedTo"

const (
	moveOperation = "move"
	stateMoving   = "Moving"
)

// moveOrder is a requested move.
type moveOrder struct {
	Group      string          `json:"group"`  // the id of the source group
	Target     string          `json:"target"` // the id of the target group
	IDs        []string        `json:"ids"`
	SystemData json.RawMessage `json:"systemData,omitempty"`
	Half       bool            `json:"half,omitempty"`  // it stops in the middle
	Moves      string          `json:"moves,omitempty"` // what is done instead while the answer claims success
}

// move moves resources, with everything below them, to another group.
func (p *Provider) move(c *call) (answer, error) {
	if c.method != http.MethodPost {
		return answer{}, notAllowed(http.MethodPost)
	}
	if err := p.checkVersion(c); err != nil {
		return answer{}, err
	}
	order, on, err := p.moveOrder(c)
	if err != nil {
		return answer{}, err
	}
	return p.transact(func(x *tx) (answer, error) {
		if err := x.mayMove(c, order); err != nil {
			return x.refusedMove(order, err)
		}
		validates := same(c.address.action, validateMoveAction)
		if c.order.mode == modeSynchronous {
			switch {
			case c.order.outcome != stateSucceeded:
				return answer{}, outcomeFailure(c.order.outcome)
			case validates:
				return emptyAnswer(http.StatusNoContent), nil
			}
			if err := x.relocate(order); err != nil || !order.Half {
				return p.breaks.moved(order), err
			}
			a := failed(fail(http.StatusInternalServerError, "MoveBrokeOff", "The move broke off in the middle as asked."))
			return a, nil
		}
		o, links, err := p.beginOperation(c, x, moveOperation, stateMoving, on)
		if err != nil {
			return answer{}, err
		}
		o.Result = &result{Status: http.StatusOK}
		if !validates {
			o.Move = order
			for _, id := range order.IDs {
				x.put(x.resource(fold(id)).inState(stateMoving, o.ID))
			}
		}
		if p.breaks[moveNoLocation] {
			links.Del("Location")
		}
		return answer{status: http.StatusAccepted, header: links}, nil
	})
}

// moveOrder reads the resources and the target of a move. on is the first of
// the resources.
func (p *Provider) moveOrder(c *call) (order *moveOrder, on address, err error) {
	body, err := c.object()
	if err != nil {
		return nil, on, err
	}
	var sent struct {
		Target    string   `json:"targetResourceGroup"`
		Resources []string `json:"resources"`
	}
	if err := json.Unmarshal(body.bytes(), &sent); err != nil || len(sent.Resources) == 0 {
		return nil, on, invalidContent("The members 'targetResourceGroup' and 'resources' are required, an id and a list of ids.")
	}
	group := "/" + strings.Join(c.address.segments[:4], "/")
	to, err := addressOf(sent.Target)
	if err != nil || to.group == "" || len(to.segments) != 4 || same(sent.Target, group) {
		return nil, on, badRequest("InvalidTargetResourceGroup", "The target '%s' is not the id of another resource group.", sent.Target)
	}
	if p.breaks[moveKeepsSubscription] {
		to.subscription = c.address.subscription
	}
	order = &moveOrder{
		Group: group, Target: "/subscriptions/" + to.subscription + "/resourceGroups/" + to.group, IDs: sent.Resources,
		Half: c.fault.Name == fault.Halfway, Moves: c.fault.Moves,
	}
	if text := c.header.Get("x-ms-arm-resource-system-data"); text != "" {
		if !json.Valid([]byte(text)) {
			return nil, on, badRequest("InvalidSystemData", "The header x-ms-arm-resource-system-data must be a JSON object.")
		}
		order.SystemData = json.RawMessage(text)
	}
	for i, id := range sent.Resources {
		a, err := addressOf(id)
		if err != nil {
			return nil, on, err
		}
		t, err := p.served(a)
		if err != nil {
			return nil, on, err
		}
		if !a.isInstance() || t.nested() || t.kind != tracked || !strings.HasPrefix(a.key(), fold(group)+"/") {
			return nil, on, badRequest("ResourceNotMovable", "The resource '%s' is no top-level resource of the group '%s'.", id, group)
		}
		if i == 0 {
			on = a
		}
	}
	return order, on, nil
}

// mayMove checks a move against the present resources.
func (t *tx) mayMove(c *call, order *moveOrder) error {
	moving := map[string]bool{}
	for _, id := range order.IDs {
		moving[fold(id)] = true
	}
	var missing []errorDetail
	for _, id := range order.IDs {
		a, err := addressOf(id)
		if err != nil {
			return err
		}
		r := t.resourceAt(a)
		if r == nil && t.breaks[moveAbsentSkipped] {
			continue
		}
		if r == nil {
			return resourceNotFound(a)
		}
		if err := t.permits(&call{method: c.method, address: a}); err != nil {
			return err
		}
		if r.Operation != "" {
			return fail(http.StatusConflict, "AnotherOperationInProgress", "Another operation on the resource '%s' is in progress.", r.ID)
		}
		if t.resource(fold(order.placeOf(r.ID))) != nil {
			return fail(http.StatusConflict, "ResourceAlreadyExists", "The resource '%s' already exists.", order.placeOf(r.ID))
		}
		for _, other := range t.linkedWith(r, fold(order.Group)+"/") {
			if !moving[fold(other)] && !slices.ContainsFunc(missing, func(d errorDetail) bool { return same(d.Target, other) }) {
				missing = append(missing, errorDetail{
					Code: "MissingMoveDependentResources", Message: "The resource '" + other + "' is linked with '" + r.ID + "'.", Target: other,
				})
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	f := badRequest("MissingMoveDependentResources",
		"The move resources request does not contain all the dependent resources. Please check error details for missing resource ids.")
	f.details = missing
	return f
}

// linkedWith returns the resources of a group that a resource names, or that name it.
func (t *tx) linkedWith(r *resource, group string) (ids []string) {
	for _, id := range r.links() {
		if other := t.resource(fold(id)); other != nil && strings.HasPrefix(fold(id), group) {
			ids = append(ids, other.ID)
		}
	}
	for _, key := range t.keysBelow(group, "") {
		other := t.resource(key)
		if other != nil && slices.ContainsFunc(other.links(), func(id string) bool { return fold(id) == r.key() }) {
			ids = append(ids, other.ID)
		}
	}
	return ids
}

func (r *resource) links() (ids []string) {
	text, given := r.Properties.present(linkedTo)
	if !given {
		return nil
	}
	if json.Unmarshal(text, &ids) != nil {
		var id string
		if json.Unmarshal(text, &id) == nil && id != "" {
			ids = []string{id}
		}
	}
	return ids
}

// placeOf returns the id in the target group that replaces one in the source group.
func (o *moveOrder) placeOf(id string) string { return o.Target + id[len(o.Group):] }

// relocate moves those resources of a move that exist.
func (t *tx) relocate(o *moveOrder) error {
	ids := o.IDs
	switch {
	case o.Half, o.Moves == fault.MovesHalf:
		ids = ids[:len(ids)/2]
	case t.breaks[moveFirstAlone]:
		ids = ids[:1]
	case o.Moves == fault.MovesNone:
		ids = nil
	}
	for _, id := range ids {
		if t.resource(fold(id)) == nil || t.resource(fold(o.placeOf(id))) != nil {
			continue
		}
		for _, key := range append([]string{fold(id)}, t.keysBelow(fold(id)+"/", "")...) {
			if err := t.relocateOne(o, key); err != nil {
				return err
			}
			if t.breaks[moveLeavesChildren] {
				break
			}
		}
	}
	return nil
}

func (t *tx) relocateOne(o *moveOrder, key string) error {
	r := t.resource(key)
	if r == nil {
		return nil
	}
	next := *r
	next.ID = o.placeOf(r.ID)
	a, err := addressOf(next.ID)
	if err != nil {
		return err
	}
	next.Scope = a.scopeKey()
	if next.State == stateMoving {
		next.State, next.Operation = stateSucceeded, ""
	}
	for _, id := range r.links() { // the ids of resources that it names change too
		text, _ := next.Properties.present(linkedTo)
		next.Properties = next.Properties.with(linkedTo, bytes.ReplaceAll(text, encode(id), encode(o.placeOf(id))))
	}
	if next.SystemData, err = mergeSystemData(r.SystemData, string(o.SystemData)); err != nil {
		return err
	}
	if err := next.tag(t.breaks); err != nil {
		return err
	}
	if !t.breaks[moveCopies] {
		t.setResource(key, nil)
	}
	if o.Moves != fault.MovesAway {
		t.put(&next)
	}
	return nil
}

// finishMove ends the operation of a move.
func (t *tx) finishMove(o, done *operation) error {
	for _, id := range o.Move.IDs {
		if r := t.resource(fold(id)); r != nil && r.Operation == o.ID {
			t.put(r.inState(stateSucceeded, ""))
		}
	}
	if done.Error != nil {
		return nil
	}
	return t.relocate(o.Move)
}
