// Package proxy takes a request for a resource provider its way: content and common
// arguments are checked, the request is resolved to the endpoint that serves it, called
// there, and answered.
//
// A read is forwarded ([Proxy.Serve], read.go); if a cached location led it to an empty
// answer, that is confirmed against the store first. A write of a tracked resource
// records its intent before the call and its outcome before the answer (write.go,
// intent.go). A list over several regions is merged (merged_list.go). Polls are answered
// by package polling, which also makes the polling URLs in answers lead to the front door.
//
// Every answer of a provider reaches the client through deliver.go, which makes links of
// pages (page.go) lead to the front door as well.
package proxy

import (
	"context"
	"errors"
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
	"portico/regions"
	"portico/routing"
	"portico/tracing/headers"
	"portico/tracing/spans"
	"portico/upstream"
	"portico/upstream/answers"
)

// Proxy answers the requests for resource providers by one configuration.
type Proxy struct {
	Config     *config.Config
	Public     *url.URL
	Store      *inventory.Store
	Upstream   Upstream
	Resolver   *admission.Resolver
	Authorizer *authorize.Authorizer
	Admission  *admission.Admission
	Lister     *fanout.Lister
	Polls      *polling.Forwarded
	Activity   *observe.Activity // nil: what is only passed on leaves no event
	Sender     string            // in whose name intents are recorded
	// Plan, if set, has what counts as created before a write, which is only planned. The
	// caller judges the shape of its body.
	Plan   Plan
	Tracer *spans.Tracer
	Log    *zap.Logger
}

// Upstream calls endpoints, as [upstream.Client] does.
type Upstream interface {
	Do(context.Context, upstream.Call) (*http.Response, error)
}

// Resolved is a request with its content and the decision who serves it.
type Resolved struct {
	*routing.Decision
	body    routing.Body
	content []byte
	// pollURLs are the polling URLs of the answer, nil until they are found: those of a
	// write are recorded with its outcome, before the answer is delivered.
	pollURLs *polling.URLs
	// again: a search has shown that the resource is where it is asked for.
	again bool
	// readable is what the caller may see of a list that it may see a part of; nil: all.
	readable *authorize.Readable
}

// Answer answers a request for a resource provider.
func (p *Proxy) Answer(w http.ResponseWriter, r *http.Request, x *exchange.Exchange) error {
	x.Reach(exchange.AtRoles)
	readable, err := p.authorize(r.Context(), x)
	if err != nil {
		return err
	}
	x.Reach(exchange.AtContent)
	content, err := x.Content(w, r)
	if err != nil {
		return err
	}
	x.Reach(exchange.AtArguments)
	body, contentFault := p.ReadContent(x.Request, content)
	if err := p.checkArguments(r.Context(), x, arm.Location(body.Location)); err != nil {
		return err
	}
	if contentFault != nil {
		return contentFault
	}
	x.Reach(exchange.AtPlace)
	d := Resolved{body: body, content: content, readable: readable}
	if err := p.resolve(r.Context(), x, x.Request, &d); err != nil {
		return err
	}
	x.Region = d.Region
	return p.Serve(w, r, x, &d)
}

// Send sends a call to q on behalf of the request x, the whole way that a client's own
// call would take, and returns the answer to it.
func (p *Proxy) Send(call *http.Request, x *exchange.Exchange, q *routing.Request, content []byte) (*exchange.Captured, error) {
	d, err := p.Resolve(call.Context(), x, q, content)
	if err != nil {
		return nil, err
	}
	inner := *x
	inner.Request, inner.Region = q, d.Region
	call = call.WithContext(exchange.With(call.Context(), &inner))
	answer := exchange.Capture(p.Config.Limits.AnswerBody)
	fault := answer.Hold(q.ID(), func() { err = p.Serve(answer, call, &inner, d) })
	if err == nil && fault != nil {
		err = fault
	}
	x.Region, x.Cause, x.Failure = inner.Region, inner.Cause, inner.Failure
	return answer, err
}

// Resolve decides who serves q for the caller of x.
func (p *Proxy) Resolve(ctx context.Context, x *exchange.Exchange, q *routing.Request, content []byte) (*Resolved, error) {
	body, fault := p.ReadContent(q, content)
	if fault != nil {
		return nil, fault
	}
	d := &Resolved{body: body, content: content}
	if err := p.resolve(ctx, x, q, d); err != nil {
		return nil, err
	}
	return d, nil
}

// resolve adds the decision to d, which has the content.
func (p *Proxy) resolve(ctx context.Context, x *exchange.Exchange, q *routing.Request, d *Resolved) error {
	var err error
	if d.Decision, err = p.Resolver.Resolve(ctx, x, q, d.body); err != nil {
		return err
	}
	if fault := p.checkCreatedFor(q, d.body); fault != nil {
		return fault
	}
	return nil
}

