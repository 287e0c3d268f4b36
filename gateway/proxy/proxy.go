// Package proxy serves requests for resource providers: it checks content and common
// arguments, resolves the request to the endpoint that serves it, calls the endpoint, and
// delivers the answer.
//
// [Proxy.Serve] decides who serves a request, and decides again if a step finds that the
// decision is out of date (serve.go). A read is forwarded (read.go); if memory placed it
// and the answer is empty, the store confirms that (cached_absence.go). A write of a
// tracked resource records its intent before the call and its outcome before the answer
// (write.go, intent.go). A list over several regions is merged (merged_list.go). Package
// polling answers polls, and makes the polling URLs in answers lead to the front door.
//
// Every answer of a provider reaches the client through deliver.go, which makes links of
// pages (page.go) lead to the front door as well.
package proxy

import (
	"context"
	"net/http"
	"net/url"

	"go.uber.org/zap"

	"portico/arm"
	"portico/config"
	"portico/fanout"
	"portico/gateway/admission"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/observe"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/routing"
	"portico/tracing/spans"
	"portico/upstream"
	"portico/upstream/answers"
)

// Proxy answers the requests for resource providers for one configuration.
type Proxy struct {
	Config     *config.Config
	Public     *url.URL
	Store      *inventory.Store
	Intents    Intents
	Upstream   Upstream
	Resolver   *admission.Resolver
	Authorizer *authorize.Authorizer
	Admission  *admission.Admission
	Lister     *fanout.Lister
	Polls      *polling.Forwarded
	Activity   *observe.Activity // nil: relayed calls leave no event
	Sender     string            // the process that records intents
	Tracer     *spans.Tracer
	Log        *zap.Logger
}

// Upstream calls endpoints, as [upstream.Client] does.
type Upstream interface {
	Do(context.Context, upstream.Call) (*http.Response, error)
}

// Resolved is a request with its content and, once [Proxy.Serve] has made it, the
// decision who serves it.
type Resolved struct {
	*routing.Decision
	body    routing.Body
	content []byte
	// pollURLs are the polling URLs of the answer, nil until they are found. A write's
	// URLs are recorded with its outcome, before the answer is delivered.
	pollURLs     *polling.URLs
	triedReasons retryReason // the reasons for which it was resolved again
	// readable is the part of a list that the caller may see; nil: all.
	readable *authorize.Readable
}

// Answer answers a request for a resource provider.
func (p *Proxy) Answer(w http.ResponseWriter, r *http.Request, x *exchange.Exchange) error {
	x.RecordStage(exchange.AtRoles)
	readable, err := p.authorize(r.Context(), x)
	if err != nil {
		return err
	}
	x.RecordStage(exchange.AtContent)
	content, err := x.Content(w, r)
	if err != nil {
		return err
	}
	x.RecordStage(exchange.AtArguments)
	body, contentFault := p.ReadContent(x.Request, content)
	body.LocationPending = x.LocationPending
	if err := p.checkArguments(r.Context(), x, arm.Location(body.Location)); err != nil {
		return err
	}
	if contentFault != nil {
		return contentFault
	}
	x.RecordStage(exchange.AtPlace)
	return p.Serve(w, r, x, &Resolved{body: body, content: content, readable: readable})
}

// Send sends a call to q on behalf of the request x, in the same way as a client's call,
// and returns the answer.
func (p *Proxy) Send(call *http.Request, x *exchange.Exchange, q *routing.Request, content []byte) (*exchange.Captured, error) {
	body, fault := p.ReadContent(q, content)
	if fault != nil {
		return nil, fault
	}
	inner := *x
	inner.Request = q
	call = call.WithContext(exchange.With(call.Context(), &inner))
	answer := exchange.Capture(p.Config.Limits.AnswerBody)
	var err error
	fault = answer.Run(q.ID(), func() { err = p.Serve(answer, call, &inner, &Resolved{body: body, content: content}) })
	if err == nil && fault != nil {
		err = fault
	}
	x.Region, x.Cause, x.Failure, x.Shown = inner.Region, inner.Cause, inner.Failure, inner.Shown
	return answer, err
}

// relay forwards a call that does not concern the index. It records an event if the call
// may change something.
func (p *Proxy) relay(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) (retryReason, error) {
	answer, why, err := p.fetch(r, x, d, r.Method)
	if !x.Request.Reads() && p.Activity != nil {
		p.recordRelayed(r.Context(), x, answer, err)
	}
	if answer == nil {
		return why, err
	}
	defer answer.Body.Close()
	return ended, p.deliver(r.Context(), w, x, d, answer)
}

// poll answers a poll of an operation. It takes a copy of d, so that no other request's d
// escapes to the heap.
func (p *Proxy) poll(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d Resolved) (retryReason, error) {
	provider := &poll{Proxy: p, w: w, r: r, x: x, d: &d}
	err := p.Polls.Answer(w, r, x, d.Decision, provider)
	return provider.why, err
}

// poll is a poll that is being answered. It implements [polling.Provider].
type poll struct {
	*Proxy
	w http.ResponseWriter
	r *http.Request
	x *exchange.Exchange
	d *Resolved
	// why is the reason why Fetch returned neither an answer nor an error.
	why retryReason
}

func (p *poll) Fetch() (answer *http.Response, err error) {
	answer, p.why, err = p.fetch(p.r, p.x, p.d, http.MethodGet)
	return answer, err
}

func (p *poll) FetchPath(d *routing.Decision, path, query string) (*http.Response, error) {
	call := p.outbound(p.r, p.x, &Resolved{Decision: d, content: p.d.content}, http.MethodGet)
	call.Path, call.Query = path, query
	call.Own.Set("Referer", answers.Referer(p.Public, path, query))
	answer, err := p.Upstream.Do(p.r.Context(), call)
	if err != nil {
		return nil, providerFault(err, p.x)
	}
	return answer, nil
}

func (p *poll) Buffer(answer *http.Response, namespace, region string) ([]byte, error) {
	return p.bufferBody(answer, namespace, region)
}

func (p *poll) Deliver(d *routing.Decision, answer *http.Response) error {
	return p.deliver(p.r.Context(), p.w, p.x, &Resolved{Decision: d}, answer)
}
