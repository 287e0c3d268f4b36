package install

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"portico/test/harness"
)

// What stands in front leads clients of the public address to the public listener, and
// to nothing else.
func TestChartInFront(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range valueSets(t) {
		all, given := rendered(t, path), values(t, path)
		address, err := url.Parse(word(given["publicURL"]))
		harness.OK(t, err)
		public := object[core.Service](t, all, "Service", "-portico")
		if ports := public.Spec.Ports; len(ports) != 1 || ports[0].TargetPort.StrVal != "public" {
			t.Fatalf("%s: the public service has %v", path, ports)
		}
		if in := object[networking.Ingress](t, all, "Ingress", ""); in != nil {
			seen["Ingress"] = true
			rules := in.Spec.Rules
			if len(rules) != 1 || rules[0].Host != address.Hostname() || len(rules[0].HTTP.Paths) != 1 || in.Spec.DefaultBackend != nil {
				t.Fatalf("%s: %+v", path, in.Spec)
			}
			to := rules[0].HTTP.Paths[0]
			if to.Path != "/" || *to.PathType != networking.PathTypePrefix || to.Backend.Service.Name != public.Name || to.Backend.Service.Port.Name != public.Spec.Ports[0].Name {
				t.Errorf("%s: it leads to %+v", path, to)
			}
			for _, of := range in.Spec.TLS {
				if !slices.Equal(of.Hosts, []string{address.Hostname()}) {
					t.Errorf("%s: the certificate is for %v", path, of.Hosts)
				}
			}
		}
		if route := object[gateway.HTTPRoute](t, all, "HTTPRoute", ""); route != nil {
			seen["HTTPRoute"] = true
			if !slices.Equal(route.Spec.Hostnames, []gateway.Hostname{gateway.Hostname(address.Hostname())}) || len(route.Spec.Rules) != 1 || len(route.Spec.Rules[0].BackendRefs) != 1 || len(route.Spec.ParentRefs) == 0 {
				t.Fatalf("%s: %+v", path, route.Spec)
			}
			to := route.Spec.Rules[0].BackendRefs[0]
			if string(to.Name) != public.Name || *to.Port != public.Spec.Ports[0].Port || to.Namespace != nil {
				t.Errorf("%s: it leads to %+v", path, to)
			}
		}
	}
	if !seen["Ingress"] || !seen["HTTPRoute"] {
		t.Errorf("of the value sets only %v are in front", seen)
	}
}

// An autoscaler alone says how many gateways there are.
func TestChartScales(t *testing.T) {
	const path = "testdata/chart/sets/ingress.yaml"
	all := rendered(t, path)
	scaler, deployment := object[autoscaling.HorizontalPodAutoscaler](t, all, "HorizontalPodAutoscaler", ""), object[apps.Deployment](t, all, "Deployment", "")
	want := autoscaling.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: deployment.Name}
	if scaler == nil || scaler.Spec.ScaleTargetRef != want || *scaler.Spec.MinReplicas != 3 || scaler.Spec.MaxReplicas != 12 || *scaler.Spec.Metrics[0].Resource.Target.AverageUtilization != 60 {
		t.Fatalf("%+v", scaler)
	}
	if deployment.Spec.Replicas != nil {
		t.Errorf("the deployment has %d replicas as well", *deployment.Spec.Replicas)
	}
	if object[policy.PodDisruptionBudget](t, all, "PodDisruptionBudget", "") == nil {
		t.Error("several replicas without a disruption budget")
	}
}

// Each switch makes its object, and changes no other but those that it speaks of.
func TestChartSwitches(t *testing.T) {
	base := values(t, "testdata/chart/sets/least.yaml")
	base["config"].(map[string]any)["server"] = map[string]any{"trustedProxies": []any{"10.0.0.0/8"}}
	plain, err := render(t.Context(), base)
	harness.OK(t, err)
	for name, of := range map[string]struct {
		value   map[string]any
		kind    string
		changes string // a kind whose object is another
	}{
		"ingress":     {map[string]any{"enabled": true}, "Ingress", ""},
		"httpRoute":   {map[string]any{"enabled": true, "parentRefs": []any{map[string]any{"name": "a"}}}, "HTTPRoute", ""},
		"autoscaling": {map[string]any{"enabled": true}, "HorizontalPodAutoscaler", "Deployment"},
	} {
		if hasKind(plain, of.kind) {
			t.Errorf("%s: there without being asked for", of.kind)
		}
		base[name] = of.value
		switched, err := render(t.Context(), base)
		delete(base, name)
		harness.OK(t, err)
		if !hasKind(switched, of.kind) || len(switched) != len(plain)+1 {
			t.Errorf("%s: %d objects, %d without it", name, len(switched), len(plain))
		}
		for _, m := range plain {
			same := slices.ContainsFunc(switched, func(other []byte) bool { return bytes.Equal(m, other) })
			if changed := of.changes != "" && hasKind([][]byte{m}, of.changes); same == changed {
				t.Errorf("%s: unchanged %v:\n%s", name, same, m)
			}
		}
	}
}

func hasKind(manifests [][]byte, kind string) bool {
	return slices.ContainsFunc(manifests, func(m []byte) bool { return bytes.Contains(m, []byte("\nkind: "+kind+"\n")) })
}

// routeSchema is what an API server with the Gateway API holds an HTTPRoute to: the schema
// of its definition.
func routeSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	harness.OK(t, err)
	text, err := os.ReadFile(strings.TrimSpace(string(folder)) + "/config/crd/standard/gateway.networking.k8s.io_httproutes.yaml")
	harness.OK(t, err)
	var definition struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema any }
			}
		}
	}
	harness.OK(t, yaml.Unmarshal(text, &definition))
	for _, version := range definition.Spec.Versions {
		if version.Name != "v1" {
			continue
		}
		compiler := jsonschema.NewCompiler()
		harness.OK(t, compiler.AddResource("route.json", version.Schema.OpenAPIV3Schema))
		schema, err := compiler.Compile("route.json")
		harness.OK(t, err)
		return schema
	}
	t.Fatal("the Gateway API has no HTTPRoute v1")
	return nil
}

// A Gateway's controller is given an HTTPRoute that it takes, and the check would notice
// one that it does not.
func TestChartRouteIsTaken(t *testing.T) {
	schema := routeSchema(t)
	route := object[gateway.HTTPRoute](t, rendered(t, "testdata/chart/sets/ingress.yaml"), "HTTPRoute", "")
	check := func(change func(*gateway.HTTPRoute)) error {
		changed := route.DeepCopy()
		change(changed)
		text, err := yaml.Marshal(changed)
		harness.OK(t, err)
		var document map[string]any
		harness.OK(t, yaml.Unmarshal(text, &document))
		delete(document, "status") // it is the controller's
		return schema.Validate(document)
	}
	if err := check(func(*gateway.HTTPRoute) {}); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*gateway.HTTPRoute){
		"a host with a port":   func(r *gateway.HTTPRoute) { r.Spec.Hostnames[0] = "a.example:80" },
		"a parent without one": func(r *gateway.HTTPRoute) { r.Spec.ParentRefs[0].Name = "" },
	} {
		if check(change) == nil {
			t.Errorf("%s is taken", what)
		}
	}
}
