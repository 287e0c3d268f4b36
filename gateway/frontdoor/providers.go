package frontdoor

import (
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/regions"
)

// providers are those of the map, as the tenant and as a subscription see them.
type providers struct {
	store   *inventory.Store
	regions *regions.Map
}

// Routes implements Resource.
func (g providers) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Path: "/providers", Open: "the map is no secret", Handle: g.list},
		{Method: http.MethodGet, Path: "/providers/{ns}", Open: "the map is no secret", Handle: g.get},
		{Method: http.MethodGet, Path: "/subscriptions/{s}/providers", Action: "Microsoft.Resources/subscriptions/providers/read", Partly: true, Handle: g.list},
		{Method: http.MethodGet, Path: "/subscriptions/{s}/providers/{ns}", Action: "Microsoft.Resources/subscriptions/providers/read", Partly: true, Handle: g.get},
		{Method: http.MethodGet, Path: "/subscriptions/{s}/providers/{ns}/resourcetypes", Action: "Microsoft.Resources/subscriptions/providers/read", Partly: true, Handle: g.listTypes},
	}
}

// providerBody is a resource provider as clients see it. Of the tenant's view
// the members about registration are left out.
type providerBody struct {
	ID                 string     `json:"id"`
	Namespace          string     `json:"namespace"`
	RegistrationPolicy string     `json:"registrationPolicy,omitempty"`
	RegistrationState  string     `json:"registrationState,omitempty"`
	ResourceTypes      []typeBody `json:"resourceTypes"`
	ETag               string     `json:"etag,omitempty"`
}

type typeBody struct {
	ResourceType      string   `json:"resourceType"`
	Locations         []string `json:"locations"`
	APIVersions       []string `json:"apiVersions"`
	DefaultAPIVersion string   `json:"defaultApiVersion"`
	Capabilities      string   `json:"capabilities"`
}

func (g providers) providerOf(p *regions.Provider, subscription, state string) providerBody {
	body := providerBody{ID: "/providers/" + p.Namespace, Namespace: p.Namespace, ResourceTypes: []typeBody{}}
	for _, t := range p.Types() {
		body.ResourceTypes = append(body.ResourceTypes, g.typeOf(t))
	}
	if subscription == "" {
		return body
	}
	body.ID = "/subscriptions/" + subscription + body.ID
	body.RegistrationPolicy = "RegistrationRequired"
	if p.Registration == regions.Automatic {
		body.RegistrationPolicy = "RegistrationFree"
	}
	body.RegistrationState = state
	body.ETag = registrationETag(p, state)
	return body
}

// registrationETag is the tag of a registration: of what a client can change of
// it, which is its state.
func registrationETag(p *regions.Provider, state string) string {
	return arm.WeakETag(map[string]string{"namespace": p.Namespace, "registrationState": state})
}

// RegistrationETag makes the tags of registrations of a provider, by their states.
func RegistrationETag(p *regions.Provider) func(inventory.RegistrationState) string {
	return func(state inventory.RegistrationState) string { return registrationETag(p, stateOf(p, state)) }
}

func (g providers) typeOf(t *regions.ResourceType) typeBody {
	body := typeBody{
		ResourceType: t.Name, Locations: []string{}, APIVersions: t.APIVersions,
		DefaultAPIVersion: t.DefaultAPIVersion(), Capabilities: capabilities(t),
	}
	for _, name := range t.Locations {
		if region, ok := g.regions.Region(name); ok {
			name = region.DisplayName
		}
		body.Locations = append(body.Locations, name)
	}
	return body
}

func capabilities(t *regions.ResourceType) string {
	var names []string
	if t.Capabilities.Move {
		names = append(names, "CrossResourceGroupResourceMove", "CrossSubscriptionResourceMove")
	}
	if t.Capabilities.Tags {
		names = append(names, "SupportsTags")
	}
	if t.Kind == regions.Tracked {
		names = append(names, "SupportsLocation")
	}
	if t.Kind == regions.Extension {
		names = append(names, "SupportsExtension")
	}
	if len(names) == 0 {
		return "None"
	}
	return strings.Join(names, ", ")
}

func (g providers) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	states := map[string]inventory.RegistrationState{}
	if req.Subscription.ID != "" {
		registrations, err := g.store.Registrations(r.Context(), req.Subscription.ID)
		if err != nil {
			return err
		}
		for _, registration := range registrations {
			states[registration.Namespace] = registration.State
		}
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(g.regions.Providers(), func(p *regions.Provider) providerBody {
		return g.providerOf(p, req.Subscription.ID, stateOf(p, states[p.Key]))
	}))
}

// stateOf is the state that clients see: providers that need no registration
// are registered everywhere.
func stateOf(p *regions.Provider, state inventory.RegistrationState) string {
	if p.Registration == regions.Automatic {
		state = inventory.Registered
	}
	return state.String()
}

func (g providers) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, err := namedProvider(x)
	if err != nil {
		return err
	}
	state := ""
	if req.Subscription.ID != "" {
		registration, err := g.store.Registration(r.Context(), req.Subscription.ID, p.Key)
		if err != nil {
			return err
		}
		state = stateOf(p, registration.State)
	}
	return answerProvider(w, r, x, g.providerOf(p, req.Subscription.ID, state))
}

func (g providers) listTypes(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
	p, err := namedProvider(x)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(p.Types(), g.typeOf))
}

func answerProvider(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, body providerBody) error {
	if body.ETag == "" {
		return x.Answer(w, http.StatusOK, body)
	}
	return route.AnswerTagged(w, r, x, http.StatusOK, body.ETag, body)
}

func namedProvider(x *exchange.Exchange) (*regions.Provider, error) {
	if x.Request.Provider == nil {
		return nil, arm.NewError(arm.InvalidResourceNamespace, x.Request.Path.LastHop().Namespace()).About("resourceProviderNamespace")
	}
	return x.Request.Provider, nil
}
