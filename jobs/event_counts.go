package jobs

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// eventMetrics show the numbers of events in the store.
type eventMetrics struct {
	kept, waiting, oldest prometheus.Gauge
}

func newEventMetrics(registry prometheus.Registerer) *eventMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &eventMetrics{
		kept: gauge("portico_events_kept", "Events in the store, for the activity log and the change feed."),
		waiting: gauge("portico_events_waiting",
			"Events that are recorded but not numbered yet, so that they cannot be read. Only the first 10,000 transactions are counted."),
		oldest: gauge("portico_events_waiting_seconds", "How long the oldest event has waited to be numbered. Readers number events, and "+
			"housekeeping does every 20 s."),
	}
	registry.MustRegister(m.kept, m.waiting, m.oldest)
	return m
}

// countEvents counts the events. It does so even if forgetting fails, which numbers the
// events that no reader requests.
func (r *Runner) countEvents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	counts, err := r.Store.Events.Count(ctx)
	if err != nil {
		return fmt.Errorf("count waiting events: %w", err)
	}
	r.events.kept.Set(float64(counts.Kept))
	r.events.waiting.Set(float64(counts.Waiting))
	r.events.oldest.Set(counts.Oldest.Seconds())
	return nil
}
