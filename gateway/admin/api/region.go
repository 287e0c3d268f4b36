package api

import (
	"net/http"
	"time"
)

var regionOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/regions", Summary: "The regions, their endpoints, and how each address does.", Answer: Page[Region]{}, Status: http.StatusOK},
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
	State        string     `json:"state"`
	Endpoints    []Endpoint `json:"endpoints"`
}

// Endpoint is where resource types of one provider are served in a region.
type Endpoint struct {
	Namespace string `json:"namespace"`
	// ResourceTypes are those that have this endpoint.
	ResourceTypes []string  `json:"resourceTypes"`
	Addresses     []Address `json:"addresses"`
}

// Address is one address of an endpoint, as this gateway knows it.
type Address struct {
	URL   string `json:"url"`
	State string `json:"state"`
	// Reason says why it is not used.
	Reason  string     `json:"reason,omitempty"`
	Circuit string     `json:"circuit"` // closed, open or half-open
	Since   *time.Time `json:"since,omitempty"`
	// Requests and Failures are counted since the gateway started.
	Requests uint64 `json:"requests"`
	Failures uint64 `json:"failures"`
	// InFlight are calls under way.
	InFlight int `json:"inFlight"`
}
