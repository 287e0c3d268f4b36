package gateway

import (
	"context"
	"errors"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/headers"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
	"portico/upstream"
)

// proxy is the way of a request for a resource provider: content, common
// arguments, decision, and then one of a handful of ways to answer.
func (g *Gateway) proxy(w http.ResponseWriter, r *http.Request, x *exchange.Exchange) error {
	content, err := x.Content(w, r)
	if err != nil {
		return err
	}
	body, contentFault := readContent(x.Request, content)
	if err := g.checkArguments(r.Context(), x, arm.Location(body.Location)); err != nil {
		return err
	}
	if contentFault != nil {
		return contentFault
	}
	if fault := g.checkContent(x.Request, body); fault != nil {
		return fault
	}
	d, err := g.router.Resolve(r.Context(), x.Request, x.Principal, body)
	if err != nil {
		return err
	}
	if fault := g.checkCreatedFor(x.Request, body); fault != nil {
		return fault
	}
	x.Region = d.Region
	return g.carry(w, r, x, proxied{Decision: d, body: body, content: content})
}

// checkArguments checks the common arguments, which a poll need not have. Where a
// type has not the api-version, the fault names the location that is concerned: the
// content's, else that of the resource.
func (g *Gateway) checkArguments(ctx context.Context, x *exchange.Exchange, location string) error {
	fault := x.Request.Check(g.router.Map, location)
	if fault == nil {
		return nil
	}
	if polls, err := g.router.FindOperation(ctx, x.Request, x.Principal); polls || err != nil {
		return err
	}
	if fault.Code == arm.NoRegisteredProviderFound && location == "" {
		fault = x.Request.Check(g.router.Map, g.router.StoredLocation(ctx, x.Request, x.Principal))
	}
	return fault
}

// checkContent holds the tags of a tracked resource to their bounds.
func (g *Gateway) checkContent(q *routing.Request, body routing.Body) *arm.Error {
	if !body.HasTags || q.Type == nil || q.Type.Kind != regions.Tracked {
		return nil
	}
	if fault := tooManyTags(body, g.config.Limits.TagsPerResource); fault != nil {
		return fault
	}
	return arm.CheckTags(body.Tags, g.config.Limits.TagsPerResource)
}

// tooManyTags refuses tags of which there are more than so many.
func tooManyTags(body routing.Body, limit int) *arm.Error {
	if body.TagCount > limit {
		return arm.NewError(arm.TagCountExceeded, body.TagCount, limit).About("tags")
	}
	return nil
}

// proxied is a resolved request with its content.
type proxied struct {
	routing.Decision
	body    routing.Body
	content []byte
	// links are the polling URLs of the answer where they were recorded with the
	// write already; nil: they have to be found yet.
	links *pollingLinks
}

// readContent checks content as far as the front door understands it: a
// resource is an object, anything else is any JSON.
func readContent(q *routing.Request, content []byte) (routing.Body, *arm.Error) {
	if len(content) == 0 {
		return routing.Body{}, nil
	}
	if q.Class == routing.Instance && (q.Method == http.MethodPut || q.Method == http.MethodPatch) {
		return routing.ReadObject(content)
	}
	return routing.Body{}, routing.CheckJSON(content)
}

// carry answers a resolved request in the way that its kind asks for.
func (g *Gateway) carry(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	if headers.TooMuchForProvider(r.Header, x.Request.Provider.PassesRequest()) {
		return tooManyHeaders("there is more of it than a resource provider takes")
	}
	if err := g.admittedByLocks(r.Context(), x, p); err != nil {
		return err
	}
	switch p.Answer {
	case routing.EmptyList:
		if g.sealed(x) {
			return g.mergedList(w, r, x, p)
		}
		return g.emptyList(w, x)
	case routing.Merge:
		return g.mergedList(w, r, x, p)
	case routing.Absent, routing.Present:
		x.Region = ""
		return x.Answer(w, http.StatusNoContent, nil)
	case routing.Forward:
		if g.sealed(x) {
			return g.mergedList(w, r, x, p)
		}
	}
	if x.Request.Class == routing.Poll {
		return g.poll(w, r, x, p)
	}
	if !x.Request.Reads() {
		if err := g.admitOperation(r.Context(), x, p.Subscription); err != nil {
			return err
		}
	}
	if x.Request.Class == routing.Instance {
		tracked := x.Request.Type.Kind == regions.Tracked
		switch {
		case r.Method == http.MethodHead:
			return g.head(w, r, x, p)
		case tracked && r.Method == http.MethodGet:
			return g.read(w, r, x, p)
		case tracked:
			if err := g.admitRemoval(r.Context(), p.Subscription); err != nil {
				return err
			}
			return g.write(w, r, x, p)
		}
	}
	return g.relay(w, r, x, p)
}

