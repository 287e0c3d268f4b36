package api

import (
	"net/http"
	"time"
)

var regionOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/regions",
		Summary: "The regions, their endpoints, and the state of each address.",
		Query:   paging, Answer: Page[Region]{}, Status: http.StatusOK,
	},
}

// States of a region or an address.
const (
	Up       = "up"
	Degraded = "degraded" // a region: some of its addresses are not used
	Down     = "down"
	Unknown  = "unknown" // an address that was neither called nor probed yet
)

// Region is a region of the map.
type Region struct {
	Name         string     `json:"name"`
	DisplayName  string     `json:"displayName,omitempty"`
	PairedRegion string     `json:"pairedRegion,omitempty"`
	State        string     `json:"state"` // up, degraded, down or unknown
	Endpoints    []Endpoint `json:"endpoints"`
	Drain        *Drain     `json:"drain,omitempty"` // while the region is out for maintenance
}

// Endpoint serves resource types of one provider in a region.
type Endpoint struct {
	Namespace string `json:"namespace"`
	Contact   string `json:"contact,omitempty"` // how to reach the people who run the provider
	// ResourceTypes are the types that this endpoint serves.
	ResourceTypes []string `json:"resourceTypes"`
	// State is down if no address can be called: every call is refused, except those that
	// test whether an address can be reached again.
	State     string    `json:"state"`
	Addresses []Address `json:"addresses"`
	// Shed counts the clients' calls, since the gateway started, that were refused because
	// all slots of the endpoint were taken; LastShed is when that last happened.
	Shed         uint64     `json:"shed,omitempty"`
	LastShed     *time.Time `json:"lastShed,omitempty"`
	FailingLists []string   `json:"failingLists,omitempty"` // types whose merged lists it fails for all callers
}

// Address is one address of an endpoint, as this gateway knows it.
type Address struct {
	URL   string `json:"url"`
	State string `json:"state"` // up, down or unknown
	// Reason is why it is not used.
	Reason  string     `json:"reason,omitempty"`
	Slow    bool       `json:"slow,omitempty"` // not used for a time, because it answers much more slowly than the others
	Circuit string     `json:"circuit"`        // closed, open or half-open
	Since   *time.Time `json:"since,omitempty"`
	// Requests and Failures are counted since the gateway started.
	Requests uint64 `json:"requests"`
	Failures uint64 `json:"failures"`
	// InFlight are calls under way.
	InFlight int `json:"inFlight"`
	// CertificateEnds is when the certificate that it showed last expires.
	CertificateEnds *time.Time `json:"certificateEnds,omitempty"`
	// Distrust is why calls failed for lack of trust: untrusted (it does not trust
	// Portico's certificate or credential), tls_authority, tls_host, tls_expired (its own
	// cannot be trusted) or tls; LastDistrust is when one last did.
	Distrust     string     `json:"distrust,omitempty"`
	LastDistrust *time.Time `json:"lastDistrust,omitempty"`
	// Drain is set while the address itself is out for maintenance.
	Drain *Drain `json:"drain,omitempty"`
}

var providerOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/providers",
		Summary: "The providers and their resource types, from the region map.",
		Query:   paging, Answer: Page[Provider]{}, Status: http.StatusOK,
	},
}

// Provider is a provider of the region map.
type Provider struct {
	Namespace     string         `json:"namespace"`
	Registration  string         `json:"registration"`      // required or automatic
	Contact       string         `json:"contact,omitempty"` // how to reach the people who run it
	ResourceTypes []ResourceType `json:"resourceTypes"`
}

// ResourceType is one type of a provider.
type ResourceType struct {
	Name        string   `json:"name"`    // below the namespace, such as virtualMachines/disks
	Kind        string   `json:"kind"`    // tracked, proxyOnly or extension
	Routing     string   `json:"routing"` // regional or global
	APIVersions []string `json:"apiVersions"`
	Locations   []string `json:"locations"`
}
