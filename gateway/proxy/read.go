package proxy

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
)

// read forwards a GET of a tracked resource and records what the answer proves. A 404 to
// a client proves no absence, so Portico then asks under its own identity.
func (p *Proxy) read(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) (retryReason, error) {
	answer, why, err := p.fetch(r, x, d, http.MethodGet)
	if answer == nil {
		return why, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusOK && d.NeedsVerify {
		if err := p.recordRead(r.Context(), x, d, answer); err != nil {
			return ended, err
		}
	}
	if answer.StatusCode == http.StatusNotFound && p.mayBeElsewhere(r.Context(), x, d) {
		return elsewhere, nil
	}
	return ended, p.deliver(r.Context(), w, x, d, answer)
}

// mayBeElsewhere reports whether a resource that its region lacks may have been created
// in another: the store was restored, and no sweep has seen the region since (see package
// inventory, rule R17).
func (p *Proxy) mayBeElsewhere(ctx context.Context, x *exchange.Exchange, d *Resolved) bool {
	if !d.mayRetry(elsewhere) || p.Store.Events.Restored().IsZero() {
		return false
	}
	unseen, err := p.Store.Coverage.Uncovered(ctx, x.Subscription(), x.Request.Type.Key, []string{d.Region})
	return err == nil && len(unseen) > 0
}

// head answers a HEAD by a GET, the verb that every provider has.
func (p *Proxy) head(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) (retryReason, error) {
	answer, why, err := p.fetch(r, x, d, http.MethodGet)
	if answer == nil {
		return why, err
	}
	defer answer.Body.Close()
	known := d.Row != nil
	if known && answer.StatusCode == http.StatusOK {
		if err := p.recordRead(r.Context(), x, d, answer); err != nil {
			return ended, err
		}
	}
	there := answer.StatusCode < 300
	if known && answer.StatusCode == http.StatusNotFound {
		// The client would not see a body that qualifies the 404.
		prober, header := p.Resolver.ProberFor(x)
		if there, err = prober.VerifyAbsence(r.Context(), header, x.Subscription(), x.Request.Key()); err != nil {
			namespace := x.Request.Provider.Namespace
			return ended, arm.NewError(arm.InvalidProviderResponse, namespace, "a 404 that does not speak of the resource").WithCause(err)
		}
	}
	switch {
	case there:
		return ended, x.Answer(w, http.StatusNoContent, nil)
	case answer.StatusCode == http.StatusNotFound:
		return ended, x.Request.NotFound()
	}
	if err := p.Polls.CheckRedirect(x, d.Decision, answer); err != nil {
		return ended, err
	}
	p.copyHeaders(w, x, answer)
	p.Polls.Guard(r.Context(), w.Header(), x, d.Decision, answer.StatusCode, d.pollURLs)
	w.WriteHeader(answer.StatusCode)
	return ended, nil
}

// recordRead records what a GET of a tracked resource proves, before the client has the
// answer.
func (p *Proxy) recordRead(ctx context.Context, x *exchange.Exchange, d *Resolved, answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusNotFound:
		prober, header := p.Resolver.ProberFor(x)
		if _, err := prober.VerifyAbsence(ctx, header, x.Subscription(), x.Request.Key()); err != nil {
			x.Warn("a client got 404 for a resource, and the provider did not confirm that it does not exist", err)
		}
	case http.StatusOK:
		text, err := p.bufferBody(answer, x.Request.Provider.Namespace, d.Region)
		if err != nil {
			return err
		}
		shown, readable := inventory.ReadObservation(text)
		if !readable {
			return nil // such an answer proves nothing
		}
		ctx, cancel := context.WithTimeout(ctx, p.Config.Index.AskTimeout)
		defer cancel()
		if _, _, err := p.Store.Observe(ctx, x.Subscription(), x.Request.Key(), d.Generation, shown); err != nil {
			x.Warn("the result of a read was not recorded", err)
		}
	}
	return nil
}
