package regions

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"portico/arm"
)

// Provider is one resource provider behind the gateway.
type Provider struct {
	Namespace    string // in its declared casing
	Contact      string // for operators; "": none
	Key          string // the folded namespace
	Registration Registration
	Features     []string // without the namespace, in their declared casing
	Validation   Validation

	requestHeaders, answerHeaders map[string]bool
	redirectHosts                 []redirectHost
	tls                           TLS
	credential                    Credential

	types     []*ResourceType
	skuTypes  []*ResourceType
	byKey     map[string]*ResourceType
	longest   int // of the keys in byKey
	endpoints map[string]*Endpoint
}

// TLS returns the provider's own TLS settings, if declared.
func (p *Provider) TLS() TLS { return p.tls }

// Credential returns the credential by which Portico authenticates to the
// provider besides TLS, if declared.
func (p *Provider) Credential() Credential { return p.credential }

// Types returns the provider's types in the order of their declaration.
func (p *Provider) Types() []*ResourceType { return p.types }

// Type returns the type whose folded segments, joined by slashes, are key
// ("virtualmachines/disks"), or nil. It does not allocate.
func (p *Provider) Type(key []byte) *ResourceType { return p.byKey[string(key)] }

// TypeNamed returns the type of a name in any casing
// ("virtualMachines/disks"), or nil. It does not allocate.
func (p *Provider) TypeNamed(name string) *ResourceType {
	if len(name) > p.longest { // as in Map.Provider
		return nil
	}
	var buf [keyBuffer]byte
	return p.byKey[string(arm.AppendFold(buf[:0], name))]
}

// Endpoints returns every endpoint that serves the provider or one of its types, each
// once, by region and address.
func (p *Provider) Endpoints() []*Endpoint {
	distinct := map[*Endpoint]bool{}
	for _, e := range p.endpoints {
		distinct[e] = true
	}
	for _, t := range p.types {
		for _, e := range t.endpoints {
			distinct[e] = true
		}
	}
	return slices.SortedFunc(maps.Keys(distinct), func(a, b *Endpoint) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.String(), b.String()))
	})
}

// Feature returns the declared name of a feature, by its name in any casing.
func (p *Provider) Feature(name string) (declared string, ok bool) {
	i := slices.IndexFunc(p.Features, func(f string) bool { return arm.EqualFold(f, name) })
	if i < 0 {
		return "", false
	}
	return p.Features[i], true
}

// Endpoint returns the provider's own endpoint in a normalised region or in
// "global", for calls without a type; nil if it has none. A template with
// {subservice} makes no such endpoint.
func (p *Provider) Endpoint(region string) *Endpoint { return p.endpoints[region] }

// Endpoint is one regional endpoint of a provider, with one or more
// addresses. Within a Map, the same addresses in the same region are the same
// *Endpoint, wherever they are declared: limits, health and connections
// belong to it. A provider with its own TLS settings or credential shares no
// endpoint with others. Each URL has a scheme and a host, nothing else.
type Endpoint struct {
	Region string // normalised, or "global"
	URLs   []*url.URL
	// Identity is the namespace of the provider whose TLS settings and
	// credential calls use, "" for the ones that all providers share.
	Identity string
	// Providers lists the namespaces of the providers that declare the endpoint.
	Providers []string
}

// String returns the addresses, separated by commas. Region, String and Identity
// together identify the endpoint in every Map that declares it.
func (e *Endpoint) String() string {
	addresses := make([]string, len(e.URLs))
	for i, u := range e.URLs {
		addresses[i] = u.String()
	}
	return strings.Join(addresses, ",")
}
