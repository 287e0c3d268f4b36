package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"

	"portico/test/harness"
)

// certifyFile is a certify.yaml as a test changes it.
type certifyFile map[string]any

// contosoFile is what the owner of contoso would write, without the way to it.
func contosoFile(t *testing.T) certifyFile {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../contract/testdata/contoso.yaml"))
	harness.OK(t, err)
	f := certifyFile{}
	harness.OK(t, yaml.Unmarshal(text, &f))
	f["subscription"] = certifySubscription
	f["profiles"] = []string{"core", "tracked", "nested", "extension", "asynchronous", "tags", "etags", "skus"}
	f["limits"] = map[string]string{"pause": "50ms"} // what contoso begins here soon ends
	f["samples"] = map[string]any{}
	for _, provider := range f["providers"].([]any) {
		p := provider.(map[string]any)
		for _, resourceType := range p["resourceTypes"].([]any) {
			asSample(f, p["namespace"].(string), resourceType.(map[string]any))
		}
	}
	return f
}

// only leaves some types of one namespace.
func (f certifyFile) only(namespace string, types ...string) certifyFile {
	all := f["providers"].([]any)
	f["providers"] = slices.DeleteFunc(all, func(p any) bool { return p.(map[string]any)["namespace"] != namespace })
	provider := f["providers"].([]any)[0].(map[string]any)
	provider["resourceTypes"] = slices.DeleteFunc(provider["resourceTypes"].([]any), func(t any) bool {
		return !slices.Contains(types, t.(map[string]any)["name"].(string))
	})
	maps.DeleteFunc(f["samples"].(map[string]any), func(name string, _ any) bool {
		return !slices.ContainsFunc(types, func(t string) bool { return name == namespace+"/"+t })
	})
	return f
}

// asSample gives a type its bodies by a sample, as people write them.
func asSample(f certifyFile, namespace string, resourceType map[string]any) {
	name := resourceType["name"].(string)
	if name != "workspaces" {
		return
	}
	bodies := maps.Clone(resourceType["contract"].(map[string]any))
	f["samples"].(map[string]any)[namespace+"/"+name] = map[string]any{
		"create": bodies["body"], "update": map[string]any{"properties": bodies["change"]},
	}
	maps.DeleteFunc(bodies, func(key string, _ any) bool { return key == "body" || key == "other" || key == "change" })
	resourceType["contract"] = bodies
}

// straightAt sets the way to endpoints.
func (f certifyFile) straightAt(all ...*harness.Contoso) certifyFile {
	endpoints := map[string]string{}
	for _, c := range all {
		endpoints[c.Region] = c.URL
	}
	f["endpoints"], f["tenant"] = endpoints, certifyTenant
	return f
}

// asMap is the file's providers as a region map has them, with their endpoints.
func (f certifyFile) asMap(t *testing.T, all []*harness.Contoso) string {
	t.Helper()
	text, err := yaml.Marshal(f["providers"])
	harness.OK(t, err)
	var providers []map[string]any
	if err := yaml.Unmarshal(text, &providers); err != nil { // a copy
		t.Fatal(err)
	}
	for _, p := range providers {
		delete(p, "checkNameAvailability")
		lists := map[string][]string{}
		for region, url := range endpointsOf(all) {
			lists[region] = []string{url}
		}
		p["endpoints"], p["headers"] = lists, map[string][]string{"request": harness.SteeringHeaders()}
		for _, resourceType := range p["resourceTypes"].([]any) {
			delete(resourceType.(map[string]any), "contract")
		}
	}
	text, err = yaml.Marshal(map[string]any{"providers": providers})
	harness.OK(t, err)
	return string(text)
}

func endpointsOf(all []*harness.Contoso) map[string]string {
	urls := map[string]string{}
	for _, c := range all {
		urls[c.Region] = c.URL
	}
	return urls
}

// regionalContoso are the endpoints of contoso in all regions.
func regionalContoso(t *testing.T, args ...string) []*harness.Contoso {
	t.Helper()
	var all []*harness.Contoso
	for _, region := range append(harness.RegionNames(), "global") {
		all = append(all, harness.StartContoso(t, region, harness.ContosoOptions{Args: args}))
	}
	return all
}

func writeToken(t *testing.T, token harness.Token) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	harness.OK(t, os.WriteFile(file, []byte(token.Raw+"\n"), 0o600))
	return file
}
