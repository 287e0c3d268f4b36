package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/internal/jsontext"
	"portico/upstream"
	"portico/upstream/answers"
)

// recordRelayed records an event for a relayed call, from its answer or its error.
func (p *Proxy) recordRelayed(ctx context.Context, x *exchange.Exchange, answer *http.Response, err error) {
	if err == nil {
		accepted := answer.StatusCode == http.StatusAccepted || len(answer.Header["Azure-Asyncoperation"]) > 0 || len(answer.Header["Operation-Location"]) > 0
		p.Activity.Answered(ctx, x, answer.StatusCode, accepted, errorOf(answer))
		return
	}
	fault, ok := errors.AsType[*arm.Error](err)
	if !ok {
		return // the store's failure; nothing was sent
	}
	call, ok := errors.AsType[*upstream.Fault](err)
	p.Activity.Unanswered(ctx, x, fault, ok && call.Sent)
}

// errorRead is how much of an answer is read to find its error.
const errorRead = 8 << 10

// errorOf returns the error in an answer, or nil. It puts back what it has read.
func errorOf(answer *http.Response) *arm.Error {
	if answer.StatusCode < http.StatusBadRequest {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, errorRead))
	rest := io.Reader(answer.Body)
	if err != nil {
		rest = brokenReader{err}
	}
	answer.Body = readCloser{io.MultiReader(bytes.NewReader(text), rest), answer.Body}
	return answers.Error(answer.StatusCode, string(jsontext.WithoutMark(text)))
}

// brokenReader returns the error that an earlier read returned.
type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }
