package gateway

import (
	"net/http"
)

// environment is how clients learn of a cloud (GET /metadata/endpoints).
type environment struct {
	Name            string            `json:"name"`
	Authentication  authentication    `json:"authentication"`
	ResourceManager string            `json:"resourceManager"`
	Suffixes        map[string]string `json:"suffixes"`
}

type authentication struct {
	LoginEndpoint    string   `json:"loginEndpoint,omitempty"`
	Audiences        []string `json:"audiences"`
	Tenant           string   `json:"tenant,omitempty"`
	IdentityProvider string   `json:"identityProvider,omitempty"`
}

// oldEnvironment is the older form. The endpoints of services that this cloud
// does not have are empty, not absent: `az cloud register` refuses a cloud whose
// answer has no graphEndpoint.
type oldEnvironment struct {
	GalleryEndpoint string         `json:"galleryEndpoint"`
	GraphEndpoint   string         `json:"graphEndpoint"`
	PortalEndpoint  string         `json:"portalEndpoint"`
	Authentication  authentication `json:"authentication"`
}

// firstArrayVersion is the api-version from which the answer is an array of
// environments; before, it was one object of another form.
const firstArrayVersion = "2019-05-01"

func (g *Gateway) metadata(w http.ResponseWriter, _ *http.Request, x *exchange, _ ownCall) error {
	m := g.config.Metadata
	login := authentication{LoginEndpoint: m.LoginEndpoint, Audiences: m.Audiences, Tenant: m.Tenant}
	if login.Audiences == nil {
		login.Audiences = []string{g.public.String()}
	}
	if x.request.Query.APIVersion < firstArrayVersion {
		return g.answer(w, x, http.StatusOK, oldEnvironment{Authentication: login})
	}
	login.IdentityProvider = "AAD"
	return g.answer(w, x, http.StatusOK, []environment{{
		Name: m.Name, Authentication: login, ResourceManager: g.public.String(), Suffixes: map[string]string{},
	}})
}
