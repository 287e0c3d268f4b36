package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/inventory/transaction"
	"portico/jobs/move"
	"portico/jobs/move/moveplan"
	"portico/regions"
	"portico/routing"
)

// mostMoved bounds the resources that one request can move (resource reference, Move
// Resource).
const mostMoved = 800

// moveRequest is what a client sends for a move.
type moveRequest struct {
	Target    *string   `json:"targetResourceGroup"`
	Resources *[]string `json:"resources"`
}

// Moves serves moves of resources to other groups.
type Moves struct {
	Store      *inventory.Store
	Authorizer *authorize.Authorizer
	Router     *routing.Router
	Resolver   *admission.Resolver
	Admission  *admission.Admission
	Polls      *polling.Operations
	Limit      time.Duration // on the time of one move
}

// Routes returns the routes that begin a move, or the validation of one. The inventory
// checks the locks of both sides, resource by resource.
func (g Moves) Routes() []route.Route {
	return []route.Route{
		{
			Method: http.MethodPost, Path: onePath + "/moveresources",
			Action: "Microsoft.Resources/subscriptions/resourceGroups/moveResources/action", IgnoresLocks: true, Handle: g.begin(false),
		},
		{
			Method: http.MethodPost, Path: onePath + "/validatemoveresources",
			Action: "Microsoft.Resources/subscriptions/resourceGroups/validateMoveResources/action", IgnoresLocks: true, Handle: g.begin(true),
		},
	}
}

type moveCheck struct {
	Moves
	x         *exchange.Exchange
	source    route.Request
	target    inventory.Subscription
	groupID   string // the target's, as the client wrote it
	group     string // its name
	resources []*routing.Request
	names     []string // the resources' IDs in the client's casing, in canonical form
}

// begin makes all checks of a move that the front door can make, and hands it to a job
// (resource reference, Move Resource).
func (g Moves) begin(validate bool) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
		m := &moveCheck{Moves: g, x: x, source: req}
		if fault := m.readRequest(req.Content); fault != nil {
			return fault
		}
		for _, check := range [...]func(context.Context) error{m.authorize(validate), m.checkTarget, m.checkResources, m.findUnknown} {
			if err := check(r.Context()); err != nil {
				return err
			}
		}
		if err := g.Admission.CheckOperation(r.Context(), x, &req.Subscription); err != nil {
			return err
		}
		id := uuid.NewString()
		job, err := g.Store.Moves.Begin(r.Context(), m.order(id, validate))
		if err != nil {
			return m.refusal(err)
		}
		return g.Polls.Accept(w, r, x, id, job, answerOf(w, x))
	}
}

func (m *moveCheck) order(id string, validate bool) inventory.MoveRequest {
	x := m.x
	method := "moveResources"
	if validate {
		method = "validateMoveResources"
	}
	operation := m.Polls.Record(x, m.source.Subscription, id)
	operation.Namespace, operation.Type, operation.Resource = namespace, "resourceGroups/"+method,
		routing.GroupID(m.source.Subscription.ID, m.source.Group.Name)
	if limit := m.Store.Now().Add(2 * m.Limit); operation.Until.Before(limit) {
		operation.Until = limit
	}
	order := inventory.MoveRequest{
		Source:   inventory.GroupName{Subscription: m.source.Subscription.ID, Name: m.source.Group.Name},
		Target:   inventory.GroupName{Subscription: m.target.ID, Name: m.group},
		Validate: validate, Namespaces: m.namespaces(),
		Payload: func(source, target inventory.Group) string {
			return move.Payload{
				Source:    inventory.GroupName{Subscription: source.Subscription, Name: source.Name},
				Target:    inventory.GroupName{Subscription: target.Subscription, Name: target.Name},
				Resources: m.names, Path: x.Request.Path.Escaped(), Query: x.Request.Query.Raw,
				Commission: commission(x, m.source.Subscription.TenantID),
				Started:    x.Started, Progress: moveplan.Summary{Total: len(m.names), Waiting: len(m.names)},
			}.String()
		},
		Operation: operation,
	}
	for _, q := range m.resources {
		order.Keys = append(order.Keys, q.Key())
	}
	return order
}

