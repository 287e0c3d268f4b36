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
	return g.resolveAndServe(w, r, x, body, content)
}

func (g *Gateway) resolveAndServe(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, body routing.Body, content []byte) error {
	d, err := g.resolver.Resolve(r.Context(), x, x.Request, body)
	if err != nil {
		return err
	}
	if fault := g.checkCreatedFor(x.Request, body); fault != nil {
		return fault
	}
	x.Region = d.Region
	return g.serve(w, r, x, proxied{Decision: d, body: body, content: content})
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
	if fault := body.CheckTagCount(g.config.Limits.TagsPerResource); fault != nil {
		return fault
	}
	return arm.CheckTags(body.Tags, g.config.Limits.TagsPerResource)
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

// serve answers a resolved request. If the answer to a read shows that the cache by
// which it was resolved was behind, it resolves and serves the read once more, by
// the cache that was corrected, and takes the next answer as it is.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	for {
		err := g.serveResolved(w, r, x, p)
		if !errors.Is(err, errCacheBehind) {
			return err
		}
		if p.Decision, err = g.resolver.Resolve(r.Context(), x, x.Request, p.body); err != nil {
			return err
		}
		p.Cached = false
		x.Region = p.Region
	}
}

// serveResolved answers a request in the way that its kind asks for.
func (g *Gateway) serveResolved(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
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
		if err := g.admission.CheckOperation(r.Context(), x, p.Subscription); err != nil {
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
			if err := g.admission.CheckRemoval(r.Context(), p.Subscription); err != nil {
				return err
			}
			return g.write(w, r, x, p)
		}
	}
	return g.relay(w, r, x, p)
}

// relay forwards a call that the index has no part in.
func (g *Gateway) relay(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	answer, err := g.fetch(r, x, p, r.Method)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return g.deliver(r.Context(), w, x, p, answer)
}

// head answers whether a resource is there, by asking its provider with GET,
// the verb that every provider has.
func (g *Gateway) head(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	answer, err := g.fetch(r, x, p, http.MethodGet)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	known := p.Row != nil
	if known && answer.StatusCode == http.StatusOK {
		if err := g.recordRead(r.Context(), x, p, answer); err != nil {
			return err
		}
	}
	there := answer.StatusCode < 300
	if known && answer.StatusCode == http.StatusNotFound {
		// Nobody would see what the body says, so it has to be what it seems.
		prober, header := g.resolver.ProberFor(x)
		if there, err = prober.VerifyAbsence(r.Context(), header, x.Subscription(), x.Request.Key()); err != nil {
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

// read forwards a GET of a tracked resource and records what the answer proves. What
// a client is told of absence proves nothing: Portico then asks by itself.
func (g *Gateway) read(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	answer, err := g.fetch(r, x, p, http.MethodGet)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusOK && p.Doubtful {
		if err := g.recordRead(r.Context(), x, p, answer); err != nil {
			return err
		}
	}
	return g.deliver(r.Context(), w, x, p, answer)
}

// recordRead records what a GET of a tracked resource proves, before the client has
// the answer. The answer's body, once read, is put back.
func (g *Gateway) recordRead(ctx context.Context, x *exchange.Exchange, p proxied, answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusNotFound:
		prober, header := g.resolver.ProberFor(x)
		if _, err := prober.VerifyAbsence(ctx, header, x.Subscription(), x.Request.Key()); err != nil {
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

func providerFault(err error, x *exchange.Exchange) error {
	var fault *upstream.Fault
	if !errors.As(err, &fault) {
		return err
	}
	return fault.ARM(x.Request.Provider.Namespace)
}

// admittedByLocks holds a request for a provider to the locks. A write of a tracked
// resource takes an intent, which is judged in the transaction that records it; one
// that is answered without a call takes none.
func (g *Gateway) admittedByLocks(ctx context.Context, x *exchange.Exchange, p proxied) error {
	if q := x.Request; q.Class == routing.Instance && q.Type.Kind == regions.Tracked && p.Answer == routing.Forward {
		return nil
	}
	return g.admission.CheckLocks(ctx, x, p.Subscription.ID)
}
