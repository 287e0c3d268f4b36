package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"portico/arm"
)

// guest is a provider of the demo's user, in addition to contoso: its addresses by
// region, and its types from a file in the form of certify.yaml.
type guest struct {
	endpoints map[string]string
	// parts are the parts of a region map in the file.
	parts []map[string]any
	file  guestFile
}

// guestFile is the part of such a file that the demo itself reads.
type guestFile struct {
	Providers []struct {
		Namespace     string `yaml:"namespace"`
		ResourceTypes []struct {
			Name        string   `yaml:"name"`
			Kind        string   `yaml:"kind"`
			APIVersions []string `yaml:"apiVersions"`
		} `yaml:"resourceTypes"`
	} `yaml:"providers"`
	Subscription string `yaml:"subscription"`
	Tenant       string `yaml:"tenant"`
	Samples      map[string]struct {
		Create map[string]any `yaml:"create"`
	} `yaml:"samples"`
}

// readGuest reads the provider of --provider and --types; nil if there is none.
func readGuest(addresses []string, file string) (*guest, error) {
	if len(addresses) == 0 {
		return nil, nil
	}
	g := &guest{endpoints: map[string]string{}}
	for _, address := range addresses {
		region, url, named := strings.Cut(address, "=")
		if !named {
			region, url = demoRegions[0], address
		}
		if !slices.Contains(demoRegions, region) {
			return nil, fmt.Errorf("--provider %s: the demo has no region %q; it has %s", address, region, strings.Join(demoRegions, ", "))
		}
		if g.endpoints[region] != "" {
			return nil, fmt.Errorf("--provider %s: the region %s has an address already", address, region)
		}
		g.endpoints[region] = url
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--provider needs a file that describes the types of the provider, and %s does not exist: "+
			"name it with --types FILE; docs/providers.md shows one", file)
	}
	if err != nil {
		return nil, err
	}
	var parts struct {
		Providers []map[string]any `yaml:"providers"`
	}
	if err := errors.Join(yaml.Unmarshal(text, &g.file), yaml.Unmarshal(text, &parts)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if g.parts = parts.Providers; len(g.parts) == 0 {
		return nil, fmt.Errorf("%s: providers is missing: a list with namespace and resourceTypes, as in a region map", file)
	}
	return g, nil
}

// providers returns the guest's part of the demo's region map, without members that only
// certify needs.
func (g *guest) providers() (string, error) {
	if g == nil {
		return "", nil
	}
	endpoints := map[string][]string{}
	for region, url := range g.endpoints {
		endpoints[region] = []string{url}
	}
	if endpoints[arm.GlobalLocation] == nil { // for calls without a region
		endpoints[arm.GlobalLocation] = endpoints[g.region()]
	}
	for _, part := range g.parts {
		delete(part, "checkNameAvailability")
		part["endpoints"] = endpoints
		if part["registration"] == nil {
			part["registration"] = "automatic" // so that nothing has to precede the first write
		}
		types, _ := part["resourceTypes"].([]any)
		for _, t := range types {
			if t, ok := t.(map[string]any); ok {
				delete(t, "contract")
			}
		}
	}
	text, err := yaml.Marshal(g.parts)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString("  " + line)
	}
	return b.String(), nil
}

// subscription returns the subscription of the guest's file, which certify uses; nil if
// the demo has it anyway.
func (g *guest) subscription() map[string]string {
	if g == nil || g.file.Subscription == "" || strings.EqualFold(g.file.Subscription, demoSubscription) {
		return nil
	}
	return map[string]string{"ID": g.file.Subscription, "Tenant": cmp.Or(g.file.Tenant, demoTenant)}
}

// requests returns commands that create a resource of the guest's first tracked type from
// a sample, and list that type.
func (g *guest) requests(group, subscription string) []string {
	for _, p := range g.file.Providers {
		for _, t := range p.ResourceTypes {
			sample, there := g.file.Samples[p.Namespace+"/"+t.Name]
			if !there || strings.Contains(t.Name, "/") || t.Kind != "tracked" || len(t.APIVersions) == 0 {
				continue
			}
			body := maps.Clone(sample.Create)
			body["location"] = g.region()
			text, err := json.Marshal(body)
			if err != nil { // YAML can contain what JSON cannot
				continue
			}
			path, version := "/providers/"+p.Namespace+"/"+t.Name, "?api-version="+t.APIVersions[0]
			return []string{
				piped(send("PUT", group+path+"/first"+version, strings.ReplaceAll(string(text), "'", `'\''`))),
				piped(`curl -sS "` + subscription + path + version + `"`),
			}
		}
	}
	return nil
}

// region returns the first of the demo's regions that the guest serves.
func (g *guest) region() string {
	i := slices.IndexFunc(demoRegions, func(region string) bool { return g.endpoints[region] != "" })
	return demoRegions[i]
}

// send returns a curl command that sends a body.
func send(method, url, body string, options ...string) string {
	line := "curl -sS -X " + method
	for _, o := range options {
		line += " " + o
	}
	return line + " -H 'Content-Type: application/json' -d '" + body + `' "` + url + `"`
}
