package preflight

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/proxy"
	"portico/inventory"
	"portico/inventory/index"
	"portico/regions"
	"portico/routing"
)

// PlannedResources holds the resources of a call that passed, for judging the later ones. It belongs to one
// call.
type PlannedResources struct {
	resources map[string]inventory.Resource // by their keys
	// The resource that is judged now: its key, whether it is a deployment within another
	// one, and the unknown values in its body.
	key     string
	nested  bool
	unknown unknowns
	// created has the keys of resources, with true if the index does not have the resource.
	created map[string]bool
	roles   []string // the GUIDs of role definitions
	// SeesNoLocks: PUTs are judged as if there were no locks, because their caller may not be
	// allowed to know of them.
	SeesNoLocks bool
	// registers: the registrations that the resources need are assumed to exist.
	registers bool
}

// judge judges a resource, and adds it to the plan if it passes.
func (p *PlannedResources) judge(ctx context.Context, r *Resource, judge Judge) (Verdict, error) {
	p.key, p.nested = arm.Fold(r.ID), r.Nested
	verdict, err := judge(ctx, r.Path+"?api-version="+url.QueryEscape(r.APIVersion), r.Body)
	if r.Above && verdict.Fault != nil && verdict.Fault.Status == http.StatusConflict && verdict.Fault.Code != arm.ScopeLocked {
		verdict.Fault = nil // the conflict is with another resource at the scope
	}
	if err != nil || verdict.Fault != nil {
		return verdict, err
	}
	if arm.EqualFold(r.Type, "Microsoft.Authorization/roleDefinitions") {
		p.roles = append(p.roles, arm.Fold(r.Name))
	}
	if d, t := verdict.Decision, verdict.Request.Type; d != nil && (d.Region != "" || p.Pending("location")) && t != nil && t.Kind == regions.Tracked {
		if p.resources == nil {
			p.resources, p.created = map[string]inventory.Resource{}, map[string]bool{}
		}
		p.created[p.key] = d.Row == nil
		p.resources[p.key] = inventory.Resource{
			Subscription: d.Subscription.ID, Key: p.key, ID: r.ID, Group: d.Group.Key, Type: t.Key, TypeName: t.FullName, Region: d.Region,
			Location: d.Location,
		}
	}
	return verdict, nil
}

// StripUnknown returns the body of the resource that is judged without its unknown values, and
// records these.
func (p *PlannedResources) StripUnknown(body []byte) []byte {
	p.unknown = nil
	return p.unknown.strip(body, "", 0)
}

// Origin returns the origin of the PUT that is judged.
func (p *PlannedResources) Origin() exchange.Origin {
	if p.nested {
		return exchange.OriginNested
	}
	return exchange.OriginClient
}

// Pending reports whether a member of the body that is judged is not known yet.
func (p *PlannedResources) Pending(member string) bool { return slices.Contains(p.unknown, member) }

// Excuses reports whether a refusal is about an unknown value of the body that is judged, or
// about a missing role definition that the plan creates.
func (p *PlannedResources) Excuses(fault *arm.Error) bool {
	return p.unknown.overlap(fault.Target) || slices.ContainsFunc(p.roles, func(role string) bool {
		return fault.Code == arm.RoleDefinitionDoesNotExist && fault.Message == arm.NewError(arm.RoleDefinitionDoesNotExist, role).Message
	})
}

// Intents returns an implementation that checks the plan's writes and records no intents.
func (p *PlannedResources) Intents(store *inventory.Store) proxy.Intents { return intents{store, p} }

type intents struct {
	store *inventory.Store
	plan  *PlannedResources
}

func (i intents) Begin(ctx context.Context, w inventory.Write) (inventory.Ticket, error) {
	return i.Try(ctx, w)
}

func (i intents) Try(ctx context.Context, w inventory.Write) (inventory.Ticket, error) {
	w.Namespace = "" // the overlay checks registrations
	return i.store.TryPlanned(ctx, w, inventory.Planned{Created: i.plan.createdBefore(&w), Unlocked: i.plan.SeesNoLocks})
}

// createdBefore returns the number of new resources of the write's type in its group that the
// plan has so far.
func (p *PlannedResources) createdBefore(w *inventory.Write) (n int) {
	for key, planned := range p.resources {
		if p.created[key] && key != p.key && planned.Subscription == w.Subscription && planned.Group == w.Group && planned.Type == w.Type {
			n++
		}
	}
	return n
}

// registered returns a registration as it will be when the resources are created.
func (p *PlannedResources) registered(r inventory.Registration) inventory.Registration {
	if p.registers && !r.State.Permits() {
		r.State, r.Locations = inventory.Registered, nil
	}
	return r
}

// Overlay returns an index in which the plan's resources exist, and all missing groups.
func (p *PlannedResources) Overlay(real routing.Index) routing.Index { return overlay{real, p} }

// overlay is an index with the plan's resources.
type overlay struct {
	routing.Index
	*PlannedResources
}

func (o overlay) Group(ctx context.Context, subscription, name string) (inventory.Group, error) {
	found, err := o.Index.Group(ctx, subscription, name)
	if errors.Is(err, inventory.ErrNotFound) {
		return plannedGroup(subscription, name), nil
	}
	return found, err
}

func (o overlay) Registration(ctx context.Context, subscription, namespace string) (inventory.Registration, error) {
	found, err := o.Index.Registration(ctx, subscription, namespace)
	return o.registered(found), err
}

func (o overlay) Resource(ctx context.Context, subscription, key string) (inventory.Resource, error) {
	found, err := o.Index.Resource(ctx, subscription, key)
	if planned, is := o.resources[key]; is && key != o.key && errors.Is(err, inventory.ErrNotFound) {
		return planned, nil
	}
	return found, err
}

func (o overlay) Target(ctx context.Context, q inventory.TargetQuery) (inventory.Target, error) {
	t, err := o.Index.Target(ctx, q)
	if err != nil {
		return t, err
	}
	if o.SeesNoLocks {
		t.Locks = nil
	}
	if t.Group == nil && q.Group != "" {
		group := plannedGroup(q.Subscription, q.Group)
		t.Group = &group
	}
	t.Registration = o.registered(t.Registration)
	if planned, is := o.resources[q.Key]; is && t.Row == nil && q.Key != o.key {
		t.Row = &planned
	}
	return t, nil
}

func plannedGroup(subscription, name string) inventory.Group {
	return inventory.Group{Subscription: arm.Fold(subscription), Name: name, Key: arm.Fold(name), State: index.GroupActive}
}

// planMayCreate reports whether a PUT is refused because something is missing that the plan may
// create: its group, its parent, or the resource that it extends.
func planMayCreate(fault *arm.Error) bool {
	switch fault.Code {
	case arm.ResourceGroupNotFound, arm.ParentResourceNotFound, arm.ResourceNotFound:
		return fault.Status == http.StatusNotFound
	}
	return false
}
