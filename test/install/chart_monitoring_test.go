package install

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"portico/test/harness"
)

const fullSet = "testdata/chart/sets/full.yaml"

// The cluster gets the very rules that Prometheus was seen to run, with links to the
// addresses in the values: nothing of their templates may have been taken for the chart's
// own.
func TestChartHasTheRules(t *testing.T) {
	var want monitoring.PrometheusRuleSpec
	text := strings.NewReplacer(
		"https://portico.example/deploy/runbook.md", "https://wiki.example.com/runbook",
		"https://grafana.example", "https://grafana.example.com",
		"https://portico-admin.example", "https://portico-admin.internal",
	).Replace(string(read(t, "deploy/prometheus/rules.yaml")))
	harness.OK(t, yaml.UnmarshalStrict([]byte(text), &want))
	got := object[monitoring.PrometheusRule](t, rendered(t, fullSet), "PrometheusRule", "")
	if got == nil || len(want.Groups) == 0 || !reflect.DeepEqual(got.Spec, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Of the jobs that the monitor makes: they are called as the service is.
	admin := object[core.Service](t, rendered(t, fullSet), "Service", "-admin")
	if !strings.Contains(admin.Name, "portico") {
		t.Errorf("no rule looks at the job %s", admin.Name)
	}
}

// An alert links nothing that the values do not name.
func TestChartLinksWhatThereIs(t *testing.T) {
	for address, links := range map[string][]string{
		"runbookURL": {"runbook_url"}, "grafanaURL": {"dashboard_url"}, "consoleURL": {"console_url"}, "": {},
	} {
		v := values(t, "testdata/chart/sets/least.yaml")
		v["prometheusRule"] = map[string]any{"enabled": true}
		if address != "" {
			v["prometheusRule"] = map[string]any{"enabled": true, address: "https://there.example"}
		}
		manifests, err := render(t.Context(), v)
		harness.OK(t, err)
		rules, alerts := object[monitoring.PrometheusRule](t, manifests, "PrometheusRule", ""), 0
		for _, group := range rules.Spec.Groups {
			for _, r := range group.Rules {
				delete(r.Annotations, "summary")
				delete(r.Annotations, "description")
				if r.Alert == "" {
					continue
				}
				alerts++
				if got := slices.Sorted(maps.Keys(r.Annotations)); !slices.Equal(got, links) {
					t.Errorf("with %q %s links %v", address, r.Alert, r.Annotations)
				}
			}
		}
		if alerts == 0 {
			t.Error("no alerts")
		}
	}
}

func TestChartHasTheDashboards(t *testing.T) {
	paths, err := filepath.Glob(root + "/deploy/dashboards/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("dashboards %v (%v)", paths, err)
	}
	got := object[core.ConfigMap](t, rendered(t, fullSet), "ConfigMap", "-dashboards")
	if got == nil || len(got.Data) != len(paths) {
		t.Fatalf("%d dashboards, want %d", len(got.Data), len(paths))
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		harness.OK(t, err)
		var want, is any
		harness.OK(t, json.Unmarshal(text, &want))
		name := "portico-" + filepath.Base(path)
		if err := json.Unmarshal([]byte(got.Data[name]), &is); err != nil || !reflect.DeepEqual(is, want) {
			t.Errorf("%s is another (%v)", name, err)
		}
	}
}

// What needs more than Kubernetes itself is asked for.
func TestChartIsPlain(t *testing.T) {
	all := rendered(t, "testdata/chart/sets/least.yaml")
	if object[monitoring.PrometheusRule](t, all, "PrometheusRule", "") != nil || object[monitoring.ServiceMonitor](t, all, "ServiceMonitor", "") != nil ||
		object[core.ConfigMap](t, all, "ConfigMap", "-dashboards") != nil {
		t.Error("monitoring that no one asked for")
	}
}
