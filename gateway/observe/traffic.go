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

// Traffic is sampled every TrafficInterval; the last mostSamples samples are kept.
const (
	TrafficInterval = 5 * time.Second
	mostSamples     = 180 // a quarter of an hour
)

// Traffic keeps recent samples of the metrics of requests, so that the console can show them
// without Prometheus. It is safe for concurrent use.
type Traffic struct {
	metrics prometheus.Gatherer

	mu      sync.Mutex
	samples []Sample // the oldest first
	before  totals
}

// Sample is the traffic of one interval.
type Sample struct {
	Time     time.Time // of its end
	Seconds  float64   // its length
	InFlight int
	All      Flow
	Regions  []RegionFlow // regions with requests, by name
}

// Flow counts requests by outcome. Mean and P95 are in seconds.
type Flow struct {
	Requests, Failures, Refusals int // refusals are Portico's own
	Mean, P95                    float64
}

// RegionFlow is the flow of one region, with the times of its providers.
type RegionFlow struct {
	Region string
	Flow
}

// totals are the counts of the metrics at a time.
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

// NewTraffic returns a Traffic without samples.
func NewTraffic(m *Metrics) *Traffic { return &Traffic{metrics: m.trafficSource} }

// Run samples the metrics until ctx ends.
func (t *Traffic) Run(ctx context.Context) {
	t.Sample(time.Now())
	for timing.Sleep(ctx, TrafficInterval) == nil {
		t.Sample(time.Now())
	}
}

// Sample adds a sample of the time since the last call.
func (t *Traffic) Sample(now time.Time) {
	families, err := t.metrics.Gather()
	if err != nil {
		return // the next sample covers this interval too
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
				sum.addToRegion(m, func(f *flowTotals) { f.countAnswers(m) })
			}
		case "portico_provider_seconds":
			for _, m := range family.GetMetric() {
				sum.addToRegion(m, func(f *flowTotals) { bounds = f.observe(m.GetHistogram()) })
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

// Since returns the samples that ended after a time.
func (t *Traffic) Since(after time.Time) []Sample {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := slices.BinarySearchFunc(t.samples, after, func(s Sample, at time.Time) int {
		return cmp.Or(s.Time.Compare(at), -1) // the first sample after it
	})
	return slices.Clone(t.samples[i:])
}

// addToRegion applies add to the totals of the region that m is labeled with.
func (t *totals) addToRegion(m *dto.Metric, add func(*flowTotals)) {
	region := meter.Label(m, "region")
	f := t.regions[region]
	add(&f)
	t.regions[region] = f
}

// countAnswers adds a counter of answers, by its labels.
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

// since returns the flow since earlier totals.
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

// quantile estimates a quantile as Prometheus does, by linear interpolation within its bucket.
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