// relay carries a call that the index has no part in.
func (g *Gateway) relay(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	answer, err := g.asked(w, r, x, p, r.Method)
	if answer == nil {
		return err
	}
	defer answer.Body.Close()
	return g.deliver(r.Context(), w, x, p, answer)
}

// head answers whether a resource is there, by asking its provider with GET,
// the verb that every provider has.
func (g *Gateway) head(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	answer, err := g.asked(w, r, x, p, http.MethodGet)
	if answer == nil {
		return err
	}
	defer answer.Body.Close()
	known := p.Row != nil
	if known && answer.StatusCode == http.StatusOK {
		if err := g.learn(r.Context(), x, p, answer); err != nil {
			return err
		}
	}
	there := answer.StatusCode < 300
	if known && answer.StatusCode == http.StatusNotFound {
		// Nobody would see what the body says, so it has to be what it seems.
		if there, err = g.confirmAbsence(r.Context(), x, x.Subscription(), x.Request.Key()); err != nil {
			return arm.NewError(arm.InvalidProviderResponse, x.Request.Provider.Namespace, "a 404 that does not speak of the resource").Because(err)
		}
	}
	switch {
	case there:
		return x.Answer(w, http.StatusNoContent, nil)
	case answer.StatusCode == http.StatusNotFound:
		return x.Request.NotFound()
	}
	if err := g.checkRedirect(x, p, answer); err != nil {
		return err
	}
	g.answerHeaders(w.Header(), x, answer)
	g.guardLinks(r.Context(), w.Header(), x, p, answer.StatusCode)
	w.WriteHeader(answer.StatusCode)
	return nil
}

// read carries a GET of a tracked resource, and has the inventory learn of what
// it settles. A 404 has the front door ask by itself: what a client is told of
// absence proves nothing.
func (g *Gateway) read(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	answer, err := g.asked(w, r, x, p, http.MethodGet)
	if answer == nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusOK && p.Doubtful {
		if err := g.learn(r.Context(), x, p, answer); err != nil {
			return err
		}
	}
	return g.deliver(r.Context(), w, x, p, answer)
}

// learn tells the inventory what a GET of a tracked resource said, before the
// client has it. The answer's body, once read, is put back.
func (g *Gateway) learn(ctx context.Context, x *exchange.Exchange, p proxied, answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusNotFound:
		if _, err := g.confirmAbsence(ctx, x, x.Subscription(), x.Request.Key()); err != nil {
			x.Warn("a client was told that a resource is not there, and its provider did not confirm that", err)
		}
	case http.StatusOK:
		text, err := g.hold(answer, x.Request.Provider.Namespace, p.Region)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, g.config.Index.AskTimeout)
		defer cancel()
		if _, _, err := g.store.Observe(ctx, x.Subscription(), x.Request.Key(), p.Generation, inventory.ReadObservation(text)); err != nil {
			x.Warn("what a read said was not recorded", err)
		}
	}
	return nil
}

// confirmAbsence asks for a resource that a client was told is not there, and
// reports whether it is. An error means that its provider did not say; the row is
// then flagged, and asked for later.
func (g *Gateway) confirmAbsence(ctx context.Context, x *exchange.Exchange, sub, key string) (there bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.config.Index.AskTimeout)
	defer cancel()
	row, err := g.store.Resource(ctx, sub, key)
	if errors.Is(err, inventory.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	sight, err := g.look(ctx, x, row)
	if err == nil || row.Doubtful() {
		return sight.Found, err
	}
	return false, errors.Join(err, g.store.Doubt(context.WithoutCancel(ctx), sub, key))
}

// call sends the request to the endpoint that was decided on, once.
func (g *Gateway) call(ctx context.Context, r *http.Request, x *exchange.Exchange, p proxied, method string) (*http.Response, error) {
	call := g.outbound(r, x, p, method)
	answer, err := g.upstream.Do(ctx, call)
	if err != nil {
		return nil, providerFault(err, x)
	}
	return answer, nil
}

func providerFault(err error, x *exchange.Exchange) error {
	var fault *upstream.Fault
	if !errors.As(err, &fault) {
		return err
	}
	return fault.ARM(x.Request.Provider.Namespace)
}
