package upstream

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"portico/regions/health"
)

// metrics counts what calls come to; nil counts nothing.
type metrics struct {
	retries *prometheus.CounterVec
	refused *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer, c *Client) *metrics {
	if registry == nil {
		return nil
	}
	m := &metrics{
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_retries_total", Help: "Repetitions of reads of providers that were due: sent, or refused because the endpoint's budget of them was used up.",
		}, []string{"outcome"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_region_refusals_total", Help: "Calls that were not made, as no address of the endpoint can be reached.",
		}, []string{"region"}),
	}
	registry.MustRegister(m.retries, m.refused, newHealthCollector(c))
	return m
}

func (m *metrics) retried(sent bool) {
	if m == nil {
		return
	}
	outcome := "refused"
	if sent {
		outcome = "sent"
	}
	m.retries.WithLabelValues(outcome).Inc()
}

// refuse counts a call that is not made. It returns err.
func (c *Client) refuse(err error) error {
	var down *health.Down
	if c.metrics != nil && errors.As(err, &down) {
		c.metrics.refused.WithLabelValues(down.Region).Inc()
	}
	return err
}

// healthCollector shows how the addresses of the map fare. Nothing is left of
// those that have gone from it.
type healthCollector struct {
	client                                                       *Client
	up, circuit, ejected, opened, ejections, probes, outstanding *prometheus.Desc
}

func newHealthCollector(c *Client) *healthCollector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("portico_endpoint_"+name, help, append([]string{"region", "endpoint"}, labels...), nil)
	}
	return &healthCollector{
		client:      c,
		up:          describe("up", "Whether an address is in use: its circuit is closed, its probes succeed and it is not ejected."),
		circuit:     describe("circuit_state", "The circuit of an address: 0 closed, 1 half-open, 2 open."),
		ejected:     describe("ejected", "Whether an address is left out for what calls of it came to."),
		opened:      describe("circuit_openings_total", "How often the circuit of an address opened."),
		ejections:   describe("ejections_total", "How often an address was ejected, for errors or for being slow.", "reason"),
		probes:      describe("probes_total", "Probes of an address by what they came to: good, unwell (connected, but not answered as it should be) or unreachable.", "outcome"),
		outstanding: describe("calls_in_flight", "Calls of an address that are under way."),
	}
}

// Describe implements [prometheus.Collector].
func (h *healthCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{h.up, h.circuit, h.ejected, h.opened, h.ejections, h.probes, h.outstanding} {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (h *healthCollector) Collect(to chan<- prometheus.Metric) {
	now := h.client.now()
	for _, a := range h.client.board.Addresses() {
		s := a.State(now)
		gauge := func(d *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, a.Region, a.Name)
		}
		counter := func(d *prometheus.Desc, v uint64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), append([]string{a.Region, a.Name}, labels...)...)
		}
		gauge(h.up, truth(s.Up))
		gauge(h.circuit, float64(s.Circuit))
		gauge(h.ejected, truth(s.Ejected))
		gauge(h.outstanding, float64(s.Outstanding))
		counter(h.opened, s.Counts.Opened)
		for _, reason := range []string{health.ReasonErrors, health.ReasonSlow} {
			counter(h.ejections, s.Counts.Ejections[reason], reason)
		}
		for _, outcome := range []health.Probe{health.ProbeGood, health.ProbeUnwell, health.ProbeUnreachable} {
			counter(h.probes, s.Counts.Probes[outcome], outcome.String())
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
