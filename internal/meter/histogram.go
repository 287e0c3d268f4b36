package meter

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Seconds returns the options of a histogram of times, from half a
// millisecond to a minute, native as well as classic.
func Seconds(name, help string) prometheus.HistogramOpts {
	return native(name, help, prometheus.ExponentialBuckets(0.0005, 2, 18))
}

// Long returns the options of a histogram of times from 5 milliseconds to 20 minutes.
func Long(name, help string) prometheus.HistogramOpts {
	return native(name, help, prometheus.ExponentialBuckets(0.005, 4, 10))
}

// Bytes returns the options of a histogram of sizes, from 1 KiB to 64 MiB.
func Bytes(name, help string) prometheus.HistogramOpts {
	return native(name, help, prometheus.ExponentialBuckets(1<<10, 4, 9))
}

// Counts returns the options of a histogram of numbers, from 1 to 256.
func Counts(name, help string) prometheus.HistogramOpts {
	return native(name, help, prometheus.ExponentialBuckets(1, 2, 9))
}

// native returns options that bound a native histogram: an eighth more from bucket to
// bucket, at most 160 of them, and exemplars that are kept for minutes each.
func native(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.125, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
		NativeHistogramMaxExemplars: 10, NativeHistogramExemplarTTL: 5 * time.Minute,
	}
}

// Labels of exemplars. Only exemplars of sampled traces have the second.
const (
	CorrelationLabel = "correlation_id"
	TraceLabel       = "trace_id"
)

// Times is a histogram of times with exemplars. An exemplar costs more than the rest of
// an observation, so among times of similar length, one per second gets one, and one
// more if it is traced. It is safe for concurrent use.
type Times struct {
	observer prometheus.Observer
	latest   [24]atomic.Int64 // by length: the second of the latest exemplar
	traced   [24]atomic.Int64 // likewise
}

// NewTimes returns the histogram of one set of labels.
func NewTimes(o prometheus.Observer) *Times { return &Times{observer: o} }

// Observe counts a time that ended at the given moment. correlation may be
// empty, and trace is empty if the request is not sampled.
func (t *Times) Observe(took time.Duration, ended time.Time, correlation, trace string) {
	if correlation != "" && t.exemplary(took, ended, trace != "") {
		if o, ok := t.observer.(prometheus.ExemplarObserver); ok {
			labels := prometheus.Labels{CorrelationLabel: correlation}
			if trace != "" {
				labels[TraceLabel] = trace
			}
			o.ObserveWithExemplar(took.Seconds(), labels)
			return
		}
	}
	t.observer.Observe(took.Seconds())
}

// exemplary reports whether a time should get an exemplar.
func (t *Times) exemplary(took time.Duration, ended time.Time, traced bool) bool {
	latest := &t.latest
	if traced {
		latest = &t.traced
	}
	of := &latest[min(bits.Len64(uint64(max(took, 0)/(250*time.Microsecond))), len(latest)-1)]
	second := ended.Unix()
	last := of.Load()
	return last != second && of.CompareAndSwap(last, second)
}
