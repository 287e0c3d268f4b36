package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"portico/arm"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/headers"
	"portico/jsonscan"
	"portico/routing"
	"portico/tracing"
	"portico/upstream"
)

// deliver sends a provider's answer to the client, guarded: its ids and polling
// URLs are the front door's, its size is bounded, its pages link to the front
// door.
func (g *Gateway) deliver(ctx context.Context, w http.ResponseWriter, x *exchange.Exchange, p proxied, answer *http.Response) error {
	namespace := x.Request.Provider.Namespace
	limit := g.config.Limits.AnswerBody
	if answer.ContentLength > limit {
		return exchange.AnswerTooLarge(namespace, limit)
	}
	if paged(x.Request, answer) {
		if err := g.guardPage(ctx, x, p, answer); err != nil {
			return err
		}
	}
	if err := g.checkRedirect(x, p, answer); err != nil {
		return err
	}
	begun, err := beginning(answer)
	if err != nil {
		return g.brokenOff(namespace, p.Region, err)
	}
	h := w.Header()
	g.answerHeaders(h, x, answer)
	g.guardLinks(ctx, h, x, p, answer.StatusCode)
	w.WriteHeader(answer.StatusCode)
	if err := begun.send(w, answer.Body); err != nil {
		// What has gone out cannot be taken back: the message must end broken,
		// not short.
		x.Failure = err
		panic(http.ErrAbortHandler)
	}
	return nil
}

// brokenOff is what a client is told of an answer whose body could not be read.
func (g *Gateway) brokenOff(namespace, region string, err error) *arm.Error {
	if errors.Is(err, upstream.ErrTooLarge) {
		return exchange.AnswerTooLarge(namespace, g.config.Limits.AnswerBody)
	}
	return (&upstream.Fault{Sent: true, Region: region, Err: err}).ARM(namespace)
}

// answerHeaders copies what passes to clients of the headers of a provider's answer.
func (g *Gateway) answerHeaders(h http.Header, x *exchange.Exchange, answer *http.Response) {
	headers.RemoveHopByHop(answer.Header)
	if n := headers.ToClient(h, answer.Header, x.Request.Provider.PassesAnswer()); n > 0 {
		g.log.Warn("an answer has more headers than clients take: some were removed", zap.Int("lines", n),
			zap.String("provider", x.Namespace()), zap.String("region", x.Region), zap.String("correlationId", x.Identity.Correlation))
	}
	if answer.ContentLength >= 0 && len(h["Content-Length"]) == 0 && answer.StatusCode != http.StatusNoContent && answer.StatusCode != http.StatusNotModified {
		h.Set("Content-Length", strconv.FormatInt(answer.ContentLength, 10))
	}
	if _, typed := h["Content-Type"]; !typed {
		h["Content-Type"] = nil // else net/http would make a guess of its own
	}
	x.SetHeaders(h)
	if answer.StatusCode >= http.StatusBadRequest {
		x.Cause = exchange.CauseService
		h[tracing.FailureCauseHeader] = []string{x.Cause}
	}
}

// hold reads an answer whole, decompressed, and puts it back as its body.
func (g *Gateway) hold(answer *http.Response, namespace, region string) ([]byte, error) {
	text, err := upstream.ReadAll(answer.Header, answer.Body, g.config.Limits.AnswerBody)
	if err != nil {
		return nil, g.brokenOff(namespace, region, err)
	}
	putBack(answer, text)
	return text, nil
}

func putBack(answer *http.Response, text []byte) {
	answer.Body = readCloser{bytes.NewReader(text), answer.Body}
	answer.ContentLength = int64(len(text))
	for _, name := range [...]string{"Content-Encoding", "Content-Length", "Content-Md5"} { // of what was sent
		delete(answer.Header, name)
	}
}

// readCloser reads from one and closes another.
type readCloser struct {
	io.Reader
	io.Closer
}