// Serve answers a resolved request, whose decision it may replace by a later one: if a
// location proves outdated, it resolves the read once more and delivers the second
// answer without another check.
func (p *Proxy) Serve(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	for {
		err := p.serveOnce(w, r, x, d)
		if !errors.Is(err, errOutdated) {
			return err
		}
		if d.Decision, err = p.Resolver.Resolve(r.Context(), x, x.Request, d.body); err != nil {
			return err
		}
		d.Cached = false
		x.Region = d.Region
	}
}

// serveOnce answers a resolved request in the way that its kind needs.
func (p *Proxy) serveOnce(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	if d.readable != nil && !isList(x.Request) {
		if err := p.refuseUnlessBegan(r.Context(), x); err != nil {
			return err
		}
	}
	x.Reach(exchange.AtHeaders)
	if headers.TooMuchForProvider(r.Header, x.Request.Provider.PassesRequest()) {
		return exchange.TooManyHeaders("there is more of it than a resource provider takes")
	}
	x.Reach(exchange.AtLocks)
	if err := p.checkLocks(x, d); err != nil {
		return err
	}
	switch {
	case d.Answer == routing.Absent || d.Answer == routing.Present:
		x.Region = ""
		return x.Answer(w, http.StatusNoContent, nil)
	case d.Answer == routing.Merge || d.readable != nil && d.sole() && isList(x.Request) || p.continuesMergedList(x):
		return p.mergedList(w, r, x, d)
	case d.Answer == routing.EmptyList:
		return p.emptyList(w, x)
	case x.Request.Class == routing.Poll:
		return p.poll(w, r, x, *d)
	}
	x.Reach(exchange.AtRecords)
	if !x.Request.Reads() {
		if err := p.Admission.CheckOperation(r.Context(), x, &d.Subscription); err != nil {
			return err
		}
	}
	if d.Answer == routing.AskEach {
		return p.checkName(w, r, x, d)
	}
	if x.Request.Class == routing.Instance {
		tracked := x.Request.Type.Kind == regions.Tracked
		switch {
		case r.Method == http.MethodHead:
			return p.head(w, r, x, d)
		case tracked && r.Method == http.MethodGet:
			return p.read(w, r, x, d)
		case tracked:
			if err := p.Admission.CheckRemoval(r.Context(), &d.Subscription); err != nil {
				return err
			}
			return p.write(w, r, x, d)
		case r.Method == http.MethodPut:
			if fault := p.misshapen(x, d); fault != nil {
				x.Reach(exchange.AtShape)
				return fault
			}
		}
	}
	return p.relay(w, r, x, d)
}

// checkLocks refuses what locks forbid. The store checks the locks of a write of a
// tracked resource in the transaction that records the intent; a write that is
// answered without a call has no intent.
func (p *Proxy) checkLocks(x *exchange.Exchange, d *Resolved) error {
	if q := x.Request; q.Class == routing.Instance && q.Type.Kind == regions.Tracked && d.Answer == routing.Forward {
		return nil
	}
	return admission.CheckLocks(x, d.Locks)
}

// relay forwards a call that does not concern the index. One that may change something
// leaves an event.
func (p *Proxy) relay(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	answer, err := p.fetch(r, x, d, r.Method)
	if !x.Request.Reads() && p.Activity != nil {
		p.recordRelayed(r.Context(), x, answer, err)
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return p.deliver(r.Context(), w, x, d, answer)
}

// poll answers a poll of an operation. It takes a copy of the decision, as that of any
// other request should not escape to the heap.
func (p *Proxy) poll(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d Resolved) error {
	return p.Polls.Answer(w, r, x, d.Decision, poll{p, w, r, x, &d})
}

// poll is a poll on its way to its provider. It implements [polling.Provider].
type poll struct {
	*Proxy
	w http.ResponseWriter
	r *http.Request
	x *exchange.Exchange
	d *Resolved
}

func (p poll) Fetch() (*http.Response, error) { return p.fetch(p.r, p.x, p.d, http.MethodGet) }

func (p poll) FetchPath(d *routing.Decision, path, query string) (*http.Response, error) {
	call := p.outbound(p.r, p.x, &Resolved{Decision: d, content: p.d.content}, http.MethodGet)
	call.Path, call.Query = path, query
	call.Own.Set("Referer", answers.Referer(p.Public, path, query))
	answer, err := p.Upstream.Do(p.r.Context(), call)
	if err != nil {
		return nil, providerFault(err, p.x)
	}
	return answer, nil
}

func (p poll) Buffer(answer *http.Response, namespace, region string) ([]byte, error) {
	return p.buffer(answer, namespace, region)
}

func (p poll) Deliver(d *routing.Decision, answer *http.Response) error {
	return p.deliver(p.r.Context(), p.w, p.x, &Resolved{Decision: d}, answer)
}
