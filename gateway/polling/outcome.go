package polling

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/polls"
	"portico/jobs/move"
)

// outcome is the outcome of an operation that its resource shows.
type outcome struct {
	ended bool
	state string // terminal, or a state of the provider's own
	fault *arm.Error
}

func failedOutcome(state, format string, args ...any) outcome {
	fault := &arm.Error{Status: http.StatusConflict, Code: "ResourceOperationFailure"}
	return outcome{ended: true, state: state, fault: fault.WithMessage(format, args...)}
}

// The terminal states of operations (async reference, Azure-AsyncOperation Resource
// format).
const (
	stateSucceeded  = "Succeeded"
	stateFailed     = "Failed"
	stateCanceled   = "Canceled"
	stateInProgress = "InProgress"
)

// outcomeByResource derives the outcome of a PUT, PATCH or DELETE from its resource
// (async reference, ProvisioningState property).
func (p *poll) outcomeByResource(o polls.Operation, answer *http.Response, found bool) (outcome, error) {
	row, err := inventory.Resource{}, inventory.ErrNotFound
	if o.Resource != "" {
		if row, err = p.Store.Resource(p.r.Context(), o.Subscription, o.Resource); err != nil && !errors.Is(err, inventory.ErrNotFound) {
			return outcome{}, fmt.Errorf("read the row of an operation's resource: %w", err)
		}
	}
	known := err == nil
	if known && !found && answer != nil && p.mayExist(o) {
		return outcome{state: stateInProgress}, nil // the 404 may hide it from this caller
	}
	if !found {
		return p.outcomeOfAbsence(o, known && row.FollowPut), nil
	}
	text, err := p.Buffer(answer, o.Namespace, o.Region)
	if err != nil {
		return outcome{}, err
	}
	report, _ := inventory.ReadDetails(text)
	state, deleted := report.State(), o.Method == http.MethodDelete
	switch {
	case !report.Readable():
		return outcome{state: stateInProgress}, nil // the answer shows no resource
	case deleted && known && (row.Region != o.Region || row.Created.After(o.Created)):
		return outcome{ended: true, state: stateSucceeded}, nil // it has been recreated
	case deleted && state == "", !report.Ended():
		return outcome{state: stateInProgress}, nil
	case deleted:
		return failedOutcome(stateFailed, "The resource operation completed with terminal provisioning state '%s': the resource was not deleted.", state), nil
	case index.Successful(state):
		return outcome{ended: true, state: stateSucceeded}, nil
	case index.Canceled(state):
		return failedOutcome(stateCanceled, "The resource operation completed with terminal provisioning state '%s'.", state), nil
	}
	return failedOutcome(stateFailed, "The resource operation completed with terminal provisioning state '%s'.", state), nil
}

// mayExist reports whether the resource of an operation may exist although its caller got
// a 404.
func (p *poll) mayExist(o polls.Operation) bool {
	prober, header := p.Resolver.ProberFor(p.x)
	there, err := prober.VerifyAbsence(p.r.Context(), header, o.Subscription, o.Resource)
	if err != nil {
		p.x.Warn("could not confirm whether the resource of an operation exists", err)
	}
	return there || err != nil
}

// outcomeOfAbsence returns the outcome of an operation whose resource was not found: a
// resource that is being created need not show before the operation ends.
func (f *Forwarded) outcomeOfAbsence(o polls.Operation, followed bool) outcome {
	switch o.Method {
	case http.MethodDelete:
		return outcome{ended: true, state: stateSucceeded}
	case http.MethodPut:
		if followed || o.Resource == "" && f.Store.Now().Sub(o.Created) < f.Config.Index.FollowLimit {
			return outcome{state: stateInProgress}
		}
	}
	return failedOutcome(stateFailed, "The resource operation has ended, and the resource '%s' does not exist.", o.Origin)
}

// unknownOutcome returns the answer to a poll of an action with an unknown outcome. No
// terminal state would be true, and clients retry most errors of a poll for ever, but
// none retries a 501.
func unknownOutcome(namespace string) *arm.Error {
	return arm.NewError(arm.InternalServerError).WithStatus(http.StatusNotImplemented).
		WithMessage("The outcome of the operation is unknown: there is nothing at the provider '%s' that tells of it.", namespace)
}

// withCurrentNames returns an operation with the current names of its resource, which may
// have moved to another group since the operation was accepted.
func (f *Forwarded) withCurrentNames(ctx context.Context, o polls.Operation) (polls.Operation, error) {
	if o.Resource == "" {
		return o, nil
	}
	row, err := f.Store.Resource(ctx, o.Subscription, o.Resource)
	if err == nil && !row.Created.After(o.Created) || err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return o, err
	}
	for since := o.Created; ; {
		moves, err := f.Store.Moves.From(ctx, o.Resource)
		if err != nil {
			return o, fmt.Errorf("read the moves of a resource: %w", err)
		}
		left := false
		for _, job := range moves {
			payload, err := move.ReadPayload(job)
			if err != nil {
				return o, fmt.Errorf("read the job of a move: %w", err)
			}
			moved, with := payload.Moved(inventory.Resource{Key: o.Resource, ID: o.Origin})
			if before := !payload.Ended.IsZero() && payload.Ended.Before(since); with && !before {
				o.Subscription, o.Resource, o.Origin = moved.Subscription, moved.Key, moved.ID
				left, since = true, payload.Ended
				break
			}
		}
		if !left || since.IsZero() { // a move in progress is the last one
			return o, nil
		}
	}
}
