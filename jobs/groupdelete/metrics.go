package groupdelete

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"portico/internal/meter"
	"portico/inventory"
	"portico/jobs/deletion/deletionplan"
)

// metrics are labelled by the names of states, outcomes, ends and regions.
type metrics struct {
	calls, ends      *prometheus.CounterVec
	members, waiting *prometheus.GaugeVec

	live  meter.Live[deletionplan.Summary] // of the deletions that this replica works on
	mu    sync.Mutex
	shown map[string]int // the regions that deletions wait for
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_group_delete_calls_total",
			Help: "Calls to delete members of a group, by result: gone, accepted, refused, transient (will be repeated), silent (no answer), " +
				"unsent, unproven (not found, but a create is in progress).",
		}, []string{"result"}),
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_group_deletes_total",
			Help: "Deletions of groups with resources that ended, by outcome: Succeeded, or the error code.",
		}, []string{"end"}),
		members: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_group_delete_resources",
			Help: "Resources of the groups that this replica is deleting, by state: inFlight, waiting, parked (until the resource that blocks " +
				"their deletion is gone).",
		}, []string{"state"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_group_deletes_waiting", Help: "Deletions of groups, in all replicas, that wait for a region that does not answer.",
		}, []string{"region"}),
	}
	m.live.Show = m.show
	registry.MustRegister(m.calls, m.ends, m.members, m.waiting)
	return m
}

// countedDeletions bounds the deletions that the metric counts.
const countedDeletions = 1000

// Measure counts the deletions that wait for regions.
func (d *Deleter) Measure(ctx context.Context, open int) error {
	if open == 0 {
		d.metrics.wait(nil)
		return nil
	}
	deletions, err := d.Prober.Store.Jobs.ListOpen(ctx, inventory.GroupDeleteJob, countedDeletions)
	if err != nil {
		return fmt.Errorf("read the deletions of groups: %w", err)
	}
	waiting := map[string]int{}
	for _, job := range deletions {
		p, err := ReadPayload(job)
		if err != nil {
			continue // its attempts report the fault
		}
		for _, region := range p.Progress.WaitingFor {
			waiting[region]++
		}
	}
	d.metrics.wait(waiting)
	return nil
}

// wait shows the number of deletions that wait for each region. The metric of a region that is
// still waited for never disappears in between.
func (m *metrics) wait(regions map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for region, n := range regions {
		m.waiting.WithLabelValues(region).Set(float64(n))
	}
	for region := range m.shown {
		if regions[region] == 0 {
			m.waiting.DeleteLabelValues(region)
		}
	}
	m.shown = regions
}

func (w *attempt) measure() { w.metrics.live.Set(w.claim.Job.ID, w.plan.Counted()) }

func (m *metrics) show(deletions []deletionplan.Summary) {
	var all deletionplan.Summary
	for _, p := range deletions {
		all.InFlight, all.Waiting, all.Parked = all.InFlight+p.InFlight, all.Waiting+p.Waiting, all.Parked+p.Parked
	}
	m.members.WithLabelValues("inFlight").Set(float64(all.InFlight))
	m.members.WithLabelValues("waiting").Set(float64(all.Waiting))
	m.members.WithLabelValues("parked").Set(float64(all.Parked))
}
