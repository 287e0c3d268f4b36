package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"portico/config/configtest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
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
	registry := &describedRegistry{Registry: prometheus.NewRegistry()}
	s, err := newService(context.Background(), cfg, zap.NewNop(), registry)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	metrics := registry.own(t)
	page := pageOf(metrics)
	if *update {
		if err := os.WriteFile(metricsPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if page != string(want) {
		t.Errorf("%s is not what the code registers; go test ./cmd/portico -run TestMetricsPage -update", metricsPage)
	}
	lintNames(t, metrics)
}

// lintNames lints metrics also where they have no series yet.
func lintNames(t *testing.T, metrics []description) {
	t.Helper()
	var text strings.Builder
	for _, d := range metrics {
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s %[3]s\n", d.name, d.help, d.kind)
		suffix := ""
		if d.kind == "histogram" {
			suffix = `_bucket{le="+Inf"}`
			fmt.Fprintf(&text, "%s_sum 0\n%[1]s_count 0\n", d.name)
		}
		fmt.Fprintf(&text, "%s%s 0\n", d.name, suffix)
	}
	problems, err := promlint.New(strings.NewReader(text.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if n := len(metrics); n < 50 {
		t.Errorf("there are only %d metrics", n)
	}
}

const pageHead = `# Metrics

<!-- Written by a test: go test ./cmd/portico -run TestMetricsPage -update -->

The metrics of ` + "`/metrics`" + ` on the admin listener, besides those of the Go runtime and the process (` + "`go_…`" + `,
` + "`process_…`" + `). Labels contain names from the region map or words from lists in the code, never text from clients.
Histograms are both native and classic. Those of requests and calls have exemplars: their ` + "`correlation_id`" + ` is the one
in the log and in the client's answer, and sampled traces add their ` + "`trace_id`" + `.

| metric | kind | labels | meaning |
|---|---|---|---|
`

func pageOf(metrics []description) string {
	var page strings.Builder
	page.WriteString(pageHead)
	for _, d := range metrics {
		labels := strings.Join(d.labels, "`, `")
		if labels != "" {
			labels = "`" + labels + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", d.name, d.kind, labels, strings.ReplaceAll(d.help, "|", `\|`))
	}
	return page.String()
}

// describedRegistry keeps what was registered, so that metrics are known before they
// have a value.
type describedRegistry struct {
	*prometheus.Registry
	all []prometheus.Collector
}

func (r *describedRegistry) Register(c prometheus.Collector) error {
	err := r.Registry.Register(c)
	if err == nil {
		r.all = append(r.all, c)
	}
	return err
}

func (r *describedRegistry) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

// description is what is known of a metric before it has a value.
type description struct {
	name   string
	kind   string   // counter, gauge or histogram
	labels []string // in alphabetical order
	help   string
}

// own returns the descriptions of Portico's own metrics, in the order of their names.
func (r *describedRegistry) own(t *testing.T) []description {
	t.Helper()
	var own []description
	for _, c := range r.all {
		descs := make(chan *prometheus.Desc)
		go func() {
			c.Describe(descs)
			close(descs)
		}()
		for desc := range descs {
			if d := descriptionOf(t, c, desc); strings.HasPrefix(d.name, "portico_") {
				own = append(own, d)
			}
		}
	}
	slices.SortFunc(own, func(a, b description) int { return cmp.Compare(a.name, b.name) })
	return own
}

// descText matches the text of a Desc, the only way to its parts.
var descText = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), .*constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)

func descriptionOf(t *testing.T, c prometheus.Collector, desc *prometheus.Desc) description {
	t.Helper()
	parts := descText.FindStringSubmatch(desc.String())
	if parts == nil {
		t.Fatalf("%s has another form", desc)
	}
	name, nameErr := strconv.Unquote(parts[1])
	help, helpErr := strconv.Unquote(parts[2])
	if err := errors.Join(nameErr, helpErr); err != nil {
		t.Fatal(err)
	}
	d := description{name: name, kind: kindOf(c, name), help: help}
	for label := range strings.FieldsFuncSeq(parts[3]+","+parts[4], func(c rune) bool { return c == ',' }) {
		constant, _, _ := strings.Cut(label, "=")
		d.labels = append(d.labels, constant)
	}
	slices.Sort(d.labels)
	return d
}

// kindOf goes by the name if a collector can be a counter as well as a gauge.
func kindOf(c prometheus.Collector, name string) string {
	switch c.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	}
	if strings.HasSuffix(name, "_total") {
		return "counter"
	}
	return "gauge"
}
