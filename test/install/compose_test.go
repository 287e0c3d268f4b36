package install

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"sigs.k8s.io/yaml"

	"portico/config"
	"portico/test/harness"
)

func composeProject(t *testing.T, environment types.Mapping) (*types.Project, error) {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join(root, "deploy", "compose"))
	harness.OK(t, err)
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  folder,
		ConfigFiles: types.ToConfigFiles([]string{filepath.Join(folder, "compose.yaml")}),
		Environment: environment,
	})
}

// project loads the Compose file with the variables that its example sets.
func project(t *testing.T) *types.Project {
	t.Helper()
	environment := types.Mapping{}
	for line := range strings.Lines(string(read(t, "deploy/compose/env.example"))) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			environment[name] = value
		}
	}
	p, err := composeProject(t, environment)
	harness.OK(t, err)
	return p
}

func TestComposeNeedsItsSecrets(t *testing.T) {
	if _, err := composeProject(t, types.Mapping{}); err == nil || !strings.Contains(err.Error(), "deploy/compose/.env") {
		t.Errorf("without variables: %v", err)
	}
}

func TestComposeMountsWhatThereIs(t *testing.T) {
	mounted := map[string]bool{}
	for name, service := range project(t).Services {
		for _, v := range service.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !v.ReadOnly {
				t.Errorf("%s can write to %s", name, v.Source)
			}
			mounted[filepath.Base(v.Source)] = true
		}
		if b := service.Build; b != nil {
			if _, err := os.Stat(filepath.Join(b.Context, b.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			buildImage(t, b.Target) // a stage of that name
		}
	}
	for _, name := range []string{"portico.yaml", "prometheus", "dashboards", "prometheus.yaml"} {
		if !mounted[name] {
			t.Errorf("%s is mounted nowhere", name)
		}
	}
}

// TestComposeIsPinnedAndPrivate wants images of one version, and nothing that
// is reached from another machine.
func TestComposeIsPinnedAndPrivate(t *testing.T) {
	version := regexp.MustCompile(`:v?[0-9]+(\.[0-9]+)+(@sha256:[0-9a-f]{64})?$`)
	for name, service := range project(t).Services {
		if service.Build == nil && !version.MatchString(service.Image) {
			t.Errorf("%s: image %s has no version", name, service.Image)
		}
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is published to %q", name, port.Published, port.HostIP)
			}
		}
		if name != "postgres" && !slices.Equal(service.CapDrop, []string{"ALL"}) {
			t.Errorf("%s keeps capabilities", name)
		}
	}
}

// TestComposeFitsTogether holds the services to the names and ports by which
// the files beside them call them.
func TestComposeFitsTogether(t *testing.T) {
	p := project(t)
	c, err := config.Load(filepath.Join(root, "deploy", "compose", "portico.yaml"))
	harness.OK(t, err)
	for _, provider := range c.Map.Providers() {
		for _, resourceType := range provider.Types() {
			for _, region := range resourceType.EffectiveRegions() {
				for _, u := range resourceType.Endpoint(region).URLs {
					service, ok := p.Services[u.Hostname()]
					if !ok || !slices.Contains(service.Command, "0.0.0.0:"+u.Port()) || !slices.Contains(service.Command, region) {
						t.Errorf("no service serves %s at %s", region, u)
					}
				}
			}
		}
	}
	if _, ok := p.Services["postgres"]; !ok || !strings.Contains(c.Store.DSN, "@postgres/") {
		t.Error("the store is no service")
	}
	replicas := 0
	for name, service := range p.Services {
		if service.Image != "portico" {
			continue
		}
		replicas++
		if !slices.Contains(c.Server.AdminHosts, name) {
			t.Errorf("%s may not be scraped by its name", name)
		}
		if grace := time.Duration(*service.StopGracePeriod); grace <= c.Server.Drain.Delay+c.Server.Drain.Limit {
			t.Errorf("%s is killed after %v", name, grace)
		}
		if mount := service.Volumes[0].Target; mount != "/etc/portico/portico.yaml" {
			t.Errorf("the configuration is mounted at %s", mount)
		}
	}
	if replicas != 2 {
		t.Errorf("%d gateways", replicas)
	}
	var prometheus struct {
		RuleFiles     []string `json:"rule_files"`
		ScrapeConfigs []struct {
			StaticConfigs []struct{ Targets []string } `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	harness.OK(t, yaml.Unmarshal(read(t, "deploy/compose/prometheus.yaml"), &prometheus))
	for _, target := range prometheus.ScrapeConfigs[0].StaticConfigs[0].Targets {
		host, port, err := net.SplitHostPort(target)
		if _, ok := p.Services[host]; err != nil || !ok || !strings.HasSuffix(c.Server.Admin, ":"+port) {
			t.Errorf("nothing is scraped at %s", target)
		}
	}
	if !slices.Contains(p.Services["prometheus"].Command, "--enable-feature=exemplar-storage") {
		t.Error("the exemplars that panels ask for are not kept")
	}
	for _, v := range p.Services["prometheus"].Volumes {
		if filepath.Base(v.Source) == "prometheus" && !slices.Contains(prometheus.RuleFiles, v.Target+"/*.yaml") && v.Type == types.VolumeTypeBind {
			t.Errorf("the rules at %s are not read", v.Target)
		}
	}
}

// TestGrafanaFindsItsFiles follows the provisioning to the mounted folders.
func TestGrafanaFindsItsFiles(t *testing.T) {
	var dashboards struct {
		Providers []struct {
			Options struct{ Path string }
		}
	}
	var sources struct {
		Datasources []struct{ UID, URL string }
	}
	harness.OK(t, yaml.UnmarshalStrict(read(t, "deploy/compose/grafana/dashboards.yaml"), &map[string]any{}))
	harness.OK(t, yaml.Unmarshal(read(t, "deploy/compose/grafana/dashboards.yaml"), &dashboards))
	harness.OK(t, yaml.Unmarshal(read(t, "deploy/compose/grafana/datasource.yaml"), &sources))
	p := project(t)
	targets := map[string]string{}
	for _, v := range p.Services["grafana"].Volumes {
		targets[v.Target] = filepath.Base(v.Source)
	}
	if len(dashboards.Providers) != 1 || targets[dashboards.Providers[0].Options.Path] != "dashboards" {
		t.Errorf("dashboards are looked for in %+v, mounted are %v", dashboards, targets)
	}
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" || sources.Datasources[0].UID != "prometheus" {
		t.Errorf("data come from %+v", sources)
	}
}
