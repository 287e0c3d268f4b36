package sweep

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"portico/inventory"
	"portico/probe"
)

// wouldAdopt returns the result that an adoption would have.
func (rs *regionSweep) wouldAdopt(ctx context.Context, seen inventory.Discovery) (inventory.AdoptResult, error) {
	row, err := rs.store.Resource(ctx, seen.Subscription, seen.ID)
	switch {
	case err == nil && row.Region == seen.Region:
		return inventory.Known, nil
	case err == nil:
		return inventory.Strayed, nil
	case !errors.Is(err, inventory.ErrNotFound):
		return 0, err
	}
	_, err = rs.store.Group(ctx, seen.Subscription, seen.Group)
	if errors.Is(err, inventory.ErrNotFound) {
		return inventory.NoGroup, nil
	}
	return inventory.Adopted, err
}

// wouldRemove probes a row's resource, and records the result only in the report.
func (ts *typeSweep) wouldRemove(ctx context.Context, row inventory.Resource) error {
	q, endpoint, err := ts.Prober.Target(row)
	if err == nil {
		answer, failure := ts.Prober.Read(ctx, ts.header(), endpoint, q.Path.Escaped(), q.Query.Raw)
		switch err = failure; {
		case failure != nil:
		case answer.Status == http.StatusNotFound:
			ts.updateReport(func(r *Report) { r.MissingResources.add(row.ID) })
		default:
			err = probe.CheckShown(answer)
		}
	}
	if err != nil && ctx.Err() == nil {
		ts.addFailure(ts.sub, ts.typ.FullName, row.Region, fmt.Errorf("a resource that was not listed could not be asked for: %w", err))
	}
	return ctx.Err()
}