// readRequest reads and checks the content: the target is a group, and not the source;
// each resource is in the source. A resource that is named twice counts once.
func (m *moveCheck) readRequest(content []byte) *arm.Error {
	var sent moveRequest
	if len(content) == 0 {
		content = []byte("{}")
	}
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		return fault
	}
	switch {
	case sent.Target == nil:
		return missingMember("targetResourceGroup")
	case sent.Resources == nil:
		return missingMember("resources")
	case len(*sent.Resources) == 0:
		return arm.NewError(arm.InvalidRequestContent, "The resources are a list of at least one resource ID. Path 'resources'").WithTarget("resources")
	}
	to, fault := routing.ClassifyID(m.Router.Map, http.MethodGet, *sent.Target)
	name := ""
	if fault == nil {
		name = to.Path.Group()
	}
	if fault != nil || !isGroup(to) || !arm.ValidGroupName(name) {
		return arm.NewError(arm.LinkedInvalidPropertyID, *sent.Target, "targetResourceGroup").WithTarget("targetResourceGroup")
	}
	m.target.ID, m.group, m.groupID = arm.Fold(to.Path.Subscription()), name, *sent.Target
	source := arm.Fold(routing.GroupID(m.source.Subscription.ID, m.source.Group.Name))
	seen := map[string]bool{}
	for i, id := range *sent.Resources {
		q, fault := routing.ClassifyID(m.Router.Map, http.MethodGet, id)
		if fault != nil || q.CheckNames() != nil || q.Path.Hops() == 0 || q.Path.LastHop().Len()%2 != 0 || q.Path.LastHop().Len() == 0 {
			path := fmt.Sprintf("resources[%d]", i)
			return arm.NewError(arm.LinkedInvalidPropertyID, id, path).WithTarget(path)
		}
		if !strings.HasPrefix(q.Key(), source+"/") {
			return arm.NewError(arm.CannotMoveResource, fmt.Sprintf("the resource '%s' is not in the resource group '%s'", id, m.source.Group.Name)).WithTarget(id)
		}
		if !seen[q.Key()] {
			m.resources, m.names = append(m.resources, q), append(m.names, q.Path.String())
		}
		seen[q.Key()] = true
	}
	if arm.Fold(routing.GroupID(m.target.ID, m.group)) == source {
		return arm.NewError(arm.CannotMoveResource, "the target resource group is the source resource group").WithTarget(m.groupID)
	}
	return nil
}

func missingMember(name string) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, "Required property '"+name+"' not found in JSON. Path ''").WithTarget(name)
}

// isGroup reports whether a path is a group's in a subscription.
func isGroup(q *routing.Request) bool {
	_, below := q.Path.Own()
	return q.Path.Hops() == 0 && !below && q.Path.Group() != "" && arm.ValidGUID(q.Path.Subscription())
}

// authorize refuses a move if the caller lacks a right that it needs besides its right to
// the source, before an answer can reveal anything about the target.
func (m *moveCheck) authorize(validate bool) func(context.Context) error {
	return func(ctx context.Context) error {
		source := inventory.GroupName{Subscription: m.source.Subscription.ID, Name: m.source.Group.Name}
		from, to, read := move.Rights(m.Router.Map, validate, source, inventory.GroupName{Subscription: m.target.ID, Name: m.group}, m.names)
		for _, right := range read {
			if err := m.Authorizer.Check(ctx, m.x, right.Action, right.Scope); err != nil {
				return err
			}
		}
		err := m.Authorizer.Check(ctx, m.x, to.Action, to.Scope)
		if _, refused := errors.AsType[*arm.Error](err); refused {
			who := m.x.Principal
			return arm.NewError(arm.LinkedAuthorizationFailed, who.Signature(), who.ObjectID, from.Action, from.Scope, to.Action, m.groupID)
		}
		return err
	}
}

// checkTarget refuses a target that the contract does not allow: its group must exist and
// its subscription must be writable, of the same tenant and of the same placement.
// Another tenant's subscription is answered like one that does not exist, so that a move
// does not reveal which exist.
func (m *moveCheck) checkTarget(ctx context.Context) error {
	target, err := m.Store.Subscription(ctx, m.target.ID)
	switch {
	case errors.Is(err, inventory.ErrNotFound), err == nil && (target.State == inventory.Deleted || !m.sameTenant(target)):
		return arm.NewError(arm.SubscriptionNotFound, m.target.ID).WithStatus(http.StatusBadRequest).WithTarget(m.groupID)
	case err != nil:
		return fmt.Errorf("read the target subscription of a move: %w", err)
	case target.State == inventory.Warned || target.State == inventory.Disabled:
		return arm.NewError(arm.ReadOnlyDisabledSubscription, m.target.ID).WithStatus(http.StatusBadRequest).WithTarget(m.groupID)
	case !arm.EqualFold(target.PlacementID, m.source.Subscription.PlacementID):
		return arm.NewError(arm.CannotMoveResource,
			fmt.Sprintf("the subscription '%s' has other requirements for the location of its resources than the subscription '%s'",
				target.ID, m.source.Subscription.ID)).WithTarget(m.groupID)
	}
	m.target = target
	group, err := m.Store.Group(ctx, m.target.ID, m.group)
	if errors.Is(err, inventory.ErrNotFound) {
		return arm.NewError(arm.ResourceGroupNotFound, m.group).WithStatus(http.StatusBadRequest).WithTarget(m.groupID)
	}
	m.group = group.Name
	return err
}

func (m *moveCheck) sameTenant(target inventory.Subscription) bool {
	return arm.EqualFold(target.TenantID, m.source.Subscription.TenantID)
}

// namespaces returns the namespaces of the resources that need a registration.
func (m *moveCheck) namespaces() (required []string) {
	for _, q := range m.resources {
		if p := q.Provider; p.Registration == regions.Required && !slices.Contains(required, p.Key) {
			required = append(required, p.Key)
		}
	}
	return required
}

