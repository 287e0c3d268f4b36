package webhook

import "github.com/prometheus/client_golang/prometheus"

// metrics are labelled by the sinks of the configuration.
type metrics struct {
	delivered, forgotten, attempts               *prometheus.CounterVec
	lag, lagSeconds, retrying, dead, awaySeconds *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"sink"})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append([]string{"sink"}, labels...))
	}
	m := &metrics{
		delivered: counter("portico_sink_delivered_total", "Events that this replica delivered to a sink."),
		forgotten: counter("portico_sink_forgotten_total", "Events that were removed from the store before this replica could send them to a "+
			"sink."),
		attempts:    counter("portico_sink_attempts_total", "Messages that this replica sent to a sink, by outcome.", "outcome"),
		lag:         gauge("portico_sink_lag_events", "Events that a sink has not read yet, including those that its filters exclude."),
		lagSeconds:  gauge("portico_sink_lag_seconds", "Age of the oldest event that a sink has not read yet."),
		retrying:    gauge("portico_sink_retrying", "Events of a sink that failed and will be sent again."),
		dead:        gauge("portico_sink_dead_letters", "Events that were given up and wait for an operator."),
		awaySeconds: gauge("portico_sink_away_seconds", "How long a sink's receiver has accepted nothing."),
	}
	registry.MustRegister(m.delivered, m.forgotten, m.attempts, m.lag, m.lagSeconds, m.retrying, m.dead, m.awaySeconds)
	return m
}

// show creates the counters of a sink, so that they are visible before they count.
func (m *metrics) show(sink string) {
	m.delivered.WithLabelValues(sink)
	m.forgotten.WithLabelValues(sink)
	for _, outcome := range outcomes() {
		m.attempts.WithLabelValues(sink, outcome)
	}
}

// hide removes all of a sink.
func (m *metrics) hide(sink string) {
	for _, v := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{m.delivered, m.forgotten, m.attempts, m.lag, m.lagSeconds, m.retrying, m.dead, m.awaySeconds} {
		v.DeletePartialMatch(prometheus.Labels{"sink": sink})
	}
}
