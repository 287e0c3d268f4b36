package meter

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Seconds are the options of a histogram of times, from half a millisecond to a
// minute, native as well as classic.
func Seconds(name, help string) prometheus.HistogramOpts {
	return native(name, help, prometheus.ExponentialBuckets(0.0005, 2, 18))
}

// Long are those of a histogram of times from 5 milliseconds to 20 minutes.
func Long(name, help string) prometheus.HistogramOpts {
	return native(name, help, prometheus.ExponentialBuckets(0.005, 4, 10))
}

// Bytes are those of a histogram of sizes, from 1 KiB to 64 MiB.
func Bytes(name, help string) prometheus.HistogramOpts {
	return native(name, help, prometheus.ExponentialBuckets(1<<10, 4, 9))
}

// Counts are those of a histogram of numbers, from 1 to 256.
func Counts(name, help string) prometheus.HistogramOpts {
	return native(name, help, prometheus.ExponentialBuckets(1, 2, 9))
}

// native bounds what a native histogram takes: an eighth more from bucket to
// bucket, at most 160 of them, and exemplars of which each is kept for minutes.
func native(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.125, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		NativeHistogramMaxExemplars: 10, NativeHistogramExemplarTTL: 5 * time.Minute,
	}
}

// CorrelationLabel is the label of exemplars.
const CorrelationLabel = "correlation_id"

// Times is a histogram of times with exemplars: of those that are about as long,
// one a second gets one, as an exemplar costs more than the rest of an
// observation. It is safe for concurrent use.
type Times struct {
	observer prometheus.Observer
	latest   [24]atomic.Int64 // by length: the second of the latest exemplar
}

// NewTimes returns the histogram of one set of labels.
func NewTimes(o prometheus.Observer) *Times { return &Times{observer: o} }

// Observe counts a time that ended at a moment. correlation may be empty.
func (t *Times) Observe(took time.Duration, ended time.Time, correlation string) {
	if correlation != "" {
		latest := &t.latest[min(bits.Len64(uint64(max(took, 0)/(250*time.Microsecond))), len(t.latest)-1)]
		second := ended.Unix()
		if last := latest.Load(); last != second && latest.CompareAndSwap(last, second) {
			if o, ok := t.observer.(prometheus.ExemplarObserver); ok {
				o.ObserveWithExemplar(took.Seconds(), prometheus.Labels{CorrelationLabel: correlation})
				return
			}
		}
	}
	t.observer.Observe(took.Seconds())
}
