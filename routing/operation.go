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
	if err := rt.subscription(ctx, r, p, &d); errors.As(err, &fault) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	err := rt.record(ctx, r, p, &d)
	return d.Operation != nil, err
}

// record finds the operation that was recorded by the request's URL. Its path may
// be that of a resource of the map too: the record counts for who began the
// operation, and to all others the path is what it was.
func (rt *Router) record(ctx context.Context, r *Request, p access.Principal, d *Decision) error {
	if !r.Pollable() {
		return nil
	}
	p = p.In(d.Subscription.TenantID)
	record, err := rt.Index.OperationOf(ctx, d.Subscription.ID, PollToken(r.Path.String(), r.Query), p.TenantID, p.ObjectID)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if r.Type != nil && (!record.BelongsTo(p.TenantID, p.ObjectID) || arm.EqualFold(record.Origin, r.Path.Escaped())) {
		return nil
	}
	r.Class, d.Operation = Poll, &record
	return nil
}
