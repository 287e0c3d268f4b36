package upstream

import (
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"portico/regions/health"
)

// healthCollector exports the health of the addresses of the current map.
type healthCollector struct {
	client                                                               *Client
	up, circuit, ejected, opened, ejections, probes, outstanding, region *prometheus.Desc
	drained, regionDrained                                               *prometheus.Desc
}

func newHealthCollector(c *Client) *healthCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("portico_endpoint_"+name, help, append([]string{"region", "endpoint"}, labels...), nil)
	}
	return &healthCollector{
		client:    c,
		up:        describe("up", "Whether an address is in use: its circuit is closed, its probes succeed and it is not ejected."),
		circuit:   describe("circuit_state", "The circuit of an address: 0 closed, 1 half-open, 2 open."),
		ejected:   describe("ejected", "Whether an address is ejected because of the results of its calls."),
		opened:    describe("circuit_openings_total", "How often the circuit of an address opened."),
		ejections: describe("ejections_total", "How often an address was ejected, for errors or for being slow.", "reason"),
		probes: describe("probes_total",
			"Probes of an address, by outcome: good, unwell (connected, but without the expected answer) or unreachable.", "outcome"),
		outstanding:   describe("calls_in_flight", "Calls to an address in progress."),
		drained:       describe("drained", "Whether an address, or its region, is out for maintenance."),
		regionDrained: prometheus.NewDesc("portico_region_drained", "Whether a region is out for maintenance.", []string{"region"}, nil),
		region: prometheus.NewDesc("portico_region_up",
			"Whether calls to a region are made: 0 if no address of its endpoints can be reached, so that calls are refused.", []string{"region"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (h *healthCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{h.up, h.circuit, h.ejected, h.opened, h.ejections, h.probes, h.outstanding, h.region, h.drained, h.regionDrained} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (h *healthCollector) Collect(to chan<- prometheus.Metric) {
	now := h.client.now()
	for region, conditions := range h.client.conditions(now) {
		to <- prometheus.MustNewConstMetric(h.region, prometheus.GaugeValue, gaugeValue(Overall(conditions) != Down), region)
		to <- prometheus.MustNewConstMetric(h.regionDrained, prometheus.GaugeValue, gaugeValue(h.client.registry.Drained(region)), region)
	}
	for _, a := range h.client.registry.Addresses() {
		s, at := a.State(now), endpointLabel(a)
		gauge := func(d *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, a.Region, at)
		}
		counter := func(d *prometheus.Desc, v uint64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), append([]string{a.Region, at}, labels...)...)
		}
		gauge(h.up, gaugeValue(s.Up))
		gauge(h.drained, gaugeValue(h.client.registry.Drained(a.Region) || h.client.registry.Drained(a.Name)))
		gauge(h.circuit, float64(s.Circuit))
		gauge(h.ejected, gaugeValue(s.Ejected))
		gauge(h.outstanding, float64(s.Outstanding))
		counter(h.opened, s.Counts.CircuitOpenings)
		for _, reason := range []string{health.ReasonErrors, health.ReasonSlow} {
			counter(h.ejections, s.Counts.Ejections[reason], reason)
		}
		for _, outcome := range []health.ProbeOutcome{health.ProbeSucceeded, health.ProbeFailed, health.ProbeUnreachable} {
			counter(h.probes, s.Counts.Probes[outcome], outcome.String())
		}
	}
}

// endpointLabel returns the endpoint label that all other metrics use for an
// address.
func endpointLabel(a *health.Address) string {
	address, identity, _ := strings.Cut(a.Name, " ")
	u, err := url.Parse(address)
	if err != nil {
		return a.Name
	}
	label := addressOf(u)
	if identity != "" {
		label += " " + identity
	}
	return label
}

func gaugeValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
