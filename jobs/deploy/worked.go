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

// worked is what was worked out of a deployment, and is the same for each attempt at it. How
// far its steps are is recorded, and no part of it.
type worked struct {
	order   Order // without its content
	input   template.Input
	planned *template.Plan
	steps   []step       // with those of nested deployments that have begun
	room    atomic.Int64 // how many resources more the deployment may have
	known   known
	// registrations are the namespaces that are known to be registered.
	registrations sync.Map
	memory        *limits.Reservation // of the answers that are known or held
}

// workOut reads the order of a job, and works its template out.
func (d *Deployer) workOut(ctx context.Context, job jobrow.Job) (*worked, error) {
	o, err := d.orderOf(ctx, job)
	if err != nil {
		return nil, err
	}
	d.metrics.expansions.Inc()
	w := &worked{order: o, memory: d.Memory.Reservation(o.CallerName, d.MemoryLimit)}
	p, in, faults, err := w.order.Expand(ctx)
	if err != nil {
		return nil, fmt.Errorf("work out the template of a deployment: %w", err)
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("the template of a deployment that was accepted: %w", faults[0])
	}
	w.order.Content, w.planned, w.input = nil, p, in
	w.input.Allowance = new(template.Allowance)
	w.room.Store(template.MaxResources - size(p))
	w.steps = stepsOf(p, 0, outermost)
	w.known.note(w.order.ID(), p)
	return w, nil
}

// documentCost is how many bytes a document takes for each of those of its values: it keeps
// their places, and each value twice.
const documentCost = 4

// bytes estimates what it takes. Values that share parts count them twice.
func (w *worked) bytes() int64 {
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
