package move

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/move/moveplan"
	"portico/upstream"
	"portico/upstream/answers"
)

// Validator asks providers whether they would move resources; nothing is moved. The contract does
// not require this call: a provider without it does not object.
type Validator struct{ Mover *Mover }

// Caller implements [jobs.Commissioned].
func (k Validator) Caller(ctx context.Context, job jobrow.Job) (string, error) {
	return k.Mover.Caller(ctx, job)
}

// Describe implements [jobs.Kind]. A validation holds up nothing.
func (k Validator) Describe() jobs.Description {
	return jobs.Description{
		Cancellable: true, AfterRestore: jobs.Cancelled, Limit: k.Mover.Limit, LimitSetting: "move.limit",
		Problems: jobs.Problems{Subject: "The validation of a move"},
		Show: func(j jobrow.Job) jobs.ProgressReport {
			s := show(j)
			s.Outcome = ""
			return s
		},
	}
}

// Run asks all providers, one after the other.
func (k Validator) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	p, err := ReadPayload(claim.Job)
	if err != nil {
		return jobs.Result{End: jobrow.Failed}, err
	}
	if claim.Job.State == jobrow.Cancelling {
		return k.end(p, jobrow.Cancelled, arm.NewError(arm.OperationCanceled, "").WithMessage("The validation of the move was canceled."), nil)
	}
	switch reason, err := k.Mover.withdrawn(ctx, &p, true); {
	case err != nil:
		return jobs.Result{}, err
	case reason != "":
		p.Progress = moveplan.Summary{Total: len(p.Resources), Failed: len(p.Resources)}
		fault := arm.NewError(arm.ResourceMoveFailed, len(p.Resources), len(p.Resources), p.Target.Name, p.Correlation)
		return k.end(p, jobrow.Failed, fault, []answers.Detail{{Target: p.Source.Name, Message: reason}})
	}
	all, err := k.Mover.candidates(ctx, &p)
	if err != nil {
		return jobs.Result{}, err
	}
	var groups [2]inventory.Group
	for i, name := range [...]inventory.GroupName{p.Source, p.Target} {
		groups[i], err = k.Mover.Prober.Store.Group(ctx, name.Subscription, name.Name)
		switch {
		case errors.Is(err, inventory.ErrNotFound):
			return k.end(p, jobrow.Failed, arm.NewError(arm.ResourceGroupNotFound, name.Name), nil)
		case err != nil:
			return jobs.Result{}, fmt.Errorf("read a group of a validation: %w", err)
		}
	}
	refused, open, err := k.validateAll(ctx, &p, all, groups, claim.Job.Created)
	switch {
	case err != nil:
		return jobs.Result{}, err
	case open != nil:
		return jobs.Result{Again: max(k.Mover.Floor, open.After)}, nil
	}
	if len(refused) == 0 {
		p.Progress = moveplan.Summary{Total: len(all)}
		return k.end(p, jobrow.Done, nil, nil)
	}
	p.Progress = moveplan.Summary{Total: len(all), Failed: len(refused)}
	at := k.Mover.Prober.Store.Now().UTC().Format("20060102T150405Z")
	fault := arm.NewError(arm.ResourceMoveProviderValidationFailed, at, p.Source.Subscription, uuid.UUID(claim.Job.ID).String(), p.Correlation)
	return k.end(p, jobrow.Failed, fault, refused)
}

// validateAll asks all providers about a job's resources, and returns their refusals. open is the
// result of a provider that did not answer and is to be asked again; nil if all have answered.
func (k Validator) validateAll(
	ctx context.Context, p *Payload, all []moveplan.Candidate, groups [2]inventory.Group, created time.Time,
) (refused []answers.Detail, open *moveplan.Result, err error) {
	for _, c := range moveplan.CallsFor(all) {
		if c.Namespace == "" {
			for _, m := range c.Resources {
				refused = append(refused, answers.Detail{Target: m.ID, Message: m.Error})
			}
			continue
		}
		result, err := k.validate(ctx, p, c, groups[0], groups[1], created.Add(k.Mover.Limit))
		if err != nil {
			return nil, nil, err
		}
		switch result.Outcome {
		case moveplan.OutcomeMoved:
			continue
		case moveplan.OutcomeRefused:
		default: // no answer: tried again while patience lasts
			if k.Mover.Prober.Store.Now().Sub(created) < k.Mover.Budget {
				return nil, &result, nil
			}
		}
		for _, typ := range c.Types() {
			refused = append(refused, answers.Detail{Target: typ, Message: result.Text})
		}
	}
	return refused, nil, nil
}

