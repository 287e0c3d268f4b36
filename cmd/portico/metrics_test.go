package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"portico/config/configtest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/zap"
)

var update = flag.Bool("update", false, "write the page of metrics anew")

const metricsPage = "../../deploy/metrics.md"

// TestMetricsPage holds the page of metrics to what a service registers, with
// or without a value.
func TestMetricsPage(t *testing.T) {
	cfg := configtest.Load(t, fmt.Sprintf(`
server: {publicURL: "http://portico.example", region: westus}
auth: {mode: none}
store: {dsn: %q}
tracing: {otlp: "http://127.0.0.1:1"}
regions: [{name: westus}]
providers:
  - namespace: Contoso.Compute
    endpoints: {westus: ["http://127.0.0.1:1"], global: ["http://127.0.0.1:1"]}
    resourceTypes: [{name: virtualMachines, kind: tracked, apiVersions: ["2024-01-01"]}]
`, filepath.Join(t.TempDir(), "portico.db")))
	s, err := newService(context.Background(), cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	var page bytes.Buffer
	if err := s.registry.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(metricsPage, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if page.String() != string(want) {
		t.Errorf("%s is not what the code registers; go test ./cmd/portico -run TestMetricsPage -update", metricsPage)
	}
	lintNames(t, s)
}

// lintNames lints metrics also where they have no series yet.
func lintNames(t *testing.T, s *service) {
	t.Helper()
	var text strings.Builder
	for _, d := range s.registry.Descriptions() {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", d.Name, d.Help, d.Kind)
		suffix := ""
		if d.Kind == "histogram" {
			suffix = `_bucket{le="+Inf"}`
			fmt.Fprintf(&text, "%s_sum 0\n%[1]s_count 0\n", d.Name)
		}
		fmt.Fprintf(&text, "%s%s 0\n", d.Name, suffix)
	}
	problems, err := promlint.New(strings.NewReader(text.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n := len(s.registry.Descriptions()); n < 50 {
		t.Errorf("there are only %d metrics", n)
	}
}
