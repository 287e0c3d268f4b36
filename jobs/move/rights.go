package move

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/jobs/move/moveplan"
	"portico/regions"
	"portico/routing"
	"portico/upstream/answers"
)

// Right is an action that the caller of a move needs at a scope.
type Right struct{ Action, Scope string }

// Rights returns the rights that a move, or its validation, requires of its caller: to
// move resources away from the source, to write the target, and to read the resources,
// because every reader of the target can read them afterwards.
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

// Authorizer checks whether a caller still has a right.
type Authorizer interface {
	CheckPrincipal(ctx context.Context, who access.Principal, action, scope string) error
}

// withdrawn returns why the caller of a move may no longer continue it; "" if it may.
func (k *Mover) withdrawn(ctx context.Context, p *Payload, validate bool) (string, error) {
	from, to, read := Rights(k.Prober.Map, validate, p.Source, p.Target, p.Resources)
	for _, right := range slices.Concat([]Right{from, to}, read) {
		err := k.Authorizer.CheckPrincipal(ctx, p.Caller, right.Action, right.Scope)
		if fault, refused := errors.AsType[*arm.Error](err); refused {
			return answers.FaultText(fault.Code, fault.Message), nil
		}
		if err != nil {
			return "", fmt.Errorf("ask whether the caller may still move: %w", err)
		}
	}
	return "", nil
}

// sends reports whether any of the tasks asks a provider to move something.
func sends(tasks []moveplan.Task) bool {
	return slices.ContainsFunc(tasks, func(t moveplan.Task) bool { return t.Action == moveplan.ActionSend })
}
