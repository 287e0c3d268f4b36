package proxy

import (
	"net/http"
	"slices"
	"strings"

	"portico/gateway/exchange"
	"portico/internal/jsonscan"
	"portico/upstream/answers"
)

// answerByStatus answers a poll for the result of an operation by the provider's answer
// to a poll of its status: 202 while it runs, then what the synchronous call would have
// answered (async reference, 202 Accepted and Location Headers). The failure to read a
// status says nothing of the operation and is delivered as it is; of what has no state,
// the resource tells.
func (p *Proxy) answerByStatus(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved, answer *http.Response) error {
	if !succeeded(answer) {
		return p.deliver(r.Context(), w, x, d, answer)
	}
	text, err := p.buffer(answer, d.Operation.Namespace, d.Region)
	if err != nil {
		return err
	}
	if answers.ReadPoll(true, answer.StatusCode, text) == answers.Running {
		if pause := answer.Header["Retry-After"]; len(pause) > 0 {
			w.Header()["Retry-After"] = pause
			p.clampRetryAfter(w.Header(), http.StatusAccepted)
		}
		return p.Polls.Pending(w, x)
	}
	state := answers.State(text)
	switch {
	case answer.StatusCode == http.StatusNoContent:
		state = stateSucceeded
	case state == "":
		return p.answerByResource(w, r, x, d)
	}
	if d.Operation.Resource != "" {
		p.confirmEnd(r.Context(), x, *d.Operation)
	}
	if !strings.EqualFold(state, stateSucceeded) {
		return p.deliverFailure(w, r, x, d, answer, text)
	}
	switch d.Operation.Method {
	case http.MethodDelete:
		return x.Answer(w, http.StatusNoContent, nil)
	case http.MethodPost:
		return p.deliverOutput(w, r, x, d, answer, text)
	}
	return p.deliverWritten(w, r, x, d)
}

// deliverFailure delivers the error of an operation's status as the answer that the
// synchronous call would have got.
func (p *Proxy) deliverFailure(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved, answer *http.Response, status []byte) error {
	fault := jsonscan.Value(status, "error")
	if jsonscan.Null(fault) {
		return failed(stateFailed, "The resource operation ended as '%s'.", answers.StateWord(status)).fault
	}
	return p.deliverPart(w, r, x, d, answer, http.StatusConflict, slices.Concat([]byte(`{"error":`), fault, []byte{'}'}))
}

// deliverOutput delivers what an action returned: the properties of its status, or
// nothing (async reference, Azure-AsyncOperation Resource format).
func (p *Proxy) deliverOutput(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved, answer *http.Response, status []byte) error {
	output := jsonscan.Value(status, "properties")
	if jsonscan.Null(output) {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	return p.deliverPart(w, r, x, d, answer, http.StatusOK, output)
}

// deliverPart delivers JSON from an answer's body in place of it.
func (p *Proxy) deliverPart(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved, answer *http.Response, status int, part []byte) error {
	answer.StatusCode = status
	answer.Header["Content-Type"] = []string{"application/json; charset=utf-8"}
	replaceBody(answer, part)
	return p.deliverResult(w, r, x, d, answer)
}

// deliverWritten delivers the resource that a PUT or PATCH has written, whatever its
// state is by now: another write may have begun.
func (p *Proxy) deliverWritten(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	o, err := p.withCurrentNames(r.Context(), *d.Operation)
	if err != nil {
		return err
	}
	resource, answer, err := p.fetchResource(r, x, d, o)
	if err != nil {
		return err
	}
	if answer != nil {
		defer answer.Body.Close()
	}
	if answer == nil || answer.StatusCode == http.StatusNotFound {
		return failed(stateFailed, "The resource operation has ended, and the resource '%s' does not exist.", o.Origin).fault
	}
	return p.deliverResult(w, r, x, resource, answer)
}
