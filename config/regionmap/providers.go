package regionmap

import (
	"net/http"
	"strings"

	"portico/arm"
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
	"portico/tracing/headers"
)

// provider is a provider while it is read.
type provider struct {
	regions.ProviderDeclaration
	types []typeNodes
	spec  []locatedText
}

func (b *mapReader) providerRows() *setting.Setting {
	namespaces, internal := b.Unique("namespace"), b.Unique("internal subscription")
	return setting.Mappings("providers", "The resource providers, with the types that each of them serves.",
		func(p *provider) []*setting.Setting { return b.rowsOfProvider(p, internal) },
		func(o *setting.Object, p provider) {
			b.checkTemplate(o, &p.Template, p.Namespace)
			if o.Get("credential") == nil {
				p.Credential = regions.Credential{} // do not keep defaults without a credential
			}
			b.readShapes(&p)
			at := o.Right("namespace")
			if CheckNamespace(b.Report, at, p.Namespace) && namespaces.Add(at, arm.Fold(p.Namespace), p.Namespace) {
				b.declaration.Providers = append(b.declaration.Providers, p.ProviderDeclaration)
				b.providers = append(b.providers, providerNodes{o, p.types})
			}
		}).Default("none")
}

// endpointsDoc begins the description of endpoints.
const endpointsDoc = "A region's addresses, a list for each, under the region's name; `global` serves the provider's tenant calls and global types."

// ProviderRows returns the settings of a provider that the region map and certify.yaml share.
func ProviderRows(p *regions.ProviderDeclaration) []*setting.Setting {
	return []*setting.Setting{
		setting.Required("namespace", &p.Namespace, rule.TextLike(namespaceForm),
			"The provider's namespace. Microsoft.Resources, Microsoft.Authorization and Microsoft.Features are the gateway's own.").Identity(nil),
		setting.Value("registration", &p.Registration, rule.Enum(regions.Registrations()), regions.Registration(0),
			"`required`: a subscription registers before it uses the provider. `automatic`: every subscription counts as registered."),
	}
}

func (b *mapReader) rowsOfProvider(p *provider, internal *yamltree.Unique) []*setting.Setting {
	return append(ProviderRows(&p.ProviderDeclaration),
		textList("features", rule.FeatureName(), b.Unique("feature"), &p.Features,
			"Features that subscriptions can register for, without the namespace. Providers are told of those that they have.").ShortPath().Default("none"),
		setting.AddressesByRegion("endpoints",
			endpointsDoc+" They serve all types without endpoints of their own. Several addresses of one region are called in turn.",
			func(o *setting.Object) { p.Endpoints = b.readEndpoints(o) }).Default("none; each provider needs a global one"),
		setting.Value("endpointTemplate", &p.Template, rule.AddressTemplate(), "",
			"The address in the regions that `endpoints` does not name. `{region}`, `{subservice}` (of the type) and "+
				"`{namespace}` (in lower case) are filled in.").Allowed(templateForm),
		textList("internalSubscriptions", rule.GUID(), internal, &p.InternalSubscriptions,
			"The provider's own subscriptions. What is made there on behalf of customers has to carry the tag `resourceCreatedFor`, "+
				"the ID of the customer's resource, or is refused with 403.").ShortPath().NonEmpty("subscription ids, or no internalSubscriptions").
			Default("none"),
		setting.Mapping("headers", "Headers that pass between clients and this provider beside the standard ones and `x-ms-*`..",
			textList("request", headerName("header of requests that may pass",
				"names of letters, digits and hyphens, such as X-Contoso-Trace; none of a credential, an identity, a connection or the message's frame",
				headers.MayRequest),
				b.Unique("header"), &p.RequestHeaders,
				"Further headers of requests that reach the provider. Credentials, identities and what concerns one connection or the message's "+
					"frame cannot be listed.").Default("none"),
			textList("response", headerName("header of answers that may pass",
				"names of letters, digits and hyphens, such as X-Contoso-Trace; none that speaks for the gateway's host, of a connection "+
					"or of the message's frame", headers.MayAnswer),
				b.Unique("header"), &p.AnswerHeaders,
				"Further headers of the provider's answers that reach clients. What speaks for the gateway's host to browsers (`Set-Cookie`, "+
					"`Access-Control-*`, …) or commands a proxy in front of it cannot be listed.").Default("none"),
		),
		textList("redirectHosts", rule.RedirectHost(), b.Unique("host"), &p.RedirectHosts,
			"Hosts to which the provider may redirect clients beside the gateway itself, maybe with a port, or `*.` and a domain for all hosts below "+
				"that. A redirect to any other is answered with 502.").Default("none"),
		setting.Removed("httpClient", "all providers are called as by `auto`, which was the default"),
		files.TLSRows(b.files, &p.TLS, "TLS towards this provider, in place of `upstream.tls`. The files are read anew when they change.",
			"that of `upstream.tls`", "those of `upstream.tls`"),
		b.credentialRows(&p.Credential),
		locatedTextList("spec", rule.File(), b.Unique("document"), &p.spec,
			"OpenAPI documents (2 or 3, JSON or YAML) that say what the bodies of the types hold, each for the api-version that its `info.version` names; "+
				"paths are relative to the file they stand in. Planned bodies are held to them. The documents are read anew when they change.").Default("none"),
		setting.Value("validation", &p.Validation, rule.Enum(regions.Validations()), regions.ValidatePlans,
			"What is held to the documents of `spec`. `preflight`: bodies that clients plan. `write`: bodies of `PUT` requests too; one that does not fit "+
				"is answered with 400. `off`: nothing."),
		b.typeRows(p),
	)
}

func (b *mapReader) credentialRows(c *regions.Credential) *setting.Setting {
	legal := func(name string) bool { return strings.EqualFold(name, "Authorization") || headers.MayRequest(name) }
	return setting.Mapping("credential", "A secret by which this provider knows the gateway, beside or in place of the gateway's certificate.",
		setting.Value("header", &c.Header, headerName("header of a credential",
			"Authorization, or a name of letters, digits and hyphens that no other part of a request has, such as X-Contoso-Key", legal), "Authorization",
			"The header that each call to the provider carries, in place of any that a client has sent."),
		setting.Required("file", &c.File, rule.File(),
			"The file of the header's value, such as `Bearer …`, on one line. It is read anew when it changes."),
	).Check(func(o *setting.Object) {
		if n := o.Right("file"); n != nil {
			c.File = b.files.NamedFile(n, yamltree.Join(o.Path, "file"), c.File)
		}
	}).IfGiven().Default("none")
}

func headerName(noun, allowed string, may func(name string) bool) rule.Rule[string] {
	return rule.Rule[string]{
		Parse:   func(text string) (string, bool) { return http.CanonicalHeaderKey(text), may(text) },
		Shown:   true,
		Noun:    noun,
		Allowed: allowed,
		Schema:  rule.Schema{Patterns: []string{"^[0-9A-Za-z-]{1,64}$"}},
	}
}
