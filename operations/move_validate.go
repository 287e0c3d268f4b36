package operations

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/inventory"
	"portico/upstream"
)

// MoveValidation is the kind of work that asks providers whether they would move
// resources, which changes nothing. The contract knows no such call: a provider
// without one has no objection.
type MoveValidation struct{ *Moving }

// Run asks all providers, one after the other.
func (k MoveValidation) Run(ctx context.Context, h *Held) (Verdict, error) {
	p, err := ReadMove(h.Job)
	if err != nil {
		return Verdict{End: inventory.JobFailed}, err
	}
	if h.Job.State == inventory.JobCancelling {
		return k.end(p, inventory.JobCancelled, arm.NewError(arm.OperationCanceled, "").Saying("The validation of the move was canceled."), nil)
	}
	all, err := k.toMove(ctx, &p)
	if err != nil {
		return Verdict{}, err
	}
	var groups [2]inventory.Group
	for i, name := range [...]inventory.GroupName{p.Source, p.Target} {
		groups[i], err = k.Asker.Store.Group(ctx, name.Subscription, name.Name)
		switch {
		case errors.Is(err, inventory.ErrNotFound):
			return k.end(p, inventory.JobFailed, arm.NewError(arm.ResourceGroupNotFound, name.Name), nil)
		case err != nil:
			return Verdict{}, err
		}
	}
	var refused []leftover
	for _, c := range planMove(all) {
		if c.Namespace == "" {
			for _, m := range c.Members {
				refused = append(refused, leftover{Target: m.ID, Message: m.Error})
			}
			continue
		}
		said, err := k.validate(ctx, &p, c, groups[0], groups[1], h.Job.Created.Add(k.Limit))
		if err != nil {
			return Verdict{}, err
		}
		switch said.result {
		case moveDone:
			continue
		case moveRefused:
		default: // it said nothing: again, as long as there is patience
			if k.Asker.Store.Time().Sub(h.Job.Created) < k.Budget {
				return Verdict{Again: max(k.Floor, min(said.after, longestAsked))}, nil
			}
		}
		for _, typ := range c.types() {
			refused = append(refused, leftover{Target: typ, Message: said.text})
		}
	}
	if len(refused) == 0 {
		p.Progress = MoveProgress{Total: len(all)}
		return k.end(p, inventory.JobDone, nil, nil)
	}
	p.Progress = MoveProgress{Total: len(all), Failed: len(refused)}
	at := k.Asker.Store.Time().UTC().Format("20060102T150405Z")
	fault := arm.NewError(arm.ResourceMoveProviderValidationFailed, at, p.Source.Subscription, uuid.UUID(h.Job.ID).String(), p.Correlation)
	return k.end(p, inventory.JobFailed, fault, refused)
}

func (k MoveValidation) end(p MovePayload, state inventory.JobState, fault *arm.Error, refused []leftover) (Verdict, error) {
	p.Ended = k.Asker.Store.Time()
	if fault != nil {
		p.Fault = faultBody(fault, refused)
	}
	return Verdict{End: state, Payload: p.String()}, nil
}

// types are those of the members of a call, each once.
func (c *MovingCall) types() (names []string) {
	for _, m := range c.Members {
		if !slices.Contains(names, m.Type) {
			names = append(names, m.Type)
		}
	}
	return names
}

// validate asks one provider in one region, and follows it to the end, or until
// a time.
func (k MoveValidation) validate(ctx context.Context, p *MovePayload, c *MovingCall, from, to inventory.Group, until time.Time) (moveSaid, error) {
	q, endpoint, err := moveTarget(k.Asker, c, from, "validateMoveResources")
	if err != nil {
		return moveSaid{result: moveRefused, text: errorText(string(arm.NoRegisteredProviderFound), err.Error())}, nil
	}
	var ids []string
	for _, m := range c.Members {
		ids = append(ids, m.ID)
	}
	header := p.header(k.Asker, k.Region)
	header.Set("Content-Type", "application/json; charset=utf-8")
	response, err := k.Asker.Upstream.Do(ctx, upstream.Call{
		Endpoint: endpoint, Method: http.MethodPost, Path: q.Path.Escaped(), Query: q.Query.Raw, Header: header, Content: moveContent(to, ids),
	})
	if err != nil {
		return unansweredMove(err, c), ctx.Err()
	}
	defer response.Body.Close()
	body, err := upstream.ReadAll(response.Header, response.Body, 1<<20)
	if err != nil {
		return unansweredMove(err, c), ctx.Err()
	}
	after, _ := upstream.RetryAfter(response.Header, time.Now())
	said := moveSaid{result: moveResultOf(response.StatusCode), after: after, text: textOf(response.StatusCode, body)}
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		said.result = moveDone // it has no such call
	case http.StatusAccepted:
		return k.follow(ctx, p, c, PollOf(response, k.Asker.Public, endpoint, p.Caller), until)
	}
	return said, nil
}

// follow polls a validation that was accepted. One that has not ended by a time,
// or whose region does not say by then, counts as refused.
func (k MoveValidation) follow(ctx context.Context, p *MovePayload, c *MovingCall, poll *inventory.Poll, until time.Time) (moveSaid, error) {
	if poll == nil { // nobody can tell what it thinks
		return moveSaid{result: moveDone}, nil
	}
	c.Poll = &MovingPoll{Path: poll.Path, Query: poll.Query, Status: poll.Status}
	_, endpoint, err := k.Asker.Target(c.row(c.Members[0], p.Source.Subscription))
	if err != nil {
		return moveSaid{}, err
	}
	for pause := poll.RetryAfter; ; {
		left := until.Sub(k.Asker.Store.Time())
		if left <= 0 {
			return moveSaid{result: moveRefused, text: errorText("ResourceMoveTimeout", "The provider did not end its validation within the allowed time.")}, nil
		}
		if err := stay(ctx, min(left, max(k.Floor, min(pause, longestWait)))); err != nil {
			return moveSaid{}, err
		}
		said := pollMove(ctx, k.Asker, c, endpoint, p.header(k.Asker, k.Region))
		switch said.result {
		case moveAccepted, moveNotSent:
			if said.poll != nil {
				c.Poll = said.poll
			}
			pause = said.after
		case moveOver:
			said.result = moveDone
			if said.text != "" {
				said.result = moveRefused
			}
			return said, nil
		default: // it was lost
			return moveSaid{result: moveNotSent, text: errorText("OperationNotFound", "The provider lost its validation.")}, nil
		}
	}
}
