package harness

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// WorldOptions vary a [World]. Endpoints in Config replace the provider that the world
// would start.
type WorldOptions struct {
	Config  Config
	Contoso ContosoOptions
	// Replicas is the number of Porticos, over the database of Config; 0 means one.
	Replicas int
}

// World is the usual set-up: a provider endpoint in each region and a global
// one, and a Portico in front of them.
type World struct {
	Portico        *Portico   // the first of the replicas
	Replicas       []*Portico // all
	Config         Config     // their configuration
	SubscriptionID string

	contosos map[string]*Contoso
}

// NewWorld starts a world that lasts until the test ends.
func NewWorld(t testing.TB, options WorldOptions) *World {
	t.Helper()
	w := &World{SubscriptionID: SubscriptionID, contosos: map[string]*Contoso{}}
	config := options.Config
	if len(config.Subscriptions) > 0 {
		w.SubscriptionID = config.Subscriptions[0].ID
	}
	endpoints := maps.Clone(config.Endpoints) // for further regions too
	if endpoints == nil {
		endpoints = map[string]string{}
	}
	for _, region := range append(RegionNames(), "global") {
		if url, ok := config.Endpoints[region]; ok {
			endpoints[region] = url
			continue
		}
		c := StartContoso(t, region, options.Contoso)
		w.contosos[region] = c
		endpoints[region] = c.URL
	}
	config.Endpoints = endpoints
	w.Config = config
	w.Replicas = StartReplicas(t, max(1, options.Replicas), config)
	w.Portico = w.Replicas[0]
	return w
}

// Contoso is the provider endpoint of a region, or of "global".
func (w *World) Contoso(region string) *Contoso { return w.contosos[region] }

// SubscriptionPath is the path of the world's subscription.
func (w *World) SubscriptionPath() string { return "/subscriptions/" + w.SubscriptionID }

// GroupPath is the path, which is also the id, of a resource group.
func (w *World) GroupPath(group string) string {
	return w.SubscriptionPath() + "/resourceGroups/" + group
}

// ResourcePath is the path, and also the id, of a resource: typeAndName is
// "Contoso.Compute/virtualMachines/vm1"; a nested one has each type before its name.
func (w *World) ResourcePath(group, typeAndName string) string {
	return w.GroupPath(group) + "/providers/" + typeAndName
}

// PutGroup creates or updates a resource group in westus.
func (w *World) PutGroup(t testing.TB, group string) {
	t.Helper()
	w.Portico.Do(t, Request{
		Method: http.MethodPut,
		Path:   w.GroupPath(group) + "?api-version=2021-04-01",
		Body:   `{"location":"westus"}`,
	}).Want(t, 200, 201)
}

// PutResource creates or updates a resource with this body.
func (w *World) PutResource(t testing.TB, group, typeAndName, body string) Answer {
	t.Helper()
	return w.Portico.Do(t, Request{
		Method: http.MethodPut,
		Path:   w.ResourcePath(group, typeAndName) + "?api-version=" + Version,
		Body:   body,
	}).Want(t, 200, 201, 202)
}

// WantOnlyIn ends the test unless exactly this region's provider holds the resource.
func (w *World) WantOnlyIn(t testing.TB, region, id string) {
	t.Helper()
	var holders []string
	for _, name := range append(RegionNames(), "global") {
		if c := w.contosos[name]; c != nil && c.Holds(t, id) {
			holders = append(holders, name)
		}
	}
	if got := strings.Join(holders, ","); got != region {
		t.Fatal(fmt.Errorf("%s is held in [%s], want [%s]", id, got, region))
	}
}
