package deployments

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"portico/access"
	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/jobs/deploy"
	"portico/jobs/deploy/secret"
	"portico/template"
	"portico/template/expr"
)

const readGroup = "Microsoft.Resources/subscriptions/resourceGroups/read"

// Orders reads deployment requests. A PUT and its what-if expand the same template to the
// same resources.
type Orders struct {
	// Caller returns a request's caller in the form for the sender of its steps.
	Caller func(*http.Request, *exchange.Exchange) (json.RawMessage, error)
	// May returns an error if a caller may not do an action at an ID.
	May func(ctx context.Context, who access.Principal, action, id string) error
	// Locations checks the locations of the deployment and of those nested in it.
	Locations Locations
	// Environment is the value of environment().
	Environment json.RawMessage
}

// proposal is a deployment that a client sent, as it was read and expanded.
type proposal struct {
	*template.Plan
	order   *deploy.Order
	content *Content
	record  deploy.Stored
	text    []byte // the record as it is stored
}

// plan expands a client's request, and refuses one that no deployment may be: with a
// faulty template, an unknown location, a namespace that its caller may not register, or
// a record that is too large.
func (d Orders) plan(r *http.Request, x *exchange.Exchange, req route.Request) (*proposal, error) {
	n := nameOf(x)
	o, content, err := d.readOrder(r, x, req, n.Name)
	if err != nil {
		return nil, err
	}
	if err := d.Locations.Check(r.Context(), n, o.Location); err != nil {
		return nil, err
	}
	p, _, faults, err := o.Plan(r.Context(), content.Template, content.Arguments)
	if err != nil {
		return nil, err
	}
	if p != nil {
		x.Mask = func(fault *arm.Error) *arm.Error { return secret.In(p.Secrets...).Error(fault) }
	}
	if len(faults) > 0 {
		return nil, deploy.Refusal(faults)
	}
	proposed := &proposal{Plan: p, order: o, content: content, record: o.Record(content.Template, p)}
	if proposed.text, err = proposed.record.Text(); err != nil {
		return nil, err
	}
	return proposed, d.checkRegistrations(r.Context(), x, n.Name, p.Resources, o.ValidationLevel)
}

// readOrder reads a client's request. If the caller may not read the group,
// resourceGroup() has only what the request itself contains.
func (d Orders) readOrder(r *http.Request, x *exchange.Exchange, req route.Request, name string) (*deploy.Order, *Content, error) {
	scope := expr.Scope{Tenant: req.Subscription.TenantID, Subscription: req.Subscription.ID, Group: req.Group.Name}
	content, fault := Read(req.Content, name, scope)
	if fault != nil {
		return nil, nil, fault
	}
	o := &deploy.Order{
		CallerName: x.Caller(), Content: req.Content, Name: name, Scope: scope,
		Complete: content.Complete, Location: content.Location, Tags: content.Tags, Settings: content.Settings,
		Environment: d.Environment, Correlation: x.Identity.Correlation, Now: d.Locations.Store.Now().UTC(),
	}
	_, _ = rand.Read(o.Seed[:]) // it never fails
	var err error
	if o.Caller, err = d.Caller(r, x); err != nil {
		return nil, nil, err
	}
	o.Deployer, _ = json.Marshal(deployerValue(x, scope.Tenant)) // strings always marshal
	o.Subscription, _ = json.Marshal(map[string]string{"id": "/subscriptions/" + req.Subscription.ID, "subscriptionId": req.Subscription.ID,
		"tenantId": req.Subscription.TenantID, "displayName": req.Subscription.DisplayName})
	if scope.Group == "" {
		return o, content, nil
	}
	err = d.May(r.Context(), x.Principal, readGroup, scope.ID())
	_, refused := errors.AsType[*arm.Error](err)
	if err != nil && !refused {
		return nil, nil, err
	}
	o.Group, _ = json.Marshal(groupValue(scope.ID(), &req.Group, !refused)) // strings always marshal
	return o, content, nil
}

// deployerValue returns the value of deployer() for the caller of a request. As in ARM,
// applications have no userPrincipalName.
func deployerValue(x *exchange.Exchange, tenant string) map[string]string {
	p := x.Principal.In(tenant)
	of := map[string]string{"objectId": p.ObjectID, "tenantId": p.TenantID}
	if name := p.UserPrincipalName(); name != "" {
		of["userPrincipalName"] = name
	}
	return of
}

// groupValue returns the value of resourceGroup().
func groupValue(id string, g *inventory.Group, readable bool) map[string]any {
	of := map[string]any{"id": id, "name": g.Name, "type": "Microsoft.Resources/resourceGroups"}
	if !readable {
		return of
	}
	of["location"], of["tags"], of["properties"] = g.Location, g.Tags, map[string]string{"provisioningState": "Succeeded"}
	if g.Tags == nil {
		of["tags"] = map[string]string{}
	}
	if g.ManagedBy != "" {
		of["managedBy"] = g.ManagedBy
	}
	return of
}
