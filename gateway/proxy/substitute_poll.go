package proxy

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/routing"
	"portico/upstream/answers"
)

// pollTarget answers a poll of a substitute URL: by a call of its target at the
// endpoint that issued that, or, once there is nothing to call, by the resource that
// the operation worked on.
func (p *Proxy) pollTarget(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	target, ofStatus := d.Operation.Target, d.Operation.StatusTarget != ""
	if ofStatus {
		target = d.Operation.StatusTarget
	}
	if target != "" && d.Endpoint != nil {
		path, query, _ := strings.Cut(target, "?")
		answer, err := p.fetchPath(r, x, d, path, query)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		switch there := answer.StatusCode != http.StatusNotFound && answer.StatusCode != http.StatusGone; {
		case there && ofStatus:
			return p.answerByStatus(w, r, x, d, answer)
		case there:
			return p.answerPoll(w, r, x, d, answer)
		}
	}
	return p.answerByResource(w, r, x, d)
}

// fetchPath sends a GET of another path on behalf of a request.
func (p *Proxy) fetchPath(r *http.Request, x *exchange.Exchange, d *Resolved, path, query string) (*http.Response, error) {
	call := p.outbound(r, x, d, http.MethodGet)
	call.Path, call.Query = path, query
	call.Own.Set("Referer", answers.PublicLink(p.Public, path, query))
	answer, err := p.Upstream.Do(r.Context(), call)
	if err != nil {
		return nil, providerFault(err, x)
	}
	return answer, nil
}

// answerByResource answers a poll by the state of the resource, which says nothing about
// an action.
func (p *Proxy) answerByResource(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	o := *d.Operation
	if o.Method == http.MethodPost {
		return unknownOutcome(o.Namespace)
	}
	o, err := p.withCurrentNames(r.Context(), o)
	if err != nil {
		return err
	}
	resource, answer, err := p.fetchResource(r, x, d, o)
	if err != nil {
		return err
	}
	found := answer != nil
	if found {
		defer answer.Body.Close()
		found = answer.StatusCode != http.StatusNotFound
		if found && answer.StatusCode != http.StatusOK {
			return p.deliver(r.Context(), w, x, resource, answer) // the GET failed, not the operation
		}
	}
	end, err := p.outcomeOf(r.Context(), x, o, answer, found)
	if err != nil {
		return err
	}
	if end.ended && o.Resource != "" {
		p.confirmEnd(r.Context(), x, o)
	}
	switch {
	case !pollsResult(x.Request, &o):
		return p.answerStatus(w, x, o, end)
	case !end.ended:
		return p.Polls.Pending(w, x)
	case end.fault != nil:
		return end.fault
	case o.Method == http.MethodDelete:
		return x.Answer(w, http.StatusNoContent, nil)
	}
	return p.deliverResult(w, r, x, resource, answer)
}

// deliverResult delivers an answer of a provider as the result of an operation: what it
// says of polling is not said of that.
func (p *Proxy) deliverResult(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved, answer *http.Response) error {
	for _, name := range append([]string{"Retry-After"}, pollingHeaders...) {
		delete(answer.Header, name)
	}
	return p.deliver(r.Context(), w, x, d, answer)
}

// fetchResource reads the resource of an operation. It returns no answer if the index
// knows that the resource does not exist.
func (p *Proxy) fetchResource(r *http.Request, x *exchange.Exchange, d *Resolved, o inventory.Operation) (*Resolved, *http.Response, error) {
	q, fault := routing.Classify(p.Config.Map, http.MethodGet, o.Origin, "api-version="+o.APIVersion)
	if fault == nil && (q.Class != routing.Instance || q.Type == nil) {
		fault = x.Request.Unroutable()
	}
	if fault != nil {
		return d, nil, fault
	}
	resource := *d
	var err error
	resource.Decision, err = p.Resolver.Resolve(r.Context(), x, q, routing.Body{})
	if errors.As(err, &fault) && fault.Status == http.StatusNotFound {
		return d, nil, nil
	}
	if err != nil {
		return d, nil, err
	}
	x.Region = resource.Region
	answer, err := p.fetchPath(r, x, &resource, q.Path.Escaped(), q.Query.Raw)
	return &resource, answer, err
}

// answerStatus answers with the status of an operation (async reference,
// Azure-AsyncOperation Resource format).
func (p *Proxy) answerStatus(w http.ResponseWriter, x *exchange.Exchange, o inventory.Operation, end outcome) error {
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
		ID: x.Request.Path.String(), Name: x.Request.Path.Segment(x.Request.Path.Len() - 1),
		Status: end.state, StartTime: o.Created.UTC(),
	}
	if end.fault != nil {
		status.Error = &fault{end.fault.Code, end.fault.Message}
	}
	if !end.ended {
		p.Polls.PollAgain(w.Header())
	}
	return x.Answer(w, http.StatusOK, status)
}
