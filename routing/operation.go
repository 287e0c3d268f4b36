package routing

import (
	"context"
	"errors"
	"net/http"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/regions"
)

// Pollable reports whether the path may be one under which a provider has an
// operation polled, which it may call what it likes. What the index keeps, and
// what the front door answers itself, is never one.
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

// FindOperation reports whether a request that lacks some of the common arguments
// is a poll of an operation that the index knows by its URL, which need not have
// them. It is a Poll from then on.
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
	err := rt.record(ctx, r, p, &d)
	return d.Operation != nil, err
}

// record finds the operation that the request's URL is of. Its path may be that of
// a resource of the map too: the record counts for who began the operation, and to
// all others the path is what it was. Any other path of an operation exists for who
// began it alone, also by methods that are no poll.
func (rt *Router) record(ctx context.Context, r *Request, p access.Principal, d *Decision) error {
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
		return r.Unroutable() // there is no right to read at the tenant level
	}
	return nil
}

// recordedURL finds the operation that was recorded by the request's URL as it is
// spelled.
func (rt *Router) recordedURL(ctx context.Context, r *Request, p access.Principal, d *Decision) error {
	record, err := rt.Index.OperationFor(ctx, d.Subscription.ID, PollToken(r.Path.String(), r.Query), p.TenantID, p.ObjectID)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return nil
	case err != nil:
		return err
	case r.Type != nil && (!record.BelongsTo(p.TenantID, p.ObjectID) || arm.EqualFold(record.Origin, r.Path.Escaped())):
		return nil
	case record.UnknownOwner() && d.Subscription.ID == "": // of any tenant
		return nil
	}
	d.Operation = &record
	return nil
}

// ownOperation finds the caller's operation that the request's URL is of, however
// that is spelled; nil where there is none that serves the request. One that
// somebody else began does not exist, also where the caller began another whose URL
// differs in the query alone.
func (rt *Router) ownOperation(ctx context.Context, r *Request, p access.Principal, subscription string) (*inventory.Operation, error) {
	scopes := []string{subscription}
	if subscription != "" && r.operationID() != "" {
		scopes = append(scopes, "") // the provider may take it for one of the tenant
	}
	var own *inventory.Operation
	for _, scope := range scopes {
		record, others, err := rt.Index.OperationByIdentity(ctx, scope, r.OperationIdentity(), p.TenantID, p.ObjectID)
		switch {
		case errors.Is(err, inventory.ErrNotFound):
		case err != nil:
			return nil, err
		case others:
			return nil, r.Unroutable()
		case scope == subscription && !record.PollsAnotherURL() && (r.Location == "" || r.Location == record.Region):
			own = &record
		}
	}
	return own, nil
}
