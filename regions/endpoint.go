package regions

import (
	"net/url"
	"strings"
)

// Endpoint is one regional endpoint of a provider, reachable at one or more addresses.
// Within a Map, the same addresses in the same region are the same *Endpoint, wherever
// they are declared: limits, health and connections belong to it. A provider with a TLS
// or a credential of its own shares none with others. Each URL has a scheme and a host, nothing else.
type Endpoint struct {
	Region string // normalised, or "global"
	URLs   []*url.URL
	// HTTPClient is what the providers want that declare the endpoint. Where they
	// differ it is the standard one if any wants that.
	HTTPClient HTTPClient
	// Identity is the namespace of the provider whose TLS and credential calls use, ""
	// for what all providers share.
	Identity string
	// Providers are the namespaces of those that declare the endpoint.
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
