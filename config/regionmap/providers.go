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
	return setting.Mappings("providers", "Resource providers, with their types.",
		func(p *provider) []*setting.Setting { return b.rowsOfProvider(p, internal) },
		func(o *setting.Object, p provider) {
			b.checkTemplate(o, &p.Template, p.Namespace)
			if o.Get("credential") == nil {
				p.Credential = regions.Credential{} // do not keep defaults without a credential
			}
			b.readShapes(&p)
			at := o.Valid("namespace")
			if CheckNamespace(b.Report, at, p.Namespace) && namespaces.Add(at, arm.Fold(p.Namespace), p.Namespace) {
				b.declaration.Providers = append(b.declaration.Providers, p.ProviderDeclaration)
				b.providers = append(b.providers, providerNodes{o, p.types})
			}
		}).Default("none")
}

// endpointsDoc begins the description of endpoints.
const endpointsDoc = "Lists of addresses, by the name of their region. The addresses under `global` serve the provider's tenant calls and global " +
	"types."

// ProviderRows returns the settings of a provider that the region map and certify.yaml share.
func ProviderRows(p *regions.ProviderDeclaration) []*setting.Setting {
	return []*setting.Setting{
		setting.Required("namespace", &p.Namespace, rule.TextLike(namespaceForm),
			"The provider's namespace. Microsoft.Resources, Microsoft.Authorization and Microsoft.Features are the gateway's own.").Identity(nil),
		setting.Value("registration", &p.Registration, rule.Enum(regions.Registrations()), regions.Registration(0),
			"`required`: a subscription must register before it uses the provider. `automatic`: every subscription is registered."),
	}
}

func (b *mapReader) rowsOfProvider(p *provider, internal *yamltree.Unique) []*setting.Setting {
	return append(ProviderRows(&p.ProviderDeclaration),
		setting.Value("contact", &p.Contact, rule.Text(), "",
			"How operators reach the people who run the provider: a mail address, a channel, a URL. Problems of the provider name it.").Default("none"),
		textList("features", rule.FeatureName(), b.Unique("feature"), &p.Features,
			"Features that subscriptions can register for, without the namespace. Providers are sent the registered features.").ShortPath().Default("none"),
		setting.AddressesByRegion("endpoints",
			endpointsDoc+" They serve all types without their own endpoints. Several addresses of a region are used in turn.",
			func(o *setting.Object) { p.Endpoints = b.readEndpoints(o) }).Default("none; each provider needs a global endpoint"),
		setting.Value("endpointTemplate", &p.Template, rule.AddressTemplate(), "",
			"The address in regions that are not in `endpoints`. `{region}`, `{subservice}` (of the type) and `{namespace}` (in lower case) are "+
				"replaced.").Allowed(templateForm),
		textList("internalSubscriptions", rule.GUID(), internal, &p.InternalSubscriptions,
			"The provider's own subscriptions. Resources created there on behalf of customers must have the tag `resourceCreatedFor` with the ID "+
				"of the customer's resource; otherwise they are refused with 403.").ShortPath().NonEmpty("subscription ids, or no internalSubscriptions").
			Default("none"),
		setting.Mapping("headers", "Headers that pass between clients and this provider in addition to the standard ones and `x-ms-*`.",
			textList("request", headerName("header of requests that may pass",
				"names of letters, digits and hyphens, such as X-Contoso-Trace; none of a credential, an identity, a connection or the message's frame",
				headers.CanListRequest),
				b.Unique("header"), &p.RequestHeaders,
				"Further request headers that are sent to the provider. Credentials, identities, and headers of a connection or of the message's "+
					"framing cannot be listed.").Default("none"),
			textList("response", headerName("header of answers that may pass",
				"names of letters, digits and hyphens, such as X-Contoso-Trace; none that speaks for the gateway's host, of a connection "+
					"or of the message's frame", headers.CanListAnswer),
				b.Unique("header"), &p.AnswerHeaders,
				"Further headers of the provider's answers that are sent to clients. Headers by which a browser would act for the gateway's host "+
					"(`Set-Cookie`, `Access-Control-*`, …), or that command a proxy in front of it, cannot be listed.").Default("none"),
		),
		textList("redirectHosts", rule.RedirectHost(), b.Unique("host"), &p.RedirectHosts,
			"Hosts, other than the gateway itself, to which the provider may redirect clients. They may have a port. `*.` before a domain means "+
				"all hosts below it. Other redirects are answered with 502.").Default("none"),
		setting.Removed("httpClient", "all providers are called as by `auto`, which was the default"),
		files.TLSRows(b.files, &p.TLS, "TLS to this provider, instead of `upstream.tls`. The files are reloaded when they change.",
			"as in `upstream.tls`", "as in `upstream.tls`"),
		b.credentialRows(&p.Credential),
		locatedTextList("spec", rule.File(), b.Unique("document"), &p.spec,
			"OpenAPI documents (2 or 3, JSON or YAML) with the schemas of the types' bodies, each for the api-version in its `info.version`. "+
				"Paths are relative to the file with this setting. Planned bodies are validated against them. The documents are reloaded when "+
				"they change.").Default("none"),
		setting.Value("validation", &p.Validation, rule.Enum(regions.Validations()), regions.ValidatePlans,
			"Which bodies are validated against the documents of `spec`. `preflight`: planned bodies. `write`: also the bodies of `PUT` requests; "+
				"an invalid one is answered with 400. `off`: none."),
		b.typeRows(p),
	)
}

func (b *mapReader) credentialRows(c *regions.Credential) *setting.Setting {
	legal := func(name string) bool {
		return strings.EqualFold(name, "Authorization") || headers.CanListRequest(name)
	}
	return setting.Mapping("credential", "A secret that authenticates the gateway to this provider, in addition to the gateway's certificate or "+
		"instead of it.",
		setting.Value("header", &c.Header, headerName("header of a credential",
			"Authorization, or a name of letters, digits and hyphens that no other part of a request has, such as X-Contoso-Key", legal), "Authorization",
			"The header with the secret on each call to the provider. It replaces a client's header of that name."),
		setting.Required("file", &c.File, rule.File(),
			"The file with the header's value, such as `Bearer …`, on one line. The file is reloaded when it changes."),
	).Check(func(o *setting.Object) {
		if n := o.Valid("file"); n != nil {
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
