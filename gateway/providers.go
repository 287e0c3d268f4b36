package gateway

import (
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/regions"
)

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

func (g *Gateway) providerOf(p *regions.Provider, subscription, state string) providerBody {
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
	body.ETag = registrationETag(p.Namespace, state)
	return body
}

// registrationETag is the tag of a registration: of what a client can change of
// it, which is its state.
func registrationETag(namespace, state string) string {
	return arm.WeakETag(map[string]string{"namespace": namespace, "registrationState": state})
}

func (g *Gateway) typeOf(t *regions.ResourceType) typeBody {
	body := typeBody{
		ResourceType: t.Name, Locations: []string{}, APIVersions: t.APIVersions,
		DefaultAPIVersion: defaultVersion(t.APIVersions), Capabilities: capabilities(t),
	}
	for _, name := range t.Locations {
		if region, ok := g.router.Map.Region(name); ok {
			name = region.DisplayName
		}
		body.Locations = append(body.Locations, name)
	}
	return body
}

// defaultVersion is the newest version that is no preview; of previews alone,
// the newest. versions are newest first.
func defaultVersion(versions []string) string {
	for _, v := range versions {
		if arm.StableAPIVersion(v) {
			return v
		}
	}
	return versions[0]
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

func (g *Gateway) listProviders(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	states := map[string]inventory.RegistrationState{}
	if c.Subscription.ID != "" {
		registrations, err := g.store.Registrations(r.Context(), c.Subscription.ID)
		if err != nil {
			return err
		}
		for _, registration := range registrations {
			states[registration.Namespace] = registration.State
		}
	}
	l := exchange.List{Value: []any{}}
	for _, p := range g.router.Map.Providers() {
		l.Value = append(l.Value, g.providerOf(p, c.Subscription.ID, stateOf(p, states[p.Key])))
	}
	return x.Answer(w, http.StatusOK, l)
}

// stateOf is the state that clients see: providers that need no registration
// are registered everywhere.
func stateOf(p *regions.Provider, state inventory.RegistrationState) string {
	if p.Registration == regions.Automatic {
		state = inventory.Registered
	}
	return state.String()
}

func (g *Gateway) getProvider(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	p, err := g.namedProvider(x)
	if err != nil {
		return err
	}
	state := ""
	if c.Subscription.ID != "" {
		registration, err := g.store.Registration(r.Context(), c.Subscription.ID, p.Key)
		if err != nil {
			return err
		}
		state = stateOf(p, registration.State)
	}
	return g.answerProvider(w, r, x, g.providerOf(p, c.Subscription.ID, state))
}

func (g *Gateway) answerProvider(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, body providerBody) error {
	if body.ETag != "" {
		w.Header()["ETag"] = []string{body.ETag}
		if r.Method == http.MethodGet && arm.ParsePreconditions(r.Header).NotModified(body.ETag) {
			return x.Answer(w, http.StatusNotModified, nil)
		}
	}
	return x.Answer(w, http.StatusOK, body)
}

func (g *Gateway) namedProvider(x *exchange.Exchange) (*regions.Provider, error) {
	if x.Request.Provider == nil {
		return nil, arm.NewError(arm.InvalidResourceNamespace, x.Request.Path.LastHop().Namespace()).About("resourceProviderNamespace")
	}
	return x.Request.Provider, nil
}
