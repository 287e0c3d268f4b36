package observe

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"portico/internal/meter"
	"portico/internal/timing"
	"portico/inventory/observed"
)

// Traffic is sampled every TrafficInterval; the last mostSamples samples are kept.
const (
	TrafficInterval = 5 * time.Second
	mostSamples     = 180   // a quarter of an hour
	mostUnwritten   = 10000 // minutes of regions, while the store is away
	mostWritten     = 500   // of these at once
)

// Traffic keeps recent samples of the metrics of requests, so that the console can show them
// without Prometheus, and stores each minute for a day. It is safe for concurrent use.
type Traffic struct {
	metrics prometheus.Gatherer
	shared  *observed.Traffic
	replica string

	unwritten []observed.Minute // complete ones; only for Share

	mu      sync.Mutex
	samples []Sample // the oldest first
	before  totals
	minute  totals // at the beginning of the incomplete minute
}

// Sample is the traffic of one interval.
type Sample struct {
	Time     time.Time // of its end
	Seconds  float64   // its length
	InFlight int
	All      observed.Flow
	Regions  []RegionFlow // regions with requests, by name
}

// RegionFlow is the flow of one region, with the times of its providers.
type RegionFlow struct {
	Region string
	observed.Flow
}

// totals are the counts of the metrics at a time.
type totals struct {
	at       time.Time
	inFlight int
	all      flowTotals
	regions  map[string]flowTotals
	bounds   []float64 // of the buckets
}

type flowTotals struct {
	requests, failures, refusals float64
	count                        uint64
	seconds                      float64
	below                        []uint64 // by bucket, cumulative
}

// NewTraffic returns a Traffic without samples for the replica with the given name.
func NewTraffic(m *Metrics, shared *observed.Traffic, replica string) *Traffic {
	return &Traffic{metrics: m.trafficSource, shared: shared, replica: replica}
}

// Run samples the metrics until ctx ends, and stores each minute, the last one incomplete.
func (t *Traffic) Run(ctx context.Context) {
	t.Sample(time.Now())
	for ended := false; !ended; {
		ended = timing.Sleep(ctx, TrafficInterval) != nil
		t.Sample(time.Now())
		t.Share(context.WithoutCancel(ctx), ended)
	}
}

// Share stores the minutes that are complete at the last sample, or everything up to it. It
// must not be called concurrently.
func (t *Traffic) Share(ctx context.Context, everything bool) {
	t.unwritten = append(t.unwritten, t.completed(everything)...)
	if len(t.unwritten) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	some := t.unwritten[:min(mostWritten, len(t.unwritten))]
	if t.shared.Put(ctx, t.replica, some) == nil {
		t.unwritten = t.unwritten[len(some):]
	}
	t.unwritten = t.unwritten[max(0, len(t.unwritten)-mostUnwritten):]
}

// completed returns the minute that has ended since the last call, if any, or what there is of
// it. A minute without requests is left out.
func (t *Traffic) completed(everything bool) (minutes []observed.Minute) {
	t.mu.Lock()
	defer t.mu.Unlock()
	minute := t.minute.at.Truncate(time.Minute)
	if t.minute.at.IsZero() || !everything && t.before.at.Sub(minute) < time.Minute {
		return nil
	}
	s := t.before.since(t.minute)
	t.minute = t.before
	if s.All.Requests == 0 && s.InFlight == 0 {
		return nil
	}
	for _, r := range append(s.Regions, RegionFlow{Flow: s.All}) {
		minutes = append(minutes, observed.Minute{Region: r.Region, Time: minute.Add(time.Minute), InFlight: s.InFlight, Flow: r.Flow})
	}
	return minutes
}

// Sample adds a sample of the time since the last call.
func (t *Traffic) Sample(now time.Time) {
	families, err := t.metrics.Gather()
	if err != nil {
		return // the next sample covers this interval too
	}
	sum := totals{at: now, regions: map[string]flowTotals{}}
	for _, family := range families {
		switch family.GetName() {
		case "portico_requests_in_flight":
			sum.inFlight = int(family.GetMetric()[0].GetGauge().GetValue())
		case "portico_requests_total":
			for _, m := range family.GetMetric() {
				sum.all.countAnswers(m)
			}
		case "portico_request_seconds":
			for _, m := range family.GetMetric() {
				sum.bounds = sum.all.observe(m.GetHistogram())
			}
		case "portico_routed_requests_total":
			for _, m := range family.GetMetric() {
				sum.addToRegion(m, func(f *flowTotals) { f.countAnswers(m) })
			}
		case "portico_provider_seconds":
			for _, m := range family.GetMetric() {
				sum.addToRegion(m, func(f *flowTotals) { sum.bounds = f.observe(m.GetHistogram()) })
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.before
	t.before = sum
	if before.at.IsZero() {
		t.minute = sum
		return
	}
	if len(t.samples) == mostSamples {
		t.samples = slices.Delete(t.samples, 0, 1)
	}
	t.samples = append(t.samples, sum.since(before))
}

// since returns the traffic since earlier totals.
func (t totals) since(before totals) Sample {
	s := Sample{Time: t.at, Seconds: t.at.Sub(before.at).Seconds(), InFlight: t.inFlight, All: t.all.since(before.all, t.bounds)}
	for _, region := range slices.Sorted(maps.Keys(t.regions)) {
		if flow := t.regions[region].since(before.regions[region], t.bounds); flow.Requests > 0 {
			s.Regions = append(s.Regions, RegionFlow{region, flow})
		}
	}
	return s
}

// History returns the traffic of all replicas in the last span, in steps of whole minutes,
// oldest first: of all requests, and of those to a region.
func (t *Traffic) History(ctx context.Context, region string, span time.Duration) ([]Sample, error) {
	step := max(time.Minute, (span / mostSamples).Truncate(time.Minute))
	began := time.Now().Add(-2 * TrafficInterval).Truncate(time.Minute).Add(-span) // until other replicas have stored theirs
	samples := make([]Sample, span/step)
	for i := range samples {
		samples[i].Time, samples[i].Seconds = began.Add(time.Duration(i+1)*step), step.Seconds()
	}
	flows, err := t.shared.Steps(ctx, region, began, step, len(samples))
	for _, m := range flows {
		if s := &samples[m.Time.Sub(began)/step-1]; m.Region == "" {
			s.All, s.InFlight = m.Flow, m.InFlight
		} else {
			s.Regions = []RegionFlow{{m.Region, m.Flow}}
		}
	}
	return samples, err
}

// Since returns the samples that ended after a time.
func (t *Traffic) Since(after time.Time) []Sample {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.samples), func(s Sample) bool { return !s.Time.After(after) })
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
func (f flowTotals) since(before flowTotals, bounds []float64) observed.Flow {
	flow := observed.Flow{
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
