package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"portico/config"
	"portico/test/harness"
)

func TestChartLint(t *testing.T) {
	for _, path := range valueSets(t) {
		for _, m := range lint.RunAll(chartFolder, values(t, path), "portico").Messages {
			if m.Severity > support.InfoSev { // for information: an icon is wanted
				t.Errorf("%s: %v", path, m)
			}
		}
	}
}

func TestChartIsTaken(t *testing.T) {
	c := newCluster(t)
	for _, path := range valueSets(t) {
		for _, m := range rendered(t, path) {
			if err := c.validate(m); err != nil {
				t.Errorf("%s: %v\n%s", path, err, m)
			}
		}
	}
}

// TestChartFitsTogether follows the names by which the objects of a release
// call each other.
func TestChartFitsTogether(t *testing.T) {
	for _, path := range valueSets(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			all := rendered(t, path)
			pod := object[apps.Deployment](t, all, "Deployment", "").Spec
			container := pod.Template.Spec.Containers[0]
			selected := func(what string, selector map[string]string) {
				if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Template.Labels)) {
					t.Errorf("%s selects %v, the pods have %v", what, selector, pod.Template.Labels)
				}
			}
			port := func(what string, named intstr.IntOrString) {
				if !slices.ContainsFunc(container.Ports, func(p core.ContainerPort) bool { return p.Name == named.StrVal }) {
					t.Errorf("%s leads to port %v, which there is not", what, named)
				}
			}
			selected("the deployment", pod.Selector.MatchLabels)
			for _, suffix := range []string{"-portico", "-admin"} {
				service := object[core.Service](t, all, "Service", suffix)
				selected("service "+suffix, service.Spec.Selector)
				port("service "+suffix, service.Spec.Ports[0].TargetPort)
			}
			if budget := object[policy.PodDisruptionBudget](t, all, "PodDisruptionBudget", ""); budget != nil {
				selected("the disruption budget", budget.Spec.Selector.MatchLabels)
			} else if *pod.Replicas > 1 {
				t.Error("several replicas without a disruption budget")
			}
			if network := object[networking.NetworkPolicy](t, all, "NetworkPolicy", ""); network != nil {
				selected("the network policy", network.Spec.PodSelector.MatchLabels)
				for _, rule := range network.Spec.Ingress {
					port("the network policy", *rule.Ports[0].Port)
				}
			}
			if monitor := object[monitoring.ServiceMonitor](t, all, "ServiceMonitor", ""); monitor != nil {
				admin := object[core.Service](t, all, "Service", "-admin")
				selector, err := meta.LabelSelectorAsSelector(&monitor.Spec.Selector)
				if err != nil || !selector.Matches(labels.Set(admin.Labels)) || monitor.Spec.Endpoints[0].Port != admin.Spec.Ports[0].Name {
					t.Errorf("the monitor does not find %v %v: %+v, %v", admin.Labels, admin.Spec.Ports, monitor.Spec, err)
				}
				if public := object[core.Service](t, all, "Service", "-portico"); selector.Matches(labels.Set(public.Labels)) {
					t.Error("the monitor finds the public service too")
				}
			}
			for _, probe := range []*core.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
				port("a probe", probe.HTTPGet.Port)
			}
			if ready, live := container.ReadinessProbe.HTTPGet.Path, container.LivenessProbe.HTTPGet.Path; ready != "/readyz" || live != "/healthz" {
				t.Errorf("probes %s %s", ready, live)
			}
			account := object[core.ServiceAccount](t, all, "ServiceAccount", "")
			if account.Name != pod.Template.Spec.ServiceAccountName {
				t.Errorf("service account %s", pod.Template.Spec.ServiceAccountName)
			}
		})
	}
}