func (k Validator) end(p Payload, state jobrow.State, fault *arm.Error, refused []answers.Detail) (jobs.Result, error) {
	p.Ended = k.Mover.Prober.Store.Now()
	if fault != nil {
		p.Fault = answers.FaultBody(fault, refused)
	}
	return jobs.Result{End: state, Payload: p.String()}, nil
}

// validate asks one provider in one region, and follows the operation to its end, or
// until a time.
func (k Validator) validate(ctx context.Context, p *Payload, c *moveplan.Call, from, to inventory.Group, until time.Time) (moveplan.Result, error) {
	q, endpoint, err := k.Mover.targetOf(c, from, "validateMoveResources")
	if err != nil {
		return moveplan.Result{Outcome: moveplan.OutcomeRefused, Text: answers.FaultText(arm.NoRegisteredProviderFound, err.Error())}, nil
	}
	var ids []string
	for _, m := range c.Resources {
		ids = append(ids, m.ID)
	}
	header := k.Mover.header(p)
	header.Set("Content-Type", "application/json; charset=utf-8")
	got, err := k.Mover.Prober.Upstream.Send(ctx, upstream.Call{
		Endpoint: endpoint, Method: http.MethodPost, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header, Content: contentOf(to, ids),
	})
	if err != nil {
		return unanswered(err, c), ctx.Err()
	}
	read := k.Mover.read(p, endpoint, got, nil)
	result := resultOf(read, got.Header)
	result.Text = answers.Text(got.Status, got.Body)
	switch got.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		result.Outcome = moveplan.OutcomeMoved // the provider has no such call
	case http.StatusAccepted:
		return k.follow(ctx, p, c, read.Poll, until)
	}
	return result, nil
}

// follow polls an accepted validation. If it has not ended by a time, it counts as
// refused.
func (k Validator) follow(ctx context.Context, p *Payload, c *moveplan.Call, poll *inventory.Poll, until time.Time) (moveplan.Result, error) {
	if poll == nil { // the validation cannot be followed
		return moveplan.Result{Outcome: moveplan.OutcomeMoved}, nil
	}
	c.Poll = &moveplan.Poll{Path: poll.Path, Query: poll.Query, Status: poll.Status}
	_, endpoint, err := k.Mover.Prober.Target(c.Row(c.Resources[0], p.Source.Subscription))
	if err != nil {
		return moveplan.Result{}, err
	}
	for pause := poll.RetryAfter; ; {
		left := until.Sub(k.Mover.Prober.Store.Now())
		if left <= 0 {
			return moveplan.Result{
				Outcome: moveplan.OutcomeRefused,
				Text:    answers.FaultText("ResourceMoveTimeout", "The provider did not end its validation within the allowed time."),
			}, nil
		}
		if err := timing.Sleep(ctx, min(left, max(k.Mover.Floor, min(pause, longestWait)))); err != nil {
			return moveplan.Result{}, err
		}
		result := k.Mover.pollCall(ctx, c, endpoint, p)
		switch result.Outcome {
		case moveplan.OutcomeAccepted, moveplan.OutcomeNotSent:
			if result.Poll != nil {
				c.Poll = result.Poll
			}
			pause = result.After
		case moveplan.OutcomeOver:
			result.Outcome = moveplan.OutcomeMoved
			if result.Text != "" {
				result.Outcome = moveplan.OutcomeRefused
			}
			return result, nil
		default: // it was lost
			return moveplan.Result{Outcome: moveplan.OutcomeNotSent, Text: answers.FaultText("OperationNotFound", "The provider lost its validation.")}, nil
		}
	}
}
