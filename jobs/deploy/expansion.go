package deploy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"portico/inventory/jobrow"
	"portico/limits"
	"portico/template"
)

// expansion is the expansion of a deployment, which is the same for each attempt. It does not include
// the states of the steps, which are recorded.
type expansion struct {
	order   Order // without its content
	input   template.Input
	planned *template.Plan
	steps   []step       // including the steps of nested deployments that have begun
	room    atomic.Int64 // the number of resources that may still be added
	known   known
	// registrations has the namespaces that are known to be registered.
	registrations sync.Map
	memory        *limits.Reservation // of the answers that are known or held
}

// expand reads the order of a job, and expands its template.
func (d *Deployer) expand(ctx context.Context, job jobrow.Job) (*expansion, error) {
	o, err := d.orderOf(ctx, job)
	if err != nil {
		return nil, err
	}
	d.metrics.expansions.Inc()
	w := &expansion{order: o, memory: d.Memory.Reservation(o.CallerName, d.MemoryLimit)}
	p, in, faults, err := w.order.Expand(ctx)
	if err != nil {
		return nil, fmt.Errorf("work out the template of a deployment: %w", err)
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("the template of a deployment that was accepted: %w", faults[0])
	}
	w.order.Content, w.planned, w.input = nil, p, in
	w.input.Allowance = new(template.Allowance)
	w.room.Store(template.MaxResources - resourceCount(p))
	w.steps = stepsOf(p, 0, outermost)
	w.known.addPlan(w.order.ID(), p)
	return w, nil
}

// documentCost is the ratio of the bytes of a document to the bytes of its values: it keeps their
// places, and each value twice.
const documentCost = 4

// bytes estimates the memory that it takes. Shared parts of values count more than once.
func (w *expansion) bytes() int64 {
	n := documentCost * w.input.Template.Value.Size()
	for _, argument := range w.input.Arguments {
		n += documentCost * argument.Value.Size()
	}
	for i := range w.steps {
		if r := w.steps[i].resource; r != nil {
			n += r.Body.Size()
		}
	}
	return int64(n)
}