// TestChartIsHardened holds the pods to the restricted profile of Kubernetes'
// pod security standards, and further.
func TestChartIsHardened(t *testing.T) {
	for _, path := range valueSets(t) {
		pod := object[apps.Deployment](t, rendered(t, path), "Deployment", "").Spec.Template.Spec
		own, all := pod.Containers[0].SecurityContext, pod.SecurityContext
		if !*all.RunAsNonRoot || *all.RunAsUser != 65532 || all.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: the pod: %+v", path, all)
		}
		if *own.AllowPrivilegeEscalation || !*own.ReadOnlyRootFilesystem || !slices.Equal(own.Capabilities.Drop, []core.Capability{"ALL"}) || len(own.Capabilities.Add) > 0 {
			t.Errorf("%s: the container: %+v", path, own)
		}
		if *pod.AutomountServiceAccountToken || pod.HostNetwork || pod.HostPID || len(pod.Containers) != 1 {
			t.Errorf("%s: %+v", path, pod)
		}
		for _, v := range pod.Volumes {
			if v.ConfigMap == nil && v.Secret == nil {
				t.Errorf("%s: volume %s is neither a ConfigMap nor a Secret", path, v.Name)
			}
		}
		if requests := pod.Containers[0].Resources.Requests; requests.Cpu().IsZero() || requests.Memory().IsZero() {
			t.Errorf("%s: it asks for %v", path, requests)
		}
		if len(pod.TopologySpreadConstraints) != 2 {
			t.Errorf("%s: it is spread by %+v", path, pod.TopologySpreadConstraints)
		}
	}
}

// The pod of helm test asks the gateways' admin listener by a name that it answers to, runs
// their image, is let through, and is none of them.
func TestChartTestsItself(t *testing.T) {
	for _, path := range valueSets(t) {
		all := rendered(t, path)
		pod, own := object[core.Pod](t, all, "Pod", "-test"), object[apps.Deployment](t, all, "Deployment", "").Spec
		if pod.Annotations["helm.sh/hook"] != "test" || pod.Spec.RestartPolicy != core.RestartPolicyNever {
			t.Errorf("%s: no test of Helm's: %v, %s", path, pod.Annotations, pod.Spec.RestartPolicy)
		}
		if labels.SelectorFromSet(own.Selector.MatchLabels).Matches(labels.Set(pod.Labels)) {
			t.Errorf("%s: it counts as a gateway: %v", path, pod.Labels)
		}
		container, admin := pod.Spec.Containers[0], object[core.Service](t, all, "Service", "-admin")
		if container.Image != own.Template.Spec.Containers[0].Image {
			t.Errorf("%s: image %s", path, container.Image)
		}
		c, err := config.Load(layPod(t, all, own.Template.Spec))
		harness.OK(t, err)
		want := fmt.Sprintf("http://%s:%d", admin.Name, admin.Spec.Ports[0].Port)
		if !slices.Equal(container.Args, []string{"ready", "--admin", want}) || !slices.Contains(c.Server.AdminHosts, admin.Name) {
			t.Errorf("%s: it asks %v of %v", path, container.Args, c.Server.AdminHosts)
		}
		if network := object[networking.NetworkPolicy](t, all, "NetworkPolicy", ""); network != nil {
			if !slices.ContainsFunc(network.Spec.Ingress[1].From, func(p networking.NetworkPolicyPeer) bool {
				s, err := meta.LabelSelectorAsSelector(p.PodSelector)
				return err == nil && p.NamespaceSelector == nil && s.Matches(labels.Set(pod.Labels))
			}) {
				t.Errorf("%s: only %+v may ask", path, network.Spec.Ingress[1].From)
			}
		}
	}
}

