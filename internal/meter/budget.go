package meter

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"portico/limits"
)

// budgets exports the waits and refusals of budgets that callers share.
type budgets struct {
	waiting, refusals *prometheus.Desc

	mu    sync.Mutex
	shown []budget
}

type budget struct {
	name  string
	stats *limits.Stats
}

// ShowBudget exports the statistics of a budget under a name: the setting
// that bounds the budget.
func ShowBudget(registry prometheus.Registerer, name string, stats *limits.Stats) {
	b := &budgets{
		waiting: prometheus.NewDesc("portico_budget_waiting",
			"Requests and calls that wait for a part of a shared budget, by the setting that limits the budget.", []string{"budget"}, nil),
		refusals: prometheus.NewDesc("portico_budget_refusals_total",
			"Refused reservations of a shared budget, by the reason: share (the caller has used its share, limits.callerShare), or full (all "+
				"callers together have used the whole budget).", []string{"budget", "reason"}, nil),
	}
	if err := registry.Register(b); err != nil {
		var there prometheus.AlreadyRegisteredError
		if !errors.As(err, &there) {
			panic(err)
		}
		b, _ = there.ExistingCollector.(*budgets)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown = append(b.shown, budget{name, stats})
	slices.SortFunc(b.shown, func(a, b budget) int { return cmp.Compare(a.name, b.name) })
}

// Describe implements [prometheus.Collector].
func (b *budgets) Describe(to chan<- *prometheus.Desc) {
	to <- b.waiting
	to <- b.refusals
}

// Collect implements [prometheus.Collector].
func (b *budgets) Collect(to chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, shown := range b.shown {
		refused := func(reason string, n int64) {
			to <- prometheus.MustNewConstMetric(b.refusals, prometheus.CounterValue, float64(n), shown.name, reason)
		}
		to <- prometheus.MustNewConstMetric(b.waiting, prometheus.GaugeValue, float64(shown.stats.Waiting()), shown.name)
		refused("share", shown.stats.RefusedForShare())
		refused("full", shown.stats.RefusedForAll())
	}
}
