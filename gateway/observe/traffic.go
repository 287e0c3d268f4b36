package observe

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"portico/internal/meter"
	"portico/internal/timing"
)

// Traffic is looked at once in TrafficInterval, and remembered for mostSamples of them.
const (
	TrafficInterval = 5 * time.Second
	mostSamples     = 180 // a quarter of an hour
)

// Traffic remembers how the metrics of requests went lately, so that a page shows them
// without a Prometheus. It is safe for concurrent use.
type Traffic struct {
	metrics prometheus.Gatherer

	mu      sync.Mutex
	samples []Sample // the oldest first
	before  totals
}

// Sample is the traffic of one interval.
type Sample struct {
	Time     time.Time // of its end
	Seconds  float64   // that it lasted
	InFlight int
	All      Flow
	Regions  []RegionFlow // those that had any, by name
}

// Flow is what became of requests.
type Flow struct {
	Requests, Failures, Refusals int // refusals are Portico's own
	Mean, P95                    float64
}

// RegionFlow is that of the requests of one region, by the time of its providers.
type RegionFlow struct {
	Region string
	Flow
}

// totals are what the metrics had counted at a time.
type totals struct {
	at      time.Time
	all     flowTotals
	regions map[string]flowTotals
}

type flowTotals struct {
	requests, failures, refusals float64
	count                        uint64
	seconds                      float64
	below                        []uint64 // by bucket, cumulative
}

// NewTraffic returns one that has seen nothing yet.
func NewTraffic(m *Metrics) *Traffic { return &Traffic{metrics: m.shown} }

// Run looks at the metrics until ctx ends.
func (t *Traffic) Run(ctx context.Context) {
	t.Look(time.Now())
	for timing.Sleep(ctx, TrafficInterval) == nil {
		t.Look(time.Now())
	}
}

// Look adds the sample of the time since it looked last.
func (t *Traffic) Look(now time.Time) {
	families, err := t.metrics.Gather()
	if err != nil {
		return // the next sample spans the time of this one
	}
	sum, inFlight := totals{at: now, regions: map[string]flowTotals{}}, 0
	bounds := []float64{}
	for _, family := range families {
		switch family.GetName() {
		case "portico_requests_in_flight":
			inFlight = int(family.GetMetric()[0].GetGauge().GetValue())
		case "portico_requests_total":
			for _, m := range family.GetMetric() {
				sum.all.countAnswers(m)
			}
		case "portico_request_seconds":
			for _, m := range family.GetMetric() {
				bounds = sum.all.observe(m.GetHistogram())
			}
		case "portico_routed_requests_total":
			for _, m := range family.GetMetric() {
				sum.ofRegion(m, func(f *flowTotals) { f.countAnswers(m) })
			}
		case "portico_provider_seconds":
			for _, m := range family.GetMetric() {
				sum.ofRegion(m, func(f *flowTotals) { bounds = f.observe(m.GetHistogram()) })
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.before
	t.before = sum
	if before.at.IsZero() {
		return
	}
	s := Sample{Time: now, Seconds: now.Sub(before.at).Seconds(), InFlight: inFlight, All: sum.all.since(before.all, bounds)}
	for _, region := range slices.Sorted(maps.Keys(sum.regions)) {
		if flow := sum.regions[region].since(before.regions[region], bounds); flow.Requests > 0 {
			s.Regions = append(s.Regions, RegionFlow{region, flow})
		}
	}
	if len(t.samples) == mostSamples {
		t.samples = slices.Delete(t.samples, 0, 1)
	}
	t.samples = append(t.samples, s)
}

// Since are the samples that ended after a time.
func (t *Traffic) Since(after time.Time) []Sample {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := slices.BinarySearchFunc(t.samples, after, func(s Sample, at time.Time) int {
		return cmp.Or(s.Time.Compare(at), -1) // behind it
	})
	return slices.Clone(t.samples[i:])
}

func (t *totals) ofRegion(m *dto.Metric, add func(*flowTotals)) {
	region := meter.Label(m, "region")
	f := t.regions[region]
	add(&f)
	t.regions[region] = f
}

// countAnswers adds what a counter of answers has counted.
func (f *flowTotals) countAnswers(m *dto.Metric) {
	n := m.GetCounter().GetValue()
	f.requests += n
	switch code := meter.Label(m, "code"); {
	case code != "" && code[0] == '5':
		f.failures += n
	case code != "" && code[0] == '4' && meter.Label(m, "cause") == "gateway":
		f.refusals += n
	}
}

// observe adds a histogram of times, and returns the upper bounds of its buckets.
func (f *flowTotals) observe(h *dto.Histogram) (bounds []float64) {
	f.count += h.GetSampleCount()
	f.seconds += h.GetSampleSum()
	if f.below == nil {
		f.below = make([]uint64, len(h.GetBucket()))
	}
	for i, b := range h.GetBucket() {
		if i < len(f.below) {
			f.below[i] += b.GetCumulativeCount()
		}
		bounds = append(bounds, b.GetUpperBound())
	}
	return bounds
}

// since is what came behind earlier totals.
func (f flowTotals) since(before flowTotals, bounds []float64) Flow {
	flow := Flow{
		Requests: int(f.requests - before.requests), Failures: int(f.failures - before.failures), Refusals: int(f.refusals - before.refusals),
	}
	if n := f.count - before.count; n > 0 {
		flow.Mean = (f.seconds - before.seconds) / float64(n)
		flow.P95 = quantile(0.95, n, f.below, before.below, bounds)
	}
	return flow
}

// quantile estimates it as Prometheus does, by a straight line within its bucket.
func quantile(q float64, n uint64, now, before []uint64, bounds []float64) float64 {
	rank, lower, under := q*float64(n), 0.0, 0.0
	for i, bound := range bounds {
		if i >= len(now) {
			break
		}
		c := float64(now[i])
		if i < len(before) {
			c -= float64(before[i])
		}
		if c >= rank {
			return lower + (bound-lower)*(rank-under)/max(1, c-under)
		}
		lower, under = bound, c
	}
	return lower
}
