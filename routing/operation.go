package routing

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/polls"
	"portico/regions"
)

// Pollable reports whether the path may be a polling URL of a provider, which may have
// any form. Paths of indexed resources and the front door's own routes never are.
func (r *Request) Pollable() bool {
	switch r.Class {
	case Poll:
		return true
	case Instance, Collection, Below, AtProvider, Located:
		return r.Provider != nil && r.Method == http.MethodGet && (r.Type == nil || r.Type.Kind != regions.Tracked)
	case Own, NoRoute:
	}
	return false
}

// FindOperation reports whether the request polls an operation that the index
// knows by its URL. Such a URL may lack some of the common arguments. If so,
// the request becomes a Poll.
func (rt *Router) FindOperation(ctx context.Context, r *Request, p access.Principal) (bool, error) {
	if r.Class == Poll || !r.Pollable() {
		return false, nil
	}
	var d Decision
	var fault *arm.Error
	if err := (&scopes{Router: rt}).checkSubscription(ctx, r, p, &d); errors.As(err, &fault) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	err := rt.findRecord(ctx, r, p, &d)
	return d.Operation != nil, err
}

// Began reports whether the request polls an operation that p started, which
// needs no other right. If so, the request becomes a Poll.
func (rt *Router) Began(ctx context.Context, r *Request, p access.Principal) (bool, error) {
	if !r.Pollable() {
		return false, nil
	}
	class := r.Class
	var d Decision
	err := (&scopes{Router: rt}).checkSubscription(ctx, r, p, &d)
	if err == nil {
		err = rt.findRecord(ctx, r, p, &d)
	}
	p = p.In(d.Subscription.TenantID)
	began := err == nil && d.Operation != nil && !d.Operation.UnknownOwner() && d.Operation.BelongsTo(p.TenantID, p.ObjectID)
	if !began {
		r.Class = class
	}
	if _, refused := errors.AsType[*arm.Error](err); refused {
		err = nil // there is no such operation for p
	}
	return began, err
}

// findRecord finds the operation with the request's URL. If the path also names a
// resource of the map, the record counts only for the caller that started the operation;
// for all others the path names the resource. Any other path of an operation exists only
// for the caller that started it, whatever the method.
func (rt *Router) findRecord(ctx context.Context, r *Request, p access.Principal, d *Decision) error {
	p = p.In(d.Subscription.TenantID)
	if r.Pollable() {
		if err := rt.recordedURL(ctx, r, p, d); err != nil {
			return err
		}
	}
	known := d.Operation
	switch {
	case known != nil && (!known.UnknownOwner() || r.Type != nil):
		r.Class = Poll
		return nil
	case r.operationID() == "" && !r.Pollable(), r.Type != nil, r.Provider == nil:
		return nil
	}
	own, err := rt.ownOperation(ctx, r, p, d.Subscription.ID)
	if err != nil {
		return err
	}
	switch {
	case known != nil:
		r.Class = Poll
	case own != nil && r.Class == Poll:
		d.Operation = own
	case d.Subscription.ID == "" && r.operationID() != "":
		return r.Unroutable() // no right to read applies at the tenant level
	}
	return nil
}

// recordedURL finds the operation recorded under exactly the request's URL.
func (rt *Router) recordedURL(ctx context.Context, r *Request, p access.Principal, d *Decision) error {
	record, err := rt.Index.OperationFor(ctx, d.Subscription.ID, PollToken(r.Path.String(), r.Query), p.TenantID, p.ObjectID)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read the record of a polling URL: %w", err)
	case r.Type != nil && (!record.BelongsTo(p.TenantID, p.ObjectID) || arm.EqualFold(record.Origin, r.Path.Escaped())):
		return nil
	case record.UnknownOwner() && d.Subscription.ID == "": // it could belong to any tenant
		return nil
	}
	d.Operation = &record
	return nil
}

// ownOperation finds the caller's operation with the request's URL, in any spelling; nil
// if none serves the request. Operations of other callers do not exist for this one,
// even if the caller started an operation whose URL differs only in the query.
func (rt *Router) ownOperation(ctx context.Context, r *Request, p access.Principal, subscription string) (*polls.Operation, error) {
	scopes := []string{subscription}
	if subscription != "" && r.operationID() != "" {
		scopes = append(scopes, "") // the provider may also serve it at the tenant level
	}
	var own *polls.Operation
	for _, scope := range scopes {
		record, others, err := rt.Index.OperationByIdentity(ctx, scope, r.OperationIdentity(), p.TenantID, p.ObjectID)
		switch {
		case errors.Is(err, inventory.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("read the record of an operation: %w", err)
		case others:
			return nil, r.Unroutable()
		case scope == subscription && !record.PollsAnotherURL() && (r.Location == "" || r.Location == record.Region):
			own = &record
		}
	}
	return own, nil
}
