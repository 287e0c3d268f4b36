package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"portico/test/harness"
)

var long = flag.Bool("e2e.long", false, "100 reloads and 10 rounds of restarts under load, a group of 2,000 resources")

// unwatched has files looked at only when that is asked for.
const (
	unwatched = "  watchInterval: 0s"
	watched   = "  watchInterval: 50ms"
)

const (
	generation = "portico_config_generation"
	success    = "portico_config_last_reload_success"
	attempted  = "portico_config_last_reload_timestamp_seconds"
)

func reload(t *testing.T, p *harness.Portico) harness.Answer {
	t.Helper()
	return p.Admin(t, harness.Request{Method: http.MethodPost, Path: "/admin/reload"})
}

// cloud is the name by which a configuration shows.
func cloud(t *testing.T, p *harness.Portico) string {
	t.Helper()
	answer := p.Do(t, harness.Request{Path: "/metadata/endpoints?api-version=2022-09-01"}).Want(t, 200)
	var environment struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(answer.Body, &environment); err != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	return environment.Name
}

// withCloudName returns the configuration with another cloud name.
func withCloudName(config harness.Config, name string) harness.Config {
	config.Name = name
	return config
}

// A bad configuration changes nothing, and it is said what is wrong with it, and
// where.
func TestBadConfigurationChangesNothing(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: unwatched}})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"vm", body("westus"))
	p := w.Portico
	good := p.Text(t, withCloudName(w.Config, "second"))
	eastus := fmt.Sprintf("eastus: [%q]", w.Contoso("eastus").URL)
	for name, row := range map[string]struct{ old, bad, fault string }{
		"an unknown key":             {"  region: westus\n", "  region: westus\n  wibble: 1\n", "wibble"},
		"a region twice":             {"regions:\n", "regions:\n  - {name: northeurope}\n", "northeurope"},
		"an endpoint with a path":    {eastus, `eastus: ["http://127.0.0.1:9/path"]`, "127.0.0.1:9"},
		"an endpoint with userinfo":  {eastus, `eastus: ["http://somebody:s3cret@127.0.0.1:9"]`, "eastus"},
		"a region without a name":    {"regions:\n", "regions:\n  - {name: \"\"}\n", "name"},
		"an endpoint with port zero": {eastus, `eastus: ["http://127.0.0.1:0"]`, "127.0.0.1:0"},
		"no YAML":                    {"metadata:\n", "metadata: [\n", ""},
		"no certificate":             {"drain: {delay: 10ms", "tls: {cert: none.pem, key: none.pem}\n  drain: {delay: 10ms", "none.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, row.old) {
				t.Fatalf("the configuration has no %q", row.old)
			}
			before := p.Metric(t, generation)
			p.Write(t, strings.Replace(good, row.old, row.bad, 1))
			answer := reload(t, p).Want(t, 400)
			text := string(answer.Body)
			if !regexp.MustCompile(regexp.QuoteMeta(p.ConfigFile)+`:[1-9][0-9]*: `).MatchString(text) || !strings.Contains(text, row.fault) {
				t.Errorf("it does not say where and what: %s", text)
			}
			if strings.Contains(text+p.Log(), "s3cret") {
				t.Error("a password of the configuration is told")
			}
			if p.Metric(t, success) != 0 || p.Metric(t, generation) != before || cloud(t, p) == "second" {
				t.Error("it was taken over")
			}
			for _, path := range []string{w.ResourcePath("rg", machines+"vm"), w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines"} {
				p.Do(t, harness.Request{Path: path + "?api-version=" + harness.Version}).Want(t, 200)
			}
		})
	}
	before := p.Metric(t, generation)
	p.Write(t, good)
	if got := reload(t, p).Want(t, 200).JSON(t)["generation"]; got != before+1 || p.Metric(t, success) != 1 || p.Metric(t, generation) != before+1 || cloud(t, p) != "second" {
		t.Errorf("the good one is generation %v", got)
	}
}

