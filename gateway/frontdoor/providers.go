package frontdoor

import (
	"fmt"
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/regions"
)

// providers serves the providers of the map and the namespaces of Portico's own types, as
// the tenant and as a subscription see them.
type providers struct {
	store   *inventory.Store
	regions *regions.Map
}

// Routes implements Resource.
func (g providers) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Path: "/providers", Open: "the map is no secret", Handle: g.list},
		{Method: http.MethodGet, Path: "/providers/{ns}", Open: "the map is no secret", Handle: g.get},
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/providers",
			Action: "Microsoft.Resources/subscriptions/providers/read", Partly: true, Handle: g.list,
		},
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/providers/{ns}",
			Action: "Microsoft.Resources/subscriptions/providers/read", Partly: true, Handle: g.get,
		},
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/providers/{ns}/resourcetypes",
			Action: "Microsoft.Resources/subscriptions/providers/read", Partly: true, Handle: g.listTypes,
		},
	}
}

// providerBody is a resource provider as clients see it. The tenant's view lacks the
// members about registration.
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

// providerOf returns a namespace in a state of its registration. The state is ignored if
// the namespace needs no registration.
func (g providers) providerOf(n *namespace, subscription string, state inventory.RegistrationState) providerBody {
	body := providerBody{ID: "/providers/" + n.name, Namespace: n.name, ResourceTypes: g.typesOf(n)}
	if subscription == "" {
		return body
	}
	body.ID = "/subscriptions/" + subscription + body.ID
	body.RegistrationPolicy = "RegistrationRequired"
	if n.needsNoRegistration() {
		body.RegistrationPolicy, state = "RegistrationFree", inventory.Registered
	}
	body.RegistrationState = state.String()
	body.ETag = registrationETag(n.name, state)
	return body
}

// registrationETag returns the tag of a registration: it covers the state, which is all
// that a client can change.
func registrationETag(namespace string, state inventory.RegistrationState) string {
	return arm.WeakETag(map[string]string{"namespace": namespace, "registrationState": state.String()})
}

// RegistrationETag returns a function from a state to the tag of a provider's
// registration.
func RegistrationETag(p *regions.Provider) func(inventory.RegistrationState) string {
	return func(state inventory.RegistrationState) string {
		if p.Registration == regions.Automatic {
			state = inventory.Registered
		}
		return registrationETag(p.Namespace, state)
	}
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
			return fmt.Errorf("list registrations: %w", err)
		}
		for _, registration := range registrations {
			states[registration.Namespace] = registration.State
		}
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(g.namespaces(), func(n *namespace) providerBody {
		return g.providerOf(n, req.Subscription.ID, states[arm.Fold(n.name)])
	}))
}

func (g providers) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	n, err := g.findNamespace(x)
	if err != nil {
		return err
	}
	var registration inventory.Registration
	if req.Subscription.ID != "" && !n.needsNoRegistration() {
		if registration, err = g.store.Registration(r.Context(), req.Subscription.ID, n.name); err != nil {
			return fmt.Errorf("read the registration of a provider: %w", err)
		}
	}
	return answerProvider(w, r, x, g.providerOf(n, req.Subscription.ID, registration.State))
}

func (g providers) listTypes(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
	n, err := g.findNamespace(x)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(g.typesOf(n), func(t typeBody) typeBody { return t }))
}

func answerProvider(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, body providerBody) error {
	if body.ETag == "" {
		return x.Answer(w, http.StatusOK, body)
	}
	return route.AnswerTagged(w, r, x, http.StatusOK, body.ETag, body)
}

// findNamespace returns the namespace that the path names.
func (g providers) findNamespace(x *exchange.Exchange) (*namespace, error) {
	name := x.Request.Path.LastHop().Namespace()
	for _, n := range g.namespaces() {
		if arm.EqualFold(n.name, name) {
			return n, nil
		}
	}
	return nil, arm.NewError(arm.InvalidResourceNamespace, name).WithTarget("resourceProviderNamespace")
}
