package reload

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"testing"
	"time"

	"portico/test/harness"
)

var (
	long  = flag.Bool("reload.long", false, "measure at length, which takes seven minutes and the machine alone")
	write = flag.Bool("reload.write", false, "write what is measured into README.md and docs/evidence.md")
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// bound is the longest that anything is waited for.
const bound = 3 * time.Minute

// group has what traffic calls about, all in region.
const (
	group  = "rg"
	region = "eastus"
)

// site is a gateway, and two providers of a region that hold the same machines. Only their
// tags tell which of the two answers.
type site struct {
	*harness.World
	providers [2]*harness.Contoso
}

// served is the tag of a machine that names the provider.
const served = "served"

// newSite starts a site; addresses makes the region's addresses of those of its providers.
func newSite(t *testing.T, config harness.Config, addresses func(providers [2]*harness.Contoso) string) *site {
	t.Helper()
	s := &site{}
	for i := range s.providers {
		s.providers[i] = harness.StartContoso(t, region, harness.ContosoOptions{})
	}
	config.Endpoints = map[string]string{region: addresses(s.providers)}
	s.World = harness.NewWorld(t, harness.WorldOptions{Config: config})
	s.PutGroup(t, group)
	s.PutResource(t, group, "Contoso.Compute/networkInterfaces/nic", machineOf("0"))
	for i := range clients {
		s.PutResource(t, group, machineName(i), machineOf("0"))
		for p, provider := range s.providers {
			provider.Do(t, harness.Request{Method: http.MethodPut, Path: s.machine(i) + "?api-version=" + harness.Version, Body: machineOf(fmt.Sprint(p))}).Want(t, 200, 201)
		}
	}
	return s
}

func machineOf(provider string) string {
	return fmt.Sprintf(`{"location":%q,"tags":{%q:%q},"properties":{"size":"small"}}`, region, served, provider)
}

func machineName(i int) string { return fmt.Sprintf("Contoso.Compute/virtualMachines/machine-%d", i) }

func (s *site) machine(i int) string { return s.ResourcePath(group, machineName(i)) }

// servedBy is the provider whose answer says so: 0 or 1.
func servedBy(t *testing.T, a harness.Answer) string {
	t.Helper()
	tags, _ := a.Want(t, 200).JSON(t)["tags"].(map[string]any)
	name, _ := tags[served].(string)
	return name
}

// withAddress returns the configuration with another address of the region.
func (s *site) withAddress(url, server string) harness.Config {
	config := s.Config
	config.Server = server
	config.Endpoints = maps.Clone(config.Endpoints)
	config.Endpoints[region] = url
	return config
}
