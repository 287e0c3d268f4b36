package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"portico/arm"
	"portico/events"
	"portico/gateway/exchange"
	"portico/internal/jsontext"
	"portico/tracing"
	"portico/tracing/headers"
	"portico/upstream"
)

// deliver sends a provider's answer to the client. It bounds the size, and replaces ids,
// polling URLs and links to further pages by the front door's.
func (p *Proxy) deliver(ctx context.Context, w http.ResponseWriter, x *exchange.Exchange, d *Resolved, answer *http.Response) error {
	namespace := x.Request.Provider.Namespace
	limit := p.Config.Limits.AnswerBody
	if answer.ContentLength > limit {
		return exchange.AnswerTooLarge(namespace, limit)
	}
	if mayBePage(x.Request, answer) {
		if err := p.guardPage(ctx, x, d, answer); err != nil {
			return err
		}
	}
	if err := p.Polls.CheckRedirect(x, d.Decision, answer); err != nil {
		return err
	}
	block, err := readFirstBlock(answer)
	if err != nil {
		return p.bodyFault(namespace, d.Region, err)
	}
	h := w.Header()
	p.copyHeaders(w, x, answer)
	p.Polls.Guard(ctx, h, x, d.Decision, answer.StatusCode, d.pollURLs)
	if answer.StatusCode >= http.StatusInternalServerError {
		x.Shown = events.Masked(ctx, arm.ReadError(block.block[:block.n]))
	}
	w.WriteHeader(answer.StatusCode)
	if err := block.sendTo(w, answer.Body); err != nil {
		// The client must see a broken message, not a short one.
		x.Failure = err
		panic(http.ErrAbortHandler)
	}
	return nil
}

// bodyFault returns the error for an answer whose body could not be read.
func (p *Proxy) bodyFault(namespace, region string, err error) *arm.Error {
	if errors.Is(err, upstream.ErrTooLarge) {
		return exchange.AnswerTooLarge(namespace, p.Config.Limits.AnswerBody)
	}
	return (&upstream.Fault{Sent: true, Region: region, Err: err}).ARM(namespace)
}

// copyHeaders copies the headers of a provider's answer that clients may get.
func (p *Proxy) copyHeaders(w http.ResponseWriter, x *exchange.Exchange, answer *http.Response) {
	h := w.Header()
	if n := headers.ToClient(h, answer.Header, x.Request.Provider.PassesAnswer()); n > 0 {
		p.Log.Warn("an answer has more headers than clients accept: some were removed", x.LogFields(zap.Int("lines", n))...)
	}
	if answer.ContentLength >= 0 && len(h["Content-Length"]) == 0 && answer.StatusCode != http.StatusNoContent && answer.StatusCode != http.StatusNotModified {
		h.Set("Content-Length", strconv.FormatInt(answer.ContentLength, 10))
	}
	if _, typed := h["Content-Type"]; !typed {
		h["Content-Type"] = nil // otherwise net/http would guess one
	}
	x.SetHeaders(w)
	if answer.StatusCode >= http.StatusBadRequest {
		x.Cause = exchange.CauseService
		h[tracing.FailureCauseHeader] = []string{x.Cause}
	}
}

// bufferBody reads a complete answer, decompressed, and puts it back as its body. It
// returns the JSON: only the client gets a byte order mark.
func (p *Proxy) bufferBody(answer *http.Response, namespace, region string) ([]byte, error) {
	text, err := p.readComplete(answer)
	if err != nil {
		return nil, p.bodyFault(namespace, region, err)
	}
	return text, nil
}

// readComplete does what bufferBody does, but returns the error of reading.
func (p *Proxy) readComplete(answer *http.Response) ([]byte, error) {
	text, err := upstream.ReadBytes(answer.Header, answer.Body, p.Config.Limits.AnswerBody)
	if err == nil {
		replaceBody(answer, text)
	}
	return jsontext.WithoutMark(text), err
}

func replaceBody(answer *http.Response, text []byte) {
	answer.Body = readCloser{bytes.NewReader(text), answer.Body}
	answer.ContentLength = int64(len(text))
	for _, name := range [...]string{"Content-Encoding", "Content-Length", "Content-Md5"} { // they describe the encoded body
		delete(answer.Header, name)
	}
}

type readCloser struct {
	io.Reader
	io.Closer
}

func succeeded(answer *http.Response) bool {
	return answer.StatusCode >= http.StatusOK && answer.StatusCode < http.StatusMultipleChoices
}
