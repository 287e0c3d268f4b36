package dashboards

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// The settings make the gateway detect, follow and give up within seconds. Jobs that
// no one works on are overdue after three leases.
const settings = `
index: {sendWithin: 2s, askTimeout: 1s, followLimit: 4s, followRecheck: 1s, pollFloor: 200ms, lateWriteWindow: 1s, callMargin: 1s}
jobs: {lease: 2s}
upstream: {callTimeout: 3s}
health: {probe: {interval: 1s, timeout: 1s}}
`

const group = "rg"

// site is one deployment with its own fault.
type site struct {
	*harness.World
	job string // its scrape job
}

// providers are the regional endpoints that the sites share; each site has its own
// subscription there.
type providers map[string]*harness.Contoso

func startProviders(t *testing.T) providers {
	t.Helper()
	p := providers{}
	for _, region := range append(harness.RegionNames(), "global") {
		p[region] = harness.StartContoso(t, region, harness.ContosoOptions{})
	}
	p["westus"].Do(t, harness.Request{
		Method: http.MethodPost, Path: "/contoso/faults", Body: `{"method":"PUT","pathContains":"/virtualMachines/refused","fault":"status=400","count":-1}`,
	}).Want(t, 201)
	return p
}

func (p providers) urls() map[string]string {
	urls := map[string]string{}
	for region, c := range p {
		urls[region] = c.URL
	}
	return urls
}

// startSite starts the nth site.
func startSite(t *testing.T, n int, job string, config harness.Config) *site {
	t.Helper()
	config.Subscriptions = append([]harness.Subscription{{
		ID: fmt.Sprintf("00000000-0000-0000-0000-0000000001%02d", n), TenantID: harness.TenantID, DisplayName: job, State: "Enabled",
	}}, config.Subscriptions...)
	config.Extra = settings + config.Extra
	s := &site{harness.NewWorld(t, harness.WorldOptions{Config: config}), job}
	s.PutGroup(t, group)
	for _, region := range harness.RegionNames() {
		s.PutResource(t, group, "Contoso.Compute/virtualMachines/vm-"+region, machine(region))
	}
	return s
}

func machine(region string) string {
	return `{"location":"` + region + `","properties":{"hardwareProfile":{"vmSize":"Standard_A1"}}}`
}

func (s *site) path(name string) string {
	return s.ResourcePath(group, name) + "?api-version=" + harness.Version
}

// address is that of the metrics.
func (s *site) address() string { return strings.TrimPrefix(s.Portico.AdminURL, "http://") }

// load sends requests again and again, until the test ends: each kind that the
// dashboards distinguish, and the given ones.
func (s *site) load(t *testing.T, further ...[]harness.Request) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var lanes sync.WaitGroup
	for _, lane := range append(further, s.reads(), s.lists(), s.writes()) {
		lanes.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ctx.Done():
					return
				case <-time.After(150 * time.Millisecond):
				}
				// The metrics show the answers.
				_, _ = s.Portico.Try(ctx, lane[i%len(lane)])
			}
		})
	}
	t.Cleanup(func() { cancel(); lanes.Wait() })
}

func (s *site) reads() (all []harness.Request) {
	for _, region := range harness.RegionNames() {
		all = append(all, harness.Request{Path: s.path("Contoso.Compute/virtualMachines/vm-" + region)})
	}
	return append(all,
		harness.Request{Path: s.path("Contoso.Compute/virtualMachines/absent")},
		harness.Request{Path: s.SubscriptionPath() + "/resources?api-version=2021-04-01"},
		harness.Request{Path: s.path("Contoso.Compute/virtualMachines/vm-eastus")},
	)
}

func (s *site) lists() []harness.Request {
	path := s.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version
	return []harness.Request{
		{Path: path},
		{Path: path, Header: harness.Header("x-ms-portico-on-region-failure", "partial")},
		{Path: s.path("Contoso.Compute/virtualMachines/vm-eastus")},
	}
}

// failing is a write to which the provider answers that it failed.
func (s *site) failing() []harness.Request {
	return []harness.Request{{
		Method: http.MethodPut, Path: s.path("Contoso.Compute/virtualMachines/failing"), Body: machine("westus"), Header: harness.Header("x-contoso-fault", "status=500"),
	}}
}

func (s *site) writes() []harness.Request {
	put := func(name, body string, header ...string) harness.Request {
		return harness.Request{Method: http.MethodPut, Path: s.path(name), Body: body, Header: harness.Header(header...)}
	}
	groupPath := s.GroupPath("passing") + "?api-version=2021-04-01"
	return []harness.Request{
		put("Contoso.Compute/virtualMachines/vm-westus", machine("westus")),
		put("Contoso.Compute/virtualMachines/slow", machine("westus"), "x-contoso-async", "azure-async", "x-contoso-duration", "500ms"),
		put("Contoso.Compute/virtualMachines/vm-eastus", machine("eastus")),
		put("Contoso.Insight/workspaces/w", `{"location":"westus","properties":{}}`),
		{Method: http.MethodPut, Path: groupPath, Body: `{"location":"westus"}`},
		{Method: http.MethodPut, Path: s.ResourcePath("passing", "Contoso.Insight/workspaces/p") + "?api-version=" + harness.Version, Body: `{"location":"westus","properties":{}}`},
		{Method: http.MethodDelete, Path: groupPath},
	}
}

// deployments are one of a machine, and one of a machine that its provider refuses.
func (s *site) deployments() (all []harness.Request) {
	for _, name := range []string{"deployed", "refused"} {
		all = append(all, harness.Request{
			Method: http.MethodPut, Path: s.GroupPath(group) + "/providers/Microsoft.Resources/deployments/" + name + "?api-version=2021-04-01",
			Body: `{"properties":{"mode":"Incremental","template":{"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#","contentVersion":"1.0.0.0",
				"resources":[{"type":"Contoso.Compute/virtualMachines","apiVersion":"` + harness.Version + `","name":"` + name + `",` + machine("westus")[1:] + `]}}}`,
		})
	}
	return all
}

// move moves a machine to another group.
func (s *site) move(t *testing.T) {
	t.Helper()
	s.PutGroup(t, "source")
	s.PutGroup(t, "target")
	s.PutResource(t, "source", "Contoso.Compute/virtualMachines/mover", machine("westus"))
	s.Portico.Do(t, harness.Request{
		Method: http.MethodPost, Path: s.GroupPath("source") + "/moveResources?api-version=2021-04-01",
		Body: fmt.Sprintf(`{"resources":[%q],"targetResourceGroup":%q}`, s.ResourcePath("source", "Contoso.Compute/virtualMachines/mover"), s.GroupPath("target")),
	}).Want(t, 202)
}
