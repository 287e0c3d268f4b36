// Package meter holds what all metrics have in common: a registry that describes every
// metric in it, so that the page of them cannot drift; histograms, native and classic,
// with exemplars; and what concerns the process as a whole: its build, its
// configuration, its certificates.
//
// Each package defines its own metrics. Their names begin with portico_, units
// are seconds and bytes, and no label holds what a client sent: labels are names
// of the region map, or words from lists in the code.
package meter

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Registry is a Prometheus registry that describes its metrics, including those without
// series yet. It is safe for concurrent use.
type Registry struct {
	*prometheus.Registry

	mu    sync.Mutex
	known []Description
}

// Description is what is known of a metric before it has a value.
type Description struct {
	Name   string
	Kind   string   // counter, gauge or histogram
	Labels []string // in alphabetical order
	Help   string
}

// New returns an empty registry.
func New() *Registry { return &Registry{Registry: prometheus.NewRegistry()} }

// Register implements [prometheus.Registerer].
func (r *Registry) Register(c prometheus.Collector) error {
	if err := r.Registry.Register(c); err != nil {
		return err
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	for desc := range descs {
		r.known = append(r.known, describe(c, desc))
	}
	return nil
}

// MustRegister implements [prometheus.Registerer]: it panics where Register
// returns an error.
func (r *Registry) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

// Descriptions returns descriptions of Portico's own metrics, in the order of their
// names.
func (r *Registry) Descriptions() []Description {
	r.mu.Lock()
	defer r.mu.Unlock()
	var own []Description
	for _, d := range r.known {
		if strings.HasPrefix(d.Name, "portico_") {
			own = append(own, d)
		}
	}
	slices.SortFunc(own, func(a, b Description) int { return cmp.Compare(a.Name, b.Name) })
	return own
}

// A description keeps its parts to itself, but for its text.
var descText = regexp.MustCompile(`^Desc\{fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*"), .*constLabels: \{([^}]*)\}, variableLabels: \{([^}]*)\}`)

func describe(c prometheus.Collector, desc *prometheus.Desc) Description {
	d := Description{Kind: kindOf(c)}
	parts := descText.FindStringSubmatch(desc.String())
	if parts == nil {
		return d
	}
	// Both were written by %q.
	d.Name, _ = strconv.Unquote(parts[1])
	d.Help, _ = strconv.Unquote(parts[2])
	for label := range strings.SplitSeq(parts[3], ",") {
		if name, _, ok := strings.Cut(label, "="); ok {
			d.Labels = append(d.Labels, name)
		}
	}
	for label := range strings.SplitSeq(parts[4], ",") {
		if label != "" {
			d.Labels = append(d.Labels, label)
		}
	}
	slices.Sort(d.Labels)
	if d.Kind == "" {
		d.Kind = "gauge"
		if strings.HasSuffix(d.Name, "_total") {
			d.Kind = "counter"
		}
	}
	return d
}

// kindOf is "" for what can be a counter as well as a gauge.
func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case *prometheus.CounterVec:
		return "counter"
	case *prometheus.GaugeVec:
		return "gauge"
	}
	return ""
}

const pageHead = `# Metrics

<!-- Written by a test: go test ./cmd/portico -run TestMetricsPage -update -->

What the admin listener shows under ` + "`/metrics`" + `, beside what the Go runtime and the process tell of themselves
(` + "`go_…`, `process_…`" + `). Labels hold names of the region map, or words from lists in the code, never what a client
sent. Histograms are native and classic at once; those of requests and calls carry exemplars, whose
` + "`correlation_id`" + ` is the one of the log and of the client's answer, and whose ` + "`trace_id`" + ` those of sampled traces have.

| metric | kind | labels | meaning |
|---|---|---|---|
`

// WritePage writes a page that tells of the registry's metrics.
func (r *Registry) WritePage(w io.Writer) error {
	var page strings.Builder
	page.WriteString(pageHead)
	for _, d := range r.Descriptions() {
		labels := strings.Join(d.Labels, "`, `")
		if labels != "" {
			labels = "`" + labels + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", d.Name, d.Kind, labels, strings.ReplaceAll(d.Help, "|", `\|`))
	}
	_, err := io.WriteString(w, page.String())
	return err
}
