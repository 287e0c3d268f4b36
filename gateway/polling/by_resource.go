package polling

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/inventory/polls"
	"portico/routing"
)

// answerTarget answers a poll of a substitute URL: by a call of its target at the
// endpoint that issued it or, if there is nothing left to call, by the resource that the
// operation worked on.
func (p *poll) answerTarget() error {
	target, ofStatus := p.d.Operation.Target, p.d.Operation.StatusTarget != ""
	if ofStatus {
		target = p.d.Operation.StatusTarget
	}
	if target != "" && p.d.Endpoint != nil {
		path, query, _ := strings.Cut(target, "?")
		answer, err := p.FetchPath(p.d, path, query)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		switch there := answer.StatusCode != http.StatusNotFound && answer.StatusCode != http.StatusGone; {
		case there && ofStatus:
			return p.answerByStatus(answer)
		case there:
			return p.deliverPolled(answer)
		}
	}
	return p.answerByResource()
}

// answerByResource answers a poll by the state of the resource, which proves nothing
// about an action.
func (p *poll) answerByResource() error {
	o := *p.d.Operation
	if o.Method == http.MethodPost {
		return unknownOutcome(o.Namespace)
	}
	o, err := p.withCurrentNames(p.r.Context(), o)
	if err != nil {
		return err
	}
	resource, answer, err := p.fetchResource(o)
	if err != nil {
		return err
	}
	found := answer != nil
	if found {
		defer answer.Body.Close()
		found = answer.StatusCode != http.StatusNotFound
		if found && answer.StatusCode != http.StatusOK {
			return p.Deliver(resource, answer) // the GET failed, not the operation
		}
	}
	end, err := p.outcomeByResource(o, answer, found)
	if err != nil {
		return err
	}
	if end.ended && o.Resource != "" {
		p.confirmEnd(p.r.Context(), p.x, o)
	}
	switch {
	case !pollsResult(p.x.Request, &o):
		return p.answerStatus(o, end)
	case !end.ended:
		return p.answerPending()
	case end.fault != nil:
		return end.fault
	case o.Method == http.MethodDelete:
		return p.x.Answer(p.w, http.StatusNoContent, nil)
	}
	return p.deliverResult(resource, answer)
}

// deliverResult delivers a provider's answer as the result of an operation, without the
// polling headers of the answer, which concern something else.
func (p *poll) deliverResult(d *routing.Decision, answer *http.Response) error {
	delete(answer.Header, "Retry-After")
	for _, name := range pollingHeaders {
		delete(answer.Header, name)
	}
	return p.Deliver(d, answer)
}

// fetchResource reads the resource of an operation. It returns no answer if the index
// knows that the resource does not exist.
func (p *poll) fetchResource(o polls.Operation) (*routing.Decision, *http.Response, error) {
	q, fault := routing.Classify(p.Config.Map, http.MethodGet, o.Origin, "api-version="+o.APIVersion)
	if fault == nil && (q.Class != routing.Instance || q.Type == nil) {
		fault = p.x.Request.Unroutable()
	}
	if fault != nil {
		return nil, nil, fault
	}
	resource, err := p.Resolver.Resolve(p.r.Context(), p.x, q, routing.Body{})
	if errors.As(err, &fault) && fault.Status == http.StatusNotFound {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	p.x.Region = resource.Region
	answer, err := p.FetchPath(resource, q.Path.Escaped(), q.Query.Raw)
	return resource, answer, err
}

// answerPending answers a poll for the result of an operation that has not ended.
func (p *poll) answerPending() error {
	p.pollAgain(p.w.Header())
	return answerAccepted(p.w, p.x, p.urlOf(p.x.Request))
}

// answerStatus answers with the status of an operation (async reference,
// Azure-AsyncOperation Resource format).
func (p *poll) answerStatus(o polls.Operation, end outcome) error {
	type fault struct {
		Code    arm.Code `json:"code"`
		Message string   `json:"message"`
	}
	status := struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Status    string    `json:"status"`
		StartTime time.Time `json:"startTime"`
		Error     *fault    `json:"error,omitempty"`
	}{
		ID: p.x.Request.Path.String(), Name: p.x.Request.Path.Segment(p.x.Request.Path.Len() - 1),
		Status: end.state, StartTime: o.Created.UTC(),
	}
	if end.fault != nil {
		status.Error = &fault{end.fault.Code, end.fault.Message}
	}
	if !end.ended {
		p.pollAgain(p.w.Header())
	}
	return p.x.Answer(p.w, http.StatusOK, status)
}