// TestChartRefuses changes one value at a time.
func TestChartRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		path []string
		to   any
		says string
	}{
		{"no address", []string{"publicURL"}, "", "publicURL"},
		{"an address with a path", []string{"publicURL"}, "https://a.example/b", "publicURL"},
		{"no region", []string{"region"}, "", "region"},
		{"no replica", []string{"replicas"}, 0, "replicas"},
		{"a misspelt value", []string{"replicaz"}, 3, "replicaz"},
		{"no image", []string{"image"}, map[string]any{}, "repository"},
		{"no version of the image", []string{"image", "tag"}, "", "image.tag"},
		{"no regions", []string{"config"}, map[string]any{}, "regions"},
		{"an address that is none", []string{"prometheusRule"}, map[string]any{"runbookURL": "wiki"}, "runbookURL"},
		{"a volume without a name", []string{"extraVolumes"}, []any{map[string]any{"secret": map[string]any{}}}, "name"},
		{"the former name of extraEnv", []string{"env"}, []any{}, "env"},
		{"no secret", []string{"secret"}, map[string]any{}, "secret"},
		{"a fraction of a second", []string{"drain"}, map[string]any{"delay": 0.5, "limit": 30}, "drain"},
		{"the chart's own", []string{"config", "server"}, map[string]any{"listen": ":80"}, "listen"},
		{"another store", []string{"config", "store"}, map[string]any{"driver": "sqlite"}, "SQLite has one writer"},
		{"another store, in the Secret", []string{"secret", "content", "store"}, map[string]any{"driver": "sqlite", "dsn": "hunter2"}, "SQLite has one writer, so that neither replicas nor autoscaling"},
		{"an Ingress that hides its clients", []string{"ingress"}, map[string]any{"enabled": true}, "ingress terminates the TLS of clients: config.server.trustedProxies must"},
		{"a Gateway that hides its clients", []string{"httpRoute"}, map[string]any{"enabled": true, "parentRefs": []any{map[string]any{"name": "a"}}}, "httpRoute terminates the TLS of clients: config.server.trustedProxies must"},
		{"a route of no Gateway", []string{"httpRoute"}, map[string]any{"enabled": true}, "parentRefs"},
		{"passthrough to gateways without TLS", []string{"ingress"}, map[string]any{"enabled": true, "tls": map[string]any{"passthrough": true}}, "ingress passes TLS through, so the gateways must terminate it: set tls.secret"},
		{"passthrough with a certificate", []string{"ingress"}, map[string]any{"enabled": true, "tls": map[string]any{"passthrough": true, "secret": "a"}}, "secret"},
		{"a misspelt value of the Ingress", []string{"ingress"}, map[string]any{"enable": true}, "enable"},
		{"fewer gateways at most than at least", []string{"autoscaling"}, map[string]any{"enabled": true, "minReplicas": 5, "maxReplicas": 4}, "autoscaling.maxReplicas (4) is less than autoscaling.minReplicas (5)"},
		{"a scale of nothing", []string{"autoscaling"}, map[string]any{"enabled": true, "minReplicas": 0}, "minReplicas"},
		{"a DSN in the open", []string{"config", "store"}, map[string]any{"dsn": "postgres://u:hunter2@db/portico"}, "config.store.dsn would be stored in a ConfigMap"},
		{"tokens in the open", []string{"config", "auth"}, map[string]any{"tokens": []any{}}, "config.auth.tokens would"},
		{"keys in the open", []string{"config", "lists"}, map[string]any{"tokenKeys": []any{}}, "config.lists.tokenKeys would"},
		{"the admins' tokens in the open", []string{"config", "server"}, map[string]any{"adminTokens": []any{}}, "config.server.adminTokens would"},
		{"keys of the store in the open", []string{"config", "store"}, map[string]any{"sealKeys": []any{}}, "config.store.sealKeys would"},
		{"the admin's token in the open", []string{"config", "server"}, map[string]any{"adminToken": map[string]any{}}, "config.server.adminToken would"},
	} {
		v := values(t, "testdata/chart/sets/least.yaml")
		at := v
		for _, key := range c.path[:len(c.path)-1] {
			at = at[key].(map[string]any)
		}
		at[c.path[len(c.path)-1]] = c.to
		if _, err := render(t.Context(), v); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
