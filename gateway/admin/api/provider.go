package api

import "net/http"

var providerOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/providers", Summary: "The providers and their resource types, as the region map has them.", Query: paging, Answer: Page[Provider]{}, Status: http.StatusOK},
}

// Provider is a provider of the region map.
type Provider struct {
	Namespace     string         `json:"namespace"`
	Registration  string         `json:"registration"` // required or automatic
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