// Each way of telling that the configuration has changed.
func TestReloads(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: watched}})
	p := w.Portico
	becomes := func(name string) {
		t.Helper()
		soon(t, name, func() bool { return cloud(t, p) == name })
	}
	p.Write(t, p.Text(t, withCloudName(w.Config, "by a change of the file")))
	becomes("by a change of the file")

	// A bad one is not read again and again, but once what is wrong is mended.
	p.Write(t, "server: [")
	soon(t, "the bad one is seen", func() bool { return p.Metric(t, success) == 0 })
	config := w.Config
	config.Server = unwatched
	p.Write(t, p.Text(t, withCloudName(config, "mended")))
	becomes("mended")

	// From here on no one looks at the file.
	p.Write(t, p.Text(t, withCloudName(config, "by SIGHUP")))
	p.SendHangup(t)
	becomes("by SIGHUP")
	p.Write(t, p.Text(t, withCloudName(w.Config, "by the admin listener")))
	reload(t, p).Want(t, 200)
	if got := cloud(t, p); got != "by the admin listener" {
		t.Errorf("after the answer it is still %q", got)
	}

	// As Kubernetes mounts a ConfigMap: the file is a link by way of a link to a
	// folder, and that is what changes.
	folder := filepath.Dir(p.ConfigFile)
	mount := func(version, name string) {
		t.Helper()
		path := filepath.Join(folder, version, "portico.yaml")
		harness.OK(t, errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(p.Text(t, withCloudName(w.Config, name))), 0o600)))
		link(t, version, filepath.Join(folder, "..data"))
	}
	mount("..1", "mounted")
	link(t, filepath.Join("..data", "portico.yaml"), p.ConfigFile)
	becomes("mounted")
	mount("..2", "mounted anew")
	becomes("mounted anew")
}

// link puts a symbolic link in the place of whatever is there.
func link(t *testing.T, to, at string) {
	t.Helper()
	harness.OK(t, errors.Join(os.Symlink(to, at+".link"), os.Rename(at+".link", at)))
}

// What there is in a configuration that was taken over, and what of it waits for
// a restart.
func TestWhatAReloadChanges(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: unwatched}})
	w.PutGroup(t, "rg")
	first, _ := fillRegions(t, w)
	p := w.Portico
	vm := w.ResourcePath("rg", machines+"in-northeurope") + "?api-version=" + harness.Version
	all := w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version
	_, next := pageOf(t, p, first)

	config := w.Config
	config.Endpoints = maps.Clone(config.Endpoints)
	delete(config.Endpoints, "northeurope")
	const added = "00000000-0000-0000-0000-0000000000ad"
	config.Subscriptions = []harness.Subscription{
		{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Demo", State: "Enabled"},
		{ID: added, TenantID: harness.TenantID, DisplayName: "Added", State: "Enabled"},
	}
	p.Do(t, harness.Request{Path: "/subscriptions/" + added + "?api-version=2022-12-01"}).Want(t, 404)
	p.Write(t, p.Text(t, config))
	if answer := reload(t, p).Want(t, 200).JSON(t); answer["needsRestart"] != nil {
		t.Errorf("%v", answer)
	}
	p.Do(t, harness.Request{Path: "/subscriptions/" + added + "?api-version=2022-12-01"}).Want(t, 200)

	// A region that has left the map: what is there cannot be reached, which no
	// list passes over in silence, and a walk that was under way cannot go on.
	p.Do(t, harness.Request{Path: vm}).WantError(t, 503, "NoRegisteredProviderFound")
	if a := p.Do(t, harness.Request{Path: all}); a.Status < 500 {
		t.Errorf("a list without the region: %d %s", a.Status, a.Body)
	}
	for range harness.RegionNames() {
		if a := p.Do(t, harness.Request{Path: next}); a.Status != 200 {
			a.WantError(t, 410, "ExpiredSkipToken")
			break
		}
		if _, next = pageOf(t, p, next); next == "" {
			t.Fatal("the walk has ended without the region")
		}
	}
	p.Write(t, p.Text(t, w.Config))
	reload(t, p).Want(t, 200)
	p.Do(t, harness.Request{Path: vm}).Want(t, 200)
	p.Do(t, harness.Request{Path: all}).Want(t, 200)

	text := p.Text(t, withCloudName(w.Config, "elsewhere"))
	listen := strings.TrimPrefix(p.URL, "http://")
	p.Write(t, strings.Replace(text, "  listen: "+listen, "  listen: "+harness.FreeAddress(t), 1)+"\njobs: {lease: 11s}\n")
	answer := reload(t, p).Want(t, 200).JSON(t)
	if got := fmt.Sprint(answer["needsRestart"]); got != "[server.listen jobs.lease]" {
		t.Errorf("a restart for %s", got)
	}
	if got := cloud(t, p); got != "elsewhere" {
		t.Errorf("what needs no restart was not taken over: %q", got)
	}
}

