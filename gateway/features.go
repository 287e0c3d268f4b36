package gateway

import (
	"context"
	"net/http"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/operations/notify"
	"portico/regions"
)

const featureType = "Microsoft.Features/providers/features"

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

// featureRoutes adds the features of providers that a subscription can be
// registered for.
func (g *Gateway) featureRoutes(m *mux.Router) {
	const features = "/subscriptions/{s}/providers/microsoft.features"
	const one = features + "/providers/{ns}/features/{f}"
	for _, route := range []struct {
		path, method string
		handler      ownHandler
	}{
		{features + "/features", http.MethodGet, g.listFeatures},
		{features + "/providers/{ns}/features", http.MethodGet, g.listFeatures},
		{one, http.MethodGet, g.getFeature},
		{one + "/register", http.MethodPost, g.registerFeature},
		{one + "/unregister", http.MethodPost, g.unregisterFeature},
	} {
		m.Path(route.path).Methods(route.method).Handler(g.ownRoute(g.underLocks(route.handler)))
	}
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

// featuresOf are the full names of the features of a provider: those that the
// map declares, then those that operators have registered beside.
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

func (g *Gateway) listFeatures(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, c ownCall) error {
	providers := g.router.Map.Providers()
	if hop := x.Request.Path.LastHop(); hop.Len() > 1 {
		p, err := g.featureProvider(x)
		if err != nil {
			return err
		}
		providers = []*regions.Provider{p}
	}
	l := exchange.List{Value: []any{}}
	for _, p := range providers {
		for _, full := range featuresOf(p, c.Subscription) {
			l.Value = append(l.Value, featureOf(c.Subscription, full))
		}
	}
	return x.Answer(w, http.StatusOK, l)
}

func (g *Gateway) featureProvider(x *exchange.Exchange) (*regions.Provider, error) {
	namespace := x.Request.Path.LastHop().Segment(1)
	p := g.router.Map.Provider(namespace)
	if p == nil {
		return nil, arm.NewError(arm.InvalidResourceNamespace, namespace).About("resourceProviderNamespace")
	}
	return p, nil
}

// namedFeature is the full name of the feature that a request names.
func (g *Gateway) namedFeature(x *exchange.Exchange, s inventory.Subscription) (*regions.Provider, string, error) {
	p, err := g.featureProvider(x)
	if err != nil {
		return nil, "", err
	}
	name := x.Request.Path.LastHop().Segment(3)
	for _, full := range featuresOf(p, s) {
		if arm.EqualFold(full, p.Namespace+"/"+name) {
			return p, full, nil
		}
	}
	return nil, "", arm.NewError(arm.FeatureNotFound, name).About("featureName")
}

func (g *Gateway) getFeature(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, c ownCall) error {
	_, full, err := g.namedFeature(x, c.Subscription)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, featureOf(c.Subscription, full))
}

func (g *Gateway) registerFeature(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	return g.setFeature(w, r, x, c, true)
}

func (g *Gateway) unregisterFeature(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	return g.setFeature(w, r, x, c, false)
}

// setFeature registers for a feature at once: nobody approves of it. The
// provider is told.
func (g *Gateway) setFeature(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall, on bool) error {
	p, full, err := g.namedFeature(x, c.Subscription)
	if err != nil {
		return err
	}
	changed, err := g.store.SetFeature(context.WithoutCancel(r.Context()), c.Subscription.ID, full, on, notify.Targets(p))
	if err != nil {
		return admission.Refusal(x, err)
	}
	g.runner.Nudge(inventory.NoticeJob)
	return x.Answer(w, http.StatusOK, featureOf(changed, full))
}