// paged holds for answers that may be a page of a list: clients take any success
// for one.
func paged(q *routing.Request, answer *http.Response) bool {
	if !succeeded(answer) || q.Method == http.MethodHead {
		return false
	}
	switch q.Class {
	case routing.Collection, routing.Below, routing.AtProvider, routing.Located, routing.Poll: // the result of an action may be one
		return true
	case routing.Own, routing.NoRoute, routing.Instance:
	}
	return false
}

func succeeded(answer *http.Response) bool {
	return answer.StatusCode >= http.StatusOK && answer.StatusCode < http.StatusMultipleChoices
}

// guardPage makes the nextLink of a page lead to the front door; a page that
// leads anywhere else is not sent.
func (g *Gateway) guardPage(ctx context.Context, x *exchange.Exchange, p proxied, answer *http.Response) error {
	namespace := x.Request.Provider.Namespace
	text, err := g.hold(answer, namespace, p.Region)
	if err != nil || len(text) == 0 && answer.StatusCode != http.StatusOK {
		return err
	}
	page, err := fanout.ParseLink(text)
	if err != nil {
		if x.Request.Class != routing.Collection && !errors.Is(err, fanout.ErrAmbiguous) {
			return nil // the answer of an action need be no JSON
		}
		return arm.NewError(arm.InvalidProviderResponse, namespace, err.Error())
	}
	if page.NextLink == nil {
		return nil
	}
	next, err := g.nextLink(ctx, x, p, page.NextLink)
	if err != nil {
		return arm.NewError(arm.InvalidProviderResponse, namespace, err.Error()).About("nextLink")
	}
	link := []byte("null")
	if next != "" {
		link = quote(next)
	}
	putBack(answer, page.WithNextLink(link))
	return nil
}

// nextLink is the link of a page as the client gets it, "" at the end of the
// list. That of an operation's result leads to where its provider says, since
// what was polled is no list.
func (g *Gateway) nextLink(ctx context.Context, x *exchange.Exchange, p proxied, link []byte) (string, error) {
	links := fanout.NextLinks{Public: g.public, Endpoint: p.Endpoint, Path: x.Request.Path.String()}
	path, bare := x.Request.Path.Escaped(), false
	if text, ok := jsonscan.Text(link); ok && x.Request.Class == routing.Poll {
		if to, own := g.resultPath(p, text); own {
			bare = to.String() != links.Path && !strings.Contains(text, "?")
			links.Path, path = to.String(), to.Escaped()
		}
	}
	var query string
	if !bare {
		var err error
		if query, err = links.Query(link); err != nil || query == "" {
			return "", err
		}
	}
	if p.Operation != nil && x.Request.Class == routing.Poll {
		return g.resultLink(ctx, x, p, path, query), nil
	}
	return fanout.PublicLink(g.public, path, query), nil
}

// resultPath is where the next page of an operation's result lies.
func (g *Gateway) resultPath(p proxied, link string) (to arm.Path, own bool) {
	if strings.HasPrefix(link, "?") && p.Operation != nil && p.Operation.Target != "" { // of what was asked for
		asked, _, _ := strings.Cut(p.Operation.Target, "?")
		return to, to.Parse(asked) == nil
	}
	target, own := g.publicForm(link, p)
	return to, own && to.Parse(target.EscapedPath()) == nil
}

// resultLink has a client go on with the next page of an operation's result, for
// which the operation's record counts as well: at its own path, or, where the front
// door serves no operation there, by a URL that stands for it.
func (g *Gateway) resultLink(ctx context.Context, x *exchange.Exchange, p proxied, path, query string) string {
	next := fanout.PublicLink(g.public, path, query)
	link := pollingLink{url: next}
	if target, own := g.publicForm(next, p); own && g.servedAs(x, target) >= asDeclared {
		link.record = g.operation(x, p, target)
	} else {
		link = g.standIn(x, p, "Location", strings.TrimPrefix(next, g.public.Scheme+"://"+g.public.Host))
	}
	if link.record == nil {
		return next
	}
	err := g.roomForLink(ctx, x, p, link)
	if err == nil {
		err = g.store.RecordOperation(ctx, *link.record)
	}
	if err != nil {
		x.Warn("the link of a page was not recorded", err)
		return next
	}
	return link.url
}
