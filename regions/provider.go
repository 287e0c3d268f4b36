package regions

import "portico/arm"

// Provider is one resource provider behind the gateway.
type Provider struct {
	Namespace    string // in its declared casing
	Key          string // the folded namespace
	Registration Registration

	types     []*ResourceType
	byKey     map[string]*ResourceType
	longest   int // of the keys in byKey
	endpoints map[string]*Endpoint
}

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

// Endpoint returns the provider's own endpoint in a normalised region, or of
// "global", which serves calls that name none of its types; nil where it has
// none. A template that wants a {subservice} makes no such endpoint.
func (p *Provider) Endpoint(region string) *Endpoint { return p.endpoints[region] }
