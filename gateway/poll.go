package gateway

import (
	"context"
	"errors"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/operations/async"
	"portico/operations/reconcile"
)

// poll carries a poll of an operation. When it shows that the operation may have
// ended, that is confirmed, and the resource that it worked on asked for, before the
// client learns of it, so that what the client does next meets an index that knows. To
// anybody but who began the operation it does not exist (async reference,
// Operation result rules).
func (g *Gateway) poll(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	if o := p.Operation; o != nil {
		if !g.began(x, p, o) {
			return x.Request.Unroutable()
		}
		if x.Request.Type == nil { // else the path is that of a resource too, and is read for that
			g.renew(r.Context(), x, *o)
			g.identifyOperation(r.Context(), x, *o)
		}
		if o.Replays() {
			return g.replay(w, r, x, p)
		}
		if p.Endpoint == nil {
			return noEndpointToPoll(o)
		}
	}
	answer, err := g.fetch(r, x, p, http.MethodGet)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return g.polled(w, r, x, p, answer)
}

// noEndpointToPoll tells that the region in which an operation runs has left the
// map: an outage, where clients would take an absence for an operation that failed.
func noEndpointToPoll(o *inventory.Operation) *arm.Error {
	fault := arm.NewError(arm.NoRegisteredProviderFound, "", "", "", "", "").WithStatus(http.StatusServiceUnavailable)
	return fault.Saying("No endpoint of the provider '%s' is configured in the location '%s', where the operation runs.", o.Namespace, o.Region).About(o.Region)
}

// began tells whether the caller is who began an operation, as far as that is known.
func (g *Gateway) began(x *exchange.Exchange, p proxied, o *inventory.Operation) bool {
	principal := x.Principal.In(p.Subscription.TenantID)
	return o.BelongsTo(principal.TenantID, principal.ObjectID)
}

// renew keeps the record of a URL that is still polled after half of its time:
// operations may run for longer than records are kept.
func (g *Gateway) renew(ctx context.Context, x *exchange.Exchange, o inventory.Operation) {
	now, kept := g.store.Time(), g.config.Operations.Records
	if o.Until.Sub(now) > kept/2 {
		return
	}
	if err := g.store.RenewOperation(ctx, o.Subscription, o.Token, now.Add(kept)); err != nil {
		x.Warn("a polling URL was not renewed", err)
	}
}

// identifyOperation completes a record of a version that knew polling URLs by their
// exact spelling alone.
func (g *Gateway) identifyOperation(ctx context.Context, x *exchange.Exchange, o inventory.Operation) {
	identity := x.Request.OperationIdentity()
	if o.Identity != "" || identity == "" {
		return
	}
	if err := g.store.IdentifyOperation(ctx, o.Subscription, o.Token, identity); err != nil {
		x.Warn("what operation a polling URL is of was not recorded", err)
	}
}

// polled gives the client a provider's answer to a poll.
func (g *Gateway) polled(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied, answer *http.Response) error {
	if p.Operation != nil && p.Operation.Resource != "" {
		ended, err := g.ended(answer, x.Request.Provider.Namespace, p.Region)
		if err != nil {
			return err
		}
		if ended {
			g.settleEnd(r.Context(), x, *p.Operation)
		}
	}
	return g.deliver(r.Context(), w, x, p, answer)
}

// ended reads from a poll's answer whether the operation may be over.
func (g *Gateway) ended(answer *http.Response, namespace, region string) (bool, error) {
	if answer.StatusCode != http.StatusOK {
		return async.MayHaveEnded(answer.StatusCode, nil), nil
	}
	text, err := g.hold(answer, namespace, region)
	return err == nil && async.MayHaveEnded(http.StatusOK, text), err
}

// settleEnd asks what became of an operation that a client saw ended, within the
// time of one question. What the client saw proves nothing: the front door polls by
// itself, and asks for the resource. Where that does not settle the row it stays as
// it is, and is polled and asked for later.
func (g *Gateway) settleEnd(ctx context.Context, x *exchange.Exchange, o inventory.Operation) {
	ctx, cancel := context.WithTimeout(ctx, g.config.Index.AskTimeout)
	defer cancel()
	row, err := g.endOf(ctx, x, o)
	if errors.Is(err, inventory.ErrNotFound) && o.Method != http.MethodDelete {
		if o, err = g.present(ctx, o); err == nil {
			row, err = g.endOf(ctx, x, o)
		}
	}
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return
	case err == nil:
		prober, header := g.resolver.ProberFor(x)
		_, err = prober.Probe(ctx, header, row)
	}
	if err != nil {
		x.Warn("the end of an operation was not confirmed", err)
	}
}

// endOf ends the follow of an operation whose end the front door's own question
// shows, or else hastens the next one, and returns the row that the operation works on.
func (g *Gateway) endOf(ctx context.Context, x *exchange.Exchange, o inventory.Operation) (inventory.Resource, error) {
	row, err := g.store.Resource(ctx, o.Subscription, o.Resource)
	kind := inventory.Put
	switch {
	case err != nil:
		return row, err
	case o.Method == http.MethodDelete:
		kind = inventory.Delete
	case o.Method != http.MethodPut:
		return row, nil
	}
	follow, err := g.store.FollowOf(ctx, o.Subscription, o.Resource, kind, o.Follow)
	if errors.Is(err, inventory.ErrNotFound) {
		return row, nil // its end is known
	}
	if err != nil {
		return row, err
	}
	prober, header := g.resolver.ProberFor(x)
	finished, err := reconcile.Finished(ctx, prober, header, follow, row)
	if err == nil && finished {
		return g.store.EndFollow(ctx, o.Subscription, o.Resource, kind, o.Follow)
	}
	if err != nil {
		x.Warn("an operation that a client saw ended was not polled", err)
	}
	// The poll may have taken all the time that there was.
	hastening, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.config.Index.AskTimeout)
	defer cancel()
	if err := g.store.HastenFollow(hastening, o.Subscription, o.Resource, kind); err != nil {
		return row, err
	}
	return g.store.Resource(ctx, o.Subscription, o.Resource) // which the poll may have settled
}
