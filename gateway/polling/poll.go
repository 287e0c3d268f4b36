package polling

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/polls"
	"portico/jobs/reconcile"
	"portico/routing"
	"portico/upstream/answers"
)

// Provider sends one poll to its provider, and delivers the answers to the client.
type Provider interface {
	// Fetch sends the poll unchanged. It returns no answer if the poll has to be resolved
	// again first; the poll is then not answered.
	Fetch() (*http.Response, error)
	// FetchPath sends a GET of another path to the endpoint of a decision.
	FetchPath(d *routing.Decision, path, query string) (*http.Response, error)
	// Buffer reads a complete answer, decompressed, and puts it back as its body.
	Buffer(answer *http.Response, namespace, region string) ([]byte, error)
	// Deliver sends an answer of the endpoint of a decision to the client.
	Deliver(d *routing.Decision, answer *http.Response) error
}

type poll struct {
	*Forwarded
	Provider
	w http.ResponseWriter
	r *http.Request
	x *exchange.Exchange
	d *routing.Decision
}

// Answer forwards a poll of an operation. If the answer shows that the operation may have
// ended, Portico confirms that and probes the resource before the client gets the answer,
// so that the index is right for the client's next request. Other callers than the
// operation's get a 404 (async reference, Operation result rules).
func (f *Forwarded) Answer(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *routing.Decision, provider Provider) error {
	p := &poll{f, provider, w, r, x, d}
	if o := d.Operation; o != nil {
		if caller := x.Principal.In(d.Subscription.TenantID); !o.BelongsTo(caller.TenantID, caller.ObjectID) {
			return x.Request.Unroutable()
		}
		if x.Request.Type == nil { // otherwise the path is also a resource's
			f.renewRecord(r.Context(), x, *o)
		}
		if o.PollsAnotherURL() {
			return p.answerTarget()
		}
		if d.Endpoint == nil {
			return noEndpointToPoll(o)
		}
	}
	answer, err := p.Fetch()
	if answer == nil {
		return err
	}
	defer answer.Body.Close()
	return p.deliverPolled(answer)
}

// noEndpointToPoll returns the error for an operation whose region has left the map. It
// is a 503, as clients would take a 404 for a failed operation.
func noEndpointToPoll(o *polls.Operation) *arm.Error {
	fault := arm.NewError(arm.NoRegisteredProviderFound, "", "", "", "", "").WithStatus(http.StatusServiceUnavailable)
	return fault.WithMessage("No endpoint of the provider '%s' is configured in the location '%s', where the operation runs.", o.Namespace, o.Region).WithTarget(o.Region)
}

// renewRecord extends the record of a URL that is still polled after half of its
// lifetime: operations may run for longer than records live.
func (f *Forwarded) renewRecord(ctx context.Context, x *exchange.Exchange, o polls.Operation) {
	now, kept := f.Store.Now(), f.Settings.Records
	if o.Until.Sub(now) > kept/2 {
		return
	}
	if err := f.Store.Operations.Renew(ctx, o.Subscription, o.Token, now.Add(kept)); err != nil {
		x.Warn("a polling URL was not renewed", err)
	}
}

// deliverPolled delivers a provider's answer to the poll, after confirming an end that it
// shows.
func (p *poll) deliverPolled(answer *http.Response) error {
	if p.d.Operation != nil && p.d.Operation.Resource != "" {
		ended, err := p.showsEnd(answer)
		if err != nil {
			return err
		}
		if ended {
			p.confirmEnd(p.r.Context(), p.x, *p.d.Operation)
		}
	}
	return p.Deliver(p.d, answer)
}

// showsEnd reports whether an answer to the poll shows that the operation may have ended.
func (p *poll) showsEnd(answer *http.Response) (bool, error) {
	if answer.StatusCode != http.StatusOK {
		return answers.MayHaveEnded(answer.StatusCode, nil), nil
	}
	text, err := p.Buffer(answer, p.x.Request.Provider.Namespace, p.d.Region)
	return err == nil && answers.MayHaveEnded(http.StatusOK, text), err
}

// confirmEnd confirms an end that a client saw, which proves nothing: Portico polls under
// its own identity and probes the resource, within the time of one probe. If that does
// not settle the row, jobs do it later.
func (f *Forwarded) confirmEnd(ctx context.Context, x *exchange.Exchange, o polls.Operation) {
	ctx, cancel := context.WithTimeout(ctx, f.Config.Index.AskTimeout)
	defer cancel()
	row, err := f.endFollow(ctx, x, o)
	if errors.Is(err, inventory.ErrNotFound) && o.Method != http.MethodDelete {
		if o, err = f.withCurrentNames(ctx, o); err == nil {
			row, err = f.endFollow(ctx, x, o)
		}
	}
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return
	case err == nil:
		prober, header := f.Resolver.ProberFor(x)
		_, err = prober.Probe(ctx, header, row)
	}
	if err != nil {
		x.Warn("the end of an operation was not confirmed", err)
	}
}

// endFollow polls an operation under Portico's own identity. If the operation has ended,
// it ends the follow, else it brings the follow's next poll forward. It returns the row
// of the operation's resource.
func (f *Forwarded) endFollow(ctx context.Context, x *exchange.Exchange, o polls.Operation) (inventory.Resource, error) {
	row, err := f.Store.Resource(ctx, o.Subscription, o.Resource)
	kind, writes := map[string]index.WriteKind{http.MethodPut: index.Put, http.MethodDelete: index.Delete, http.MethodPatch: index.Patch}[o.Method]
	if err != nil || !writes {
		return row, err
	}
	follow, err := f.Store.Follows.Get(ctx, o.Subscription, o.Resource, kind, o.Follow)
	if errors.Is(err, inventory.ErrNotFound) {
		return row, nil // the follow has ended
	}
	if err != nil {
		return row, fmt.Errorf("read the follow of an operation: %w", err)
	}
	prober, header := f.Resolver.ProberFor(x)
	finished, why, err := reconcile.Finished(ctx, prober, header, follow, row)
	if err == nil && finished {
		return f.Store.Follows.End(ctx, o.Subscription, o.Resource, kind, o.Follow, why)
	}
	if err != nil {
		x.Warn("could not poll an operation whose end a client saw", err)
	}
	// The poll may have used up the time.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.Config.Index.AskTimeout)
	defer cancel()
	if err := f.Store.Follows.PollSoon(within, o.Subscription, o.Resource, kind); err != nil {
		return row, fmt.Errorf("bring forward the poll of an operation: %w", err)
	}
	return f.Store.Resource(ctx, o.Subscription, o.Resource) // the poll may have settled it
}
