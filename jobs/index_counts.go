package jobs

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory"
	"portico/inventory/index"
)

// The rows of the index are counted a part at a time, within a fiftieth of one
// connection's time, however many there are: ten million take some twenty minutes.
const (
	countRows  = 8000
	countShare = 50
	countPause = time.Second      // at least, between two parts
	countEvery = 30 * time.Second // at least, between two counts
	countTime  = 5 * time.Second  // for one part
)

// indexMetrics are labelled by phases.
type indexMetrics struct {
	rows             *prometheus.GaugeVec
	flagged, intents prometheus.Gauge
}

func newIndexMetrics(registry prometheus.Registerer) *indexMetrics {
	m := &indexMetrics{
		rows: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_index_resources",
			Help: "Resources in the index, by phase: Pending (only the write is known), Live, Deleting. They are counted continually, in parts.",
		}, []string{"phase"}),
		flagged: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_index_flagged_resources",
			Help: "Resources in the index whose state is unverified after an ambiguous answer, so that their providers will be asked.",
		}),
		intents: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_index_intents", Help: "Open writes: in progress, or unanswered, so that they may still take effect.",
		}),
	}
	registry.MustRegister(m.rows, m.flagged, m.intents)
	return m
}

// countIndex counts the rows of the index repeatedly until ctx ends.
func (r *Runner) countIndex(ctx context.Context) {
	var counts inventory.IndexCounts
	repeat(ctx, r.pace(), func() time.Duration {
		started := time.Now()
		done, err := r.countPart(ctx, &counts)
		pause := max(countPause, countShare*time.Since(started))
		if done {
			r.index.show(counts)
		}
		if done || err != nil { // runHousekeeping warns of a store that is down
			counts, pause = inventory.IndexCounts{}, max(pause, countEvery)
		}
		return pause
	})
}

func (r *Runner) countPart(ctx context.Context, counts *inventory.IndexCounts) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	return r.Store.CountIndex(ctx, counts, countRows)
}

func (m *indexMetrics) show(c inventory.IndexCounts) {
	for phase, n := range c.Rows {
		m.rows.WithLabelValues(index.Phase(phase).String()).Set(float64(n))
	}
	m.flagged.Set(float64(c.Flagged))
}
