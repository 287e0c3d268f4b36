package frontdoor

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/jobs/notify"
	"portico/regions"
)

const featureType = "Microsoft.Features/providers/features"

// features are the features of providers that a subscription can register for.
type features struct {
	store   *inventory.Store
	regions *regions.Map
	jobs    route.Jobs
}

// Routes implements Resource.
func (g features) Routes() []route.Route {
	const all = "/subscriptions/{s}/providers/microsoft.features"
	const one = all + "/providers/{ns}/features/{f}"
	const registrations = all + "/featureproviders/{ns}/subscriptionfeatureregistrations"
	return []route.Route{
		{Method: http.MethodGet, Path: all + "/features", Action: "Microsoft.Features/features/read", Partly: true, Handle: g.list},
		{Method: http.MethodGet, Path: all + "/providers/{ns}/features", Action: "Microsoft.Features/providers/features/read", Partly: true, Handle: g.list},
		{Method: http.MethodGet, Path: one, Action: "Microsoft.Features/providers/features/read", Partly: true, Handle: g.get},
		{Method: http.MethodPost, Path: one + "/register", Action: "Microsoft.Features/providers/features/register/action", Handle: g.set(true)},
		{Method: http.MethodPost, Path: one + "/unregister", Action: "Microsoft.Features/providers/features/unregister/action", Handle: g.set(false)},
		{
			Method: http.MethodGet, Path: all + "/subscriptionfeatureregistrations",
			Action: "Microsoft.Features/subscriptionFeatureRegistrations/read", Partly: true, Handle: g.listRegistrations,
		},
		{Method: http.MethodGet, Path: registrations, Action: featureRegistrationType + "/read", Partly: true, Handle: g.listRegistrations},
		{Method: http.MethodGet, Path: registrations + "/{f}", Action: featureRegistrationType + "/read", Partly: true, Handle: g.getRegistration},
		{Method: http.MethodPut, Path: registrations + "/{f}", Action: featureRegistrationType + "/write", Handle: g.putRegistration},
		{Method: http.MethodDelete, Path: registrations + "/{f}", Action: featureRegistrationType + "/delete", Handle: g.deleteRegistration},
	}
}

// featureBody is a feature of a provider as clients see it.
type featureBody struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Type       string            `json:"type"`
	Properties featureProperties `json:"properties"`
}

type featureProperties struct {
	State string `json:"state"`
}

func featureOf(s inventory.Subscription, full string) featureBody {
	namespace, name, _ := arm.CutFeature(full)
	body := featureBody{
		ID:   "/subscriptions/" + s.ID + "/providers/Microsoft.Features/providers/" + namespace + "/features/" + name,
		Name: full, Type: featureType, Properties: featureProperties{State: inventory.NotRegistered.String()},
	}
	if s.HasFeature(full) {
		body.Properties.State = inventory.Registered.String()
	}
	return body
}

// featuresOf returns the full names of the features of a provider: the ones that the map
// declares, then others that operators have registered.
func featuresOf(p *regions.Provider, s inventory.Subscription) (all []string) {
	for _, name := range p.Features {
		all = append(all, p.Namespace+"/"+name)
	}
	for _, full := range s.Features {
		namespace, name, _ := arm.CutFeature(full)
		if _, declared := p.Feature(name); !declared && arm.EqualFold(namespace, p.Namespace) {
			all = append(all, full)
		}
	}
	return all
}

func (g features) list(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	all, err := g.featureNames(x, req.Subscription)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(all, func(full string) featureBody { return featureOf(req.Subscription, full) }))
}

// featureNames returns the full names of the features that a list is about: of all
// providers, or of the one in its path.
func (g features) featureNames(x *exchange.Exchange, s inventory.Subscription) (all []string, err error) {
	providers := g.regions.Providers()
	if hop := x.Request.Path.LastHop(); hop.Len() > 1 {
		p, err := g.provider(x)
		if err != nil {
			return nil, err
		}
		providers = []*regions.Provider{p}
	}
	for _, p := range providers {
		all = append(all, featuresOf(p, s)...)
	}
	return all, nil
}

func (g features) provider(x *exchange.Exchange) (*regions.Provider, error) {
	namespace := x.Request.Path.LastHop().Segment(1)
	p := g.regions.Provider(namespace)
	if p == nil {
		return nil, arm.NewError(arm.InvalidResourceNamespace, namespace).WithTarget("resourceProviderNamespace")
	}
	return p, nil
}

// findFeature returns the provider and the full name of the feature in a request's path.
func (g features) findFeature(x *exchange.Exchange, s inventory.Subscription) (*regions.Provider, string, error) {
	p, err := g.provider(x)
	if err != nil {
		return nil, "", err
	}
	name := x.Request.Path.LastHop().Segment(3)
	for _, full := range featuresOf(p, s) {
		if arm.EqualFold(full, p.Namespace+"/"+name) {
			return p, full, nil
		}
	}
	return nil, "", arm.NewError(arm.FeatureNotFound, name).WithTarget("featureName")
}

func (g features) get(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	_, full, err := g.findFeature(x, req.Subscription)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, featureOf(req.Subscription, full))
}

// set returns a handler that registers for a feature or unregisters, at once and without
// an approval. The provider is notified.
func (g features) set(on bool) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
		p, full, err := g.findFeature(x, req.Subscription)
		if err != nil {
			return err
		}
		changed, err := g.change(r.Context(), x, req.Subscription, p, full, on)
		if err != nil {
			return err
		}
		return x.Answer(w, http.StatusOK, featureOf(changed, full))
	}
}

func (g features) change(
	ctx context.Context, x *exchange.Exchange, s inventory.Subscription, p *regions.Provider, full string, on bool,
) (inventory.Subscription, error) {
	changed, err := g.store.SetFeature(context.WithoutCancel(ctx), s.ID, full, on, notify.Targets(p))
	if err != nil {
		return changed, admission.Refusal(x, err)
	}
	g.jobs.Nudge(inventory.NoticeJob)
	return changed, nil
}
