package install

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"portico/test/harness"
)

// cluster knows what an API server would take.
type cluster struct {
	kinds map[string]*jsonschema.Schema
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	const file = "testdata/kubernetes-1.30.json"
	text, err := os.ReadFile(file)
	harness.OK(t, err)
	var index struct{ Kinds map[string]string }
	harness.OK(t, json.Unmarshal(text, &index))
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	harness.OK(t, err)
	compiler := jsonschema.NewCompiler()
	harness.OK(t, compiler.AddResource("kubernetes.json", document))
	c := cluster{kinds: map[string]*jsonschema.Schema{}}
	for kind, definition := range index.Kinds {
		if c.kinds[kind], err = compiler.Compile("kubernetes.json#/$defs/" + definition); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// validate returns what is wrong with a manifest.
func (c cluster) validate(manifest []byte) error {
	var document map[string]any
	if err := yaml.UnmarshalStrict(manifest, &document); err != nil {
		return err
	}
	kind := word(document["apiVersion"]) + " " + word(document["kind"])
	switch kind {
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return yaml.UnmarshalStrict(manifest, &monitoring.ServiceMonitor{})
	case "monitoring.coreos.com/v1 PrometheusRule":
		return yaml.UnmarshalStrict(manifest, &monitoring.PrometheusRule{})
	case "gateway.networking.k8s.io/v1 HTTPRoute": // TestChartRouteIsTaken goes further
		return yaml.UnmarshalStrict(manifest, &gateway.HTTPRoute{})
	case "gateway.networking.k8s.io/v1 BackendTLSPolicy":
		return yaml.UnmarshalStrict(manifest, &gateway.BackendTLSPolicy{})
	}
	schema, ok := c.kinds[kind]
	if !ok {
		return unknownKind(kind)
	}
	return schema.Validate(document)
}

type unknownKind string

func (k unknownKind) Error() string { return "no schema of " + string(k) }

func word(v any) string {
	s, _ := v.(string)
	return s
}

// TestClusterRefuses takes away the doubt that anything would be taken.
func TestClusterRefuses(t *testing.T) {
	c := newCluster(t)
	good := "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n"
	harness.OK(t, c.validate([]byte(good)))
	for _, change := range [][2]string{
		{"ports:", "portz:"},             // an unknown field
		{"port: 80", "port: eighty"},     // of another type
		{"port: 80", "name: http"},       // without what is required
		{"kind: Service", "kind: Serve"}, // unknown
	} {
		if err := c.validate([]byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%s is taken", change[1])
		}
	}
	monitor := "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nspec: {endpoints: [{porth: admin}]}\n"
	if err := c.validate([]byte(monitor)); err == nil {
		t.Error("a ServiceMonitor with an unknown field is taken")
	}
}
