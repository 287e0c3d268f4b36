package frontdoor

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
)

// metadata describes the cloud to clients.
type metadata struct {
	config config.Metadata
	public *url.URL
}

// Routes implements Resource.
func (g metadata) Routes() []route.Route {
	return []route.Route{{Method: http.MethodGet, Path: "/metadata/endpoints", Open: "clients read it before they sign in", Handle: g.get}}
}

// environment is the description of a cloud for clients (GET /metadata/endpoints).
type environment struct {
	Name            string         `json:"name"`
	Authentication  authentication `json:"authentication"`
	ResourceManager string         `json:"resourceManager"`
	MicrosoftGraph  string         `json:"microsoftGraphResourceId,omitempty"`
	Suffixes        suffixes       `json:"suffixes"`
}

// suffixes are the domain suffixes of the cloud's other services.
type suffixes struct {
	Storage  string `json:"storage,omitempty"`
	KeyVault string `json:"keyVaultDns,omitempty"`
}

type authentication struct {
	LoginEndpoint    string   `json:"loginEndpoint,omitempty"`
	Audiences        []string `json:"audiences"`
	Tenant           string   `json:"tenant,omitempty"`
	IdentityProvider string   `json:"identityProvider,omitempty"`
}

// oldEnvironment is the older form. The endpoints of services that this cloud does not
// have are empty, not absent: `az cloud register` refuses a cloud whose answer has no
// graphEndpoint.
type oldEnvironment struct {
	GalleryEndpoint string         `json:"galleryEndpoint"`
	GraphEndpoint   string         `json:"graphEndpoint"`
	PortalEndpoint  string         `json:"portalEndpoint"`
	Authentication  authentication `json:"authentication"`
}

// The api-versions at which the answer changed its form: at first it was an object of
// little more than authentication, then an array of environments, now it is a single
// environment.
const (
	firstArrayVersion  = "2019-05-01"
	firstObjectVersion = "2022-09-01"
)

// environment returns the cloud as configured.
func (g metadata) environment() environment {
	m := g.config
	// Clients append "/TENANT/…" with or without a slash of their own; issuers do not
	// accept "//".
	login := authentication{
		LoginEndpoint: strings.TrimRight(m.LoginEndpoint, "/"), Audiences: m.Audiences, Tenant: cmp.Or(m.Tenant, "common"), IdentityProvider: "AAD",
	}
	if login.Audiences == nil {
		login.Audiences = []string{g.public.String()}
	}
	return environment{
		Name: m.Name, Authentication: login, ResourceManager: g.public.String(),
		MicrosoftGraph: m.GraphEndpoint, Suffixes: suffixes{Storage: m.Suffixes.Storage, KeyVault: m.Suffixes.KeyVault},
	}
}

// TemplateEnvironment returns the value of environment() in templates: the same
// description under the names that templates use. Its addresses end in a slash, as
// templates append paths to them.
func TemplateEnvironment(c config.Metadata, public *url.URL) json.RawMessage {
	of := struct {
		environment
		Graph string `json:"graph,omitempty"`
	}{metadata{c, public}.environment(), c.GraphEndpoint}
	of.ResourceManager = strings.TrimRight(of.ResourceManager, "/") + "/"
	if of.Authentication.LoginEndpoint != "" {
		of.Authentication.LoginEndpoint += "/"
	}
	text, _ := json.Marshal(of) // strings always marshal
	return text
}

func (g metadata) get(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, _ route.Request) error {
	e := g.environment()
	version := x.Request.Query.APIVersion
	if arm.NumberedAPIVersion(version) || version < firstArrayVersion {
		e.Authentication.IdentityProvider, e.Authentication.Tenant = "", g.config.Tenant
		return x.Answer(w, http.StatusOK, oldEnvironment{GraphEndpoint: e.MicrosoftGraph, Authentication: e.Authentication})
	}
	if version < firstObjectVersion {
		return x.Answer(w, http.StatusOK, []environment{e})
	}
	return x.Answer(w, http.StatusOK, e)
}