// checkResources refuses resources that cannot be moved, and too many of them.
func (m *moveCheck) checkResources(context.Context) error {
	for i, q := range m.resources {
		if q.Path.Hops() > 1 || q.Path.LastHop().Len() > 2 {
			return arm.NewError(arm.ResourceNotTopLevel, m.names[i]).WithTarget(m.names[i])
		}
	}
	var fixed []string
	for _, q := range m.resources {
		hop := q.Path.LastHop()
		name := hop.Namespace() + "/" + hop.Segment(0)
		if q.Type != nil {
			name = q.Type.FullName
		}
		if q.Type != nil && q.Type.Kind == regions.Tracked && q.Type.Capabilities.Move || slices.Contains(fixed, name) {
			continue
		}
		fixed = append(fixed, name)
	}
	if len(fixed) > 0 {
		return arm.NewError(arm.ResourceMoveValidationFailed, strings.Join(fixed, ",")).WithTarget(fixed[0])
	}
	if len(m.resources) > mostMoved {
		return arm.NewError(arm.CannotMoveResource,
			fmt.Sprintf("the request names %d of them, and at most %d can be moved with a single request", len(m.resources), mostMoved)).WithTarget("resources")
	}
	return nil
}

// findUnknown searches for resources that the index does not know yet. For the target,
// providers check what the index does not know.
func (m *moveCheck) findUnknown(ctx context.Context) error {
	for _, q := range m.resources {
		if m.source.Subscription.Covered {
			return nil
		}
		_, err := m.Resolver.Resolve(ctx, m.x, q, routing.Body{})
		var absent *arm.Error
		if err != nil && (!errors.As(err, &absent) || absent.Status != http.StatusNotFound) {
			return err
		}
	}
	return nil
}

// refusal converts the inventory's refusal of a move to ARM's.
func (m *moveCheck) refusal(err error) error {
	var refused *inventory.MoveError
	if !errors.As(err, &refused) {
		return fmt.Errorf("record a move: %w", err)
	}
	about := m.clientID(refused.Key)
	on := admission.Target{Subscription: m.source.Subscription.ID, Group: m.source.Group.Name}
	if refused.Target {
		on = admission.Target{Subscription: m.target.ID, Group: m.group}
		about = cmp.Or(about, m.groupID)
	}
	on.ID = cmp.Or(about, m.x.Request.Path.String())
	fault := on.Refusal(refused)
	if fault == nil {
		fault = m.moveFault(refused, about, on.Group)
	} else if fault.Code != arm.ScopeLocked {
		fault = fault.WithTarget(about)
	}
	if fault == nil {
		return err
	}
	if refused.Target && (fault.Status == http.StatusNotFound || fault.Code == arm.ReadOnlyDisabledSubscription) {
		fault = fault.WithStatus(http.StatusBadRequest)
	}
	return fault
}

// moveFault converts refusals that only moves have, or that have other texts for moves.
func (m *moveCheck) moveFault(refused *inventory.MoveError, about, group string) *arm.Error {
	var quota *transaction.QuotaError
	var registration *inventory.RegistrationStateError
	switch {
	case errors.As(refused, &registration):
		return m.notRegistered(refused, registration)
	case errors.As(refused, &quota):
		name := refused.Key
		if t := m.Router.Map.Type(refused.Key); t != nil {
			name = t.FullName
		}
		return arm.NewError(arm.ResourceQuotaExceeded, name, quota.Limit, quota.Current).WithTarget(name)
	case errors.Is(refused, inventory.ErrTargetOccupied):
		return arm.NewError(arm.RequestConflict, about, "the target resource group has a resource of this name and type").WithTarget(about)
	case errors.Is(refused, inventory.ErrNotFound):
		if i := slices.Index(m.names, about); i >= 0 {
			return m.resources[i].NotFound().WithTarget(about)
		}
		return arm.NewError(arm.ResourceNotFound, about, group).WithTarget(about)
	case errors.Is(refused, inventory.ErrChanged):
		return arm.NewError(arm.RequestConflict, about, "it is being deleted").WithTarget(about)
	}
	return nil
}

func (m *moveCheck) notRegistered(refused *inventory.MoveError, registration *inventory.RegistrationStateError) *arm.Error {
	sub := m.source.Subscription.ID
	if refused.Target {
		sub = m.target.ID
	}
	if t := m.Router.Map.Type(refused.Key); t != nil {
		return m.Router.TargetNotRegistered(sub, t.Provider, t, registration.State, registration.Region).WithStatus(http.StatusBadRequest)
	}
	for _, q := range m.resources {
		if q.Provider.Key == registration.Namespace {
			return m.Router.TargetNotRegistered(sub, q.Provider, nil, registration.State, "").WithStatus(http.StatusBadRequest)
		}
	}
	return nil
}

// clientID returns the ID of a key as the client wrote it, or the key.
func (m *moveCheck) clientID(key string) string {
	for i, q := range m.resources {
		if q.Key() == key {
			return m.names[i]
		}
	}
	return key
}
