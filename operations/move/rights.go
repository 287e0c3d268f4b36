package move

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/operations/move/plan"
	"portico/regions"
	"portico/routing"
	"portico/upstream/answers"
)

// Right is an action that the caller of a move has to be allowed at a scope.
type Right struct{ Action, Scope string }

// Rights are what the caller of a move, or of its validation, needs: to move resources
// away from the source, to write the target, and to read what moves, as whoever may read
// the target can do so afterwards.
func Rights(m *regions.Map, validate bool, source, target inventory.GroupName, resources []string) (from, to Right, read []Right) {
	const group = "Microsoft.Resources/subscriptions/resourceGroups/"
	from = Right{group + "moveResources/action", routing.GroupID(source.Subscription, source.Name)}
	if validate {
		from.Action = group + "validateMoveResources/action"
	}
	to = Right{group + "write", routing.GroupID(target.Subscription, target.Name)}
	for _, id := range resources {
		if q, fault := routing.ClassifyID(m, http.MethodGet, id); fault == nil {
			read = append(read, Right{q.Action(), q.Scope()})
		}
	}
	return from, to, read
}

// Authorizer tells whether a caller may still do something.
type Authorizer interface {
	MayStill(ctx context.Context, who access.Principal, action, scope string) error
}

// withdrawn returns why the caller of a move may not have it go on; "" where it may.
func (k *Mover) withdrawn(ctx context.Context, p *Payload, validate bool) (string, error) {
	from, to, read := Rights(k.Prober.Map, validate, p.Source, p.Target, p.Resources)
	for _, right := range slices.Concat([]Right{from, to}, read) {
		err := k.Authorizer.MayStill(ctx, p.Caller, right.Action, right.Scope)
		if fault, refused := errors.AsType[*arm.Error](err); refused {
			return answers.FaultText(fault.Code, fault.Message), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// sends reports whether one of the tasks tells a provider to move something.
func sends(tasks []plan.Task) bool {
	return slices.ContainsFunc(tasks, func(t plan.Task) bool { return t.Step == plan.StepSend })
}
