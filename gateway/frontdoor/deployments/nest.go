package deployments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/jobrow"
	"portico/jobs/deploy"
)

// Nesting begins nested deployments, as the store's Deployments do.
type Nesting interface {
	BeginNested(context.Context, deploymentrow.Nested) (created bool, err error)
}

// DryRunNesting checks nested deployments without beginning any: their parent is only planned.
type DryRunNesting struct{ *deploymentrow.Deployments }

// BeginNested implements [Nesting].
func (t DryRunNesting) BeginNested(ctx context.Context, b deploymentrow.Nested) (created bool, err error) {
	return t.TryNested(ctx, b)
}

// beginNested begins a nested deployment. The content is its record for clients: the
// parent has evaluated its template, and sends its resources.
func (d Deployments) beginNested(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	n := nameOf(x)
	var record deploy.Stored
	if err := json.Unmarshal(req.Content, &record); err != nil {
		return fmt.Errorf("read the order of a nested deployment: %w", err)
	}
	if fault := checkName(n.Name); fault != nil {
		return fault
	}
	if err := d.Locations.Check(r.Context(), n, arm.Location(record.Location)); err != nil {
		return err
	}
	created, err := d.Nesting.BeginNested(r.Context(), deploymentrow.Nested{
		Name: n, ID: x.Request.Path.String(), Parent: *x.Parent, Record: req.Content, History: d.History,
	})
	switch {
	case errors.Is(err, jobrow.ErrLeaseLost), errors.Is(err, inventory.ErrNotFound): // another process continues the parent, or it is deleted
		return arm.NewError(arm.Conflict).WithMessage("The deployment '%s' does not run here any more.", x.Parent.Name.Name)
	case err != nil:
		return d.refusal(r.Context(), x, n, err)
	}
	return x.Answer(w, route.StatusOf(created), record.Record)
}
