package frontdoor

import (
	"context"
	"errors"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/jobs/notify"
	"portico/regions"
	"portico/routing"
)

// registrations registers subscriptions for providers.
type registrations struct {
	store      *inventory.Store
	providers  providers
	jobs       route.Jobs
	notifyWait time.Duration // bounds the wait for endpoints to be notified
}

// Routes implements Resource.
func (g registrations) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodPost, Path: "/subscriptions/{s}/providers/{ns}/register", ActionOf: (*routing.Request).LiteralAction, Handle: g.register},
		{Method: http.MethodPost, Path: "/subscriptions/{s}/providers/{ns}/unregister", ActionOf: (*routing.Request).LiteralAction, Handle: g.unregister},
	}
}

// register registers the subscription. The answer has the state Registering, as clients
// expect; the next GET has Registered.
func (g registrations) register(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	return g.change(w, r, x, req, g.store.Register)
}

// unregister unregisters the subscription. It is refused if the namespace needs no
// registration: clients would wait for a state that never comes. It is also refused while
// the subscription holds resources of the provider, or may hold some that the index does
// not know.
func (g registrations) unregister(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	return g.change(w, r, x, req, func(ctx context.Context, change inventory.RegistrationChange) (inventory.Registration, error) {
		check := change.Check
		unknown, err := g.mayHoldUnknown(ctx, req.Subscription, x.Request.Provider)
		if err != nil {
			return inventory.Registration{}, err
		}
		change.Check = func(current inventory.Registration) error {
			if err := check(current); err != nil || !unknown || !current.State.Permits() {
				return err
			}
			return inventory.ErrNamespaceInUse
		}
		return g.store.Unregister(ctx, change)
	})
}

// mayHoldUnknown reports whether a region may hold resources of a provider that the index
// does not know.
func (g registrations) mayHoldUnknown(ctx context.Context, sub inventory.Subscription, p *regions.Provider) (bool, error) {
	if p == nil || sub.Covered {
		return false, nil
	}
	for _, t := range p.Types() {
		if t.Kind != regions.Tracked {
			continue
		}
		uncovered, err := g.store.Coverage.Uncovered(ctx, sub.ID, t.Key, t.EffectiveRegions())
		if err != nil || len(uncovered) > 0 {
			return true, err
		}
	}
	return false, nil
}

// change changes the state, unless the request's preconditions fail or the store refuses,
// and waits a moment until the endpoints are notified.
func (g registrations) change(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request,
	change func(context.Context, inventory.RegistrationChange) (inventory.Registration, error),
) error {
	n, err := g.providers.findNamespace(x)
	if err != nil {
		return err
	}
	conditions := route.Preconditions(r, x)
	if n.needsNoRegistration() {
		return g.answerAutomatic(w, r, x, req, n, conditions)
	}
	p := n.provider
	check := func(current inventory.Registration) error {
		return conditions(RegistrationETag(p)(current.State))
	}
	ctx := context.WithoutCancel(r.Context())
	registration, err := change(ctx, inventory.RegistrationChange{
		Subscription: req.Subscription.ID, Namespace: p.Namespace, Check: check, Targets: notify.Targets(p), ETag: RegistrationETag(p),
	})
	if errors.Is(err, inventory.ErrNamespaceInUse) {
		return arm.NewError(arm.UnregisterNotAllowed, p.Namespace).WithTarget(p.Namespace)
	}
	if err != nil {
		return admission.Refusal(x, err)
	}
	g.complete(ctx, x, registration, p)
	return answerProvider(w, r, x, g.providers.providerOf(n, req.Subscription.ID, registration.State))
}

// answerAutomatic answers for a namespace that is always registered everywhere.
func (g registrations) answerAutomatic(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request, n *namespace,
	conditions func(etag string) error,
) error {
	if err := conditions(registrationETag(n.name, inventory.Registered)); err != nil {
		return err
	}
	if arm.EqualFold(x.Request.Path.LastHop().Segment(0), "unregister") {
		return arm.NewError(arm.Conflict).WithMessage("The namespace '%s' needs no registration, and cannot be unregistered.", n.name).WithTarget(n.name)
	}
	return answerProvider(w, r, x, g.providers.providerOf(n, req.Subscription.ID, inventory.Registered))
}

// noticeInterval is the pause between two checks whether the endpoints are notified.
const noticeInterval = 10 * time.Millisecond

// complete waits until the endpoints are notified of a registration, as they would judge
// the client's next request by the old one, and then completes it. An endpoint that does
// not answer in time is notified later. If this fails, a job completes the registration.
func (g registrations) complete(ctx context.Context, x *exchange.Exchange, r inventory.Registration, p *regions.Provider) {
	if r.State != inventory.Registering && r.State != inventory.Unregistering {
		return
	}
	g.jobs.Nudge(inventory.NoticeJob)
	waiting, cancel := context.WithTimeout(ctx, g.notifyWait)
	defer cancel()
	ticker := time.NewTicker(noticeInterval)
	defer ticker.Stop()
	for open := 1; open > 0 && waiting.Err() == nil; {
		select {
		case <-waiting.Done():
		case <-ticker.C:
			n, err := g.store.Notices.CountOpen(waiting, r.Subscription, r.Namespace)
			if err == nil {
				open = n
			}
		}
	}
	if _, err := g.store.SettleRegistration(ctx, r.Subscription, p.Namespace, RegistrationETag(p)); err != nil {
		x.Warn("a registration was not settled; a job will do it", err)
	}
}
