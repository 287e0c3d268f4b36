package polling

import (
	"bytes"
	"io"
	"net/http"
	"slices"

	"portico/internal/jsontext"
	"portico/inventory/index"
	"portico/upstream/answers"
)

// answerByStatus answers a poll for the result of an operation by the provider's answer
// to a poll of its status: 202 until the status is final, then what the synchronous call
// would have answered (async reference, 202 Accepted and Location Headers). A failure to
// read the status proves nothing about the operation and is delivered unchanged; after a
// success without a readable status the client polls again.
func (p *poll) answerByStatus(answer *http.Response) error {
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		return p.Deliver(p.d, answer)
	}
	text, err := p.Buffer(answer, p.d.Operation.Namespace, p.d.Region)
	if err != nil {
		return err
	}
	if progress, _ := answers.ReadPoll(true, answer.StatusCode, text); progress != index.PollFinished {
		if pause := answer.Header["Retry-After"]; len(pause) > 0 {
			p.w.Header()["Retry-After"] = pause
			p.clampRetryAfter(p.w.Header(), http.StatusAccepted)
		}
		return p.answerPending()
	}
	if p.d.Operation.Resource != "" {
		p.confirmEnd(p.r.Context(), p.x, *p.d.Operation)
	}
	if !answers.PollState(true, text).Succeeded() {
		return p.deliverFailure(answer, text)
	}
	switch p.d.Operation.Method {
	case http.MethodDelete:
		return p.x.Answer(p.w, http.StatusNoContent, nil)
	case http.MethodPost:
		return p.deliverOutput(answer, text)
	}
	return p.deliverWritten()
}

// deliverFailure delivers the error of an operation's status as the answer that the
// synchronous call would have got.
func (p *poll) deliverFailure(answer *http.Response, status []byte) error {
	fault := jsontext.Value(status, "error")
	if jsontext.Null(fault) {
		return failedOutcome(stateFailed, "The resource operation ended as '%s'.", answers.StateWord(status)).fault
	}
	return p.deliverPart(answer, http.StatusConflict, slices.Concat([]byte(`{"error":`), fault, []byte{'}'}))
}

// deliverOutput delivers what an action returned: the properties of its status, or
// nothing (async reference, Azure-AsyncOperation Resource format).
func (p *poll) deliverOutput(answer *http.Response, status []byte) error {
	output := jsontext.Value(status, "properties")
	if jsontext.Null(output) {
		return p.x.Answer(p.w, http.StatusNoContent, nil)
	}
	return p.deliverPart(answer, http.StatusOK, output)
}

// deliverPart delivers JSON that was cut from an answer's body instead of the whole body.
func (p *poll) deliverPart(answer *http.Response, status int, part []byte) error {
	answer.StatusCode = status
	answer.Header["Content-Type"] = []string{"application/json; charset=utf-8"}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(part)), int64(len(part))
	return p.deliverResult(p.d, answer)
}

// deliverWritten delivers the resource that a PUT or PATCH has written, in any state:
// another write may have begun.
func (p *poll) deliverWritten() error {
	o, err := p.withCurrentNames(p.r.Context(), *p.d.Operation)
	if err != nil {
		return err
	}
	resource, answer, err := p.fetchResource(o)
	if err != nil {
		return err
	}
	if answer != nil {
		defer answer.Body.Close()
	}
	if answer == nil || answer.StatusCode == http.StatusNotFound {
		return failedOutcome(stateFailed, "The resource operation has ended, and the resource '%s' does not exist.", o.Origin).fault
	}
	return p.deliverResult(resource, answer)
}