// A request that has begun ends by the configuration that it began with.
func TestRequestKeepsItsConfiguration(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: unwatched}})
	w.PutGroup(t, "rg")
	p := w.Portico
	at := w.ResourcePath("rg", machines+"vm") + "?api-version=" + harness.Version
	answered := slowWrite(t, w, at, "eastus")
	config := w.Config
	config.Endpoints = maps.Clone(config.Endpoints)
	delete(config.Endpoints, "eastus")
	p.Write(t, p.Text(t, config))
	reload(t, p).Want(t, 200)
	p.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"other") + "?api-version=" + harness.Version, Body: body("eastus")}).
		WantError(t, 400, "LocationNotAvailableForResourceType")
	if err := <-answered; err != nil {
		t.Error(err)
	}
	p.Write(t, p.Text(t, w.Config))
	reload(t, p).Want(t, 200)
	p.Do(t, harness.Request{Path: at}).Want(t, 200)
	w.WantOnlyIn(t, "eastus", w.ResourcePath("rg", machines+"vm"))
}

// No call fails, whatever becomes of the configuration meanwhile: addresses come
// and go, and every third one is bad.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := 20
	if *long {
		rounds = 100
	}
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Server: unwatched}})
	w.PutGroup(t, "rg")
	p := w.Portico
	l := startLoad(t, w, p.URL, "rg")
	for i := range rounds {
		l.more(t)
		name := fmt.Sprintf("round %d", i)
		if i%3 == 2 {
			before := p.Metric(t, generation)
			p.Write(t, strings.Replace(p.Text(t, withCloudName(w.Config, name)), "region: westus", []string{"region: nowhere", "region: [", "wibble: 1"}[i/3%3], 1))
			if i%2 == 0 {
				reload(t, p).Want(t, 400)
			} else {
				seen := p.Metric(t, attempted)
				p.SendHangup(t)
				soon(t, "the bad one is seen", func() bool { return p.Metric(t, attempted) > seen })
			}
			if p.Metric(t, success) != 0 || p.Metric(t, generation) != before {
				t.Fatalf("round %d: a bad configuration was taken over", i)
			}
			continue
		}
		before := p.Metric(t, generation)
		p.Write(t, p.Text(t, withCloudName(other(w.Config, i), name)))
		if i%2 == 0 {
			reload(t, p).Want(t, 200)
		} else {
			p.SendHangup(t)
		}
		// The metrics follow the configuration, and the next round looks at them.
		soon(t, name, func() bool { return cloud(t, p) == name && p.Metric(t, generation) == before+1 })
	}
	l.end(t)
}

// other is a map in which the same endpoints have other addresses every second
// time, and there is a provider more every third.
func other(config harness.Config, i int) harness.Config {
	if i%2 == 1 {
		endpoints := map[string]string{}
		for region, url := range config.Endpoints {
			endpoints[region] = strings.Replace(url, "127.0.0.1", "localhost", 1)
		}
		config.Endpoints = endpoints
	}
	if i%3 == 0 {
		config.Providers = fmt.Sprintf("  - {namespace: Contoso.More, endpoints: {global: [%q]}}", config.Endpoints["global"])
	}
	return config
}
