package spans

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"

	"portico/internal/timing"
)

// QueueOptions configures a [Queue].
type QueueOptions struct {
	// Length is the maximum number of waiting spans.
	Length int
	// Interval is how long the first span of a batch waits for others.
	Interval time.Duration
	// Timeout limits one attempt to send a batch.
	Timeout time.Duration
	Metrics prometheus.Registerer
	Log     *zap.Logger
}

// Outcomes of spans, as in the metric.
const (
	outcomeSent    = "sent"
	outcomeDropped = "dropped" // the queue was full
	outcomeFailed  = "failed"  // the collector did not accept it
)

const (
	batchLength = 512
	// retryPeriod is how long a batch is retried. Meanwhile the queue accepts further spans.
	retryPeriod = 30 * time.Second
	// drainTimeout limits sending the remaining spans at the end.
	drainTimeout = 3 * time.Second
	minBackoff   = time.Second
	maxBackoff   = 10 * time.Second
	logInterval  = time.Minute
)

// Queue holds ended spans until it sends them in batches to a collector, by OTLP over HTTP. Adding
// a span never waits: if the queue is full, the span is dropped and counted. A slow, failing or
// absent collector therefore costs only spans. One goroutine runs the queue.
type Queue struct {
	options   QueueOptions
	exporter  *otlptrace.Exporter
	collector *Collector
	waiting   chan sdk.ReadOnlySpan
	outcomes  *prometheus.CounterVec
	dropped   prometheus.Counter
	loggedAt  time.Time
	failing   bool
}

// NewQueue returns a queue for a collector, and registers its metrics.
func NewQueue(c *Collector, o QueueOptions) *Queue {
	q := &Queue{
		options: o, exporter: otlptrace.NewUnstarted(c), collector: c, waiting: make(chan sdk.ReadOnlySpan, o.Length),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_spans_total",
			Help: "Ended spans, by outcome: sent, dropped (the queue was full), or failed (the collector did not accept them).",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{outcomeSent, outcomeFailed} {
		q.outcomes.WithLabelValues(outcome)
	}
	q.dropped = q.outcomes.WithLabelValues(outcomeDropped)
	o.Metrics.MustRegister(q.outcomes, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "portico_spans_waiting", Help: "Spans that wait to be sent to the collector, at most tracing.queue.",
	}, func() float64 { return float64(len(q.waiting)) }))
	return q
}

// Add adds an ended span. It never waits.
func (q *Queue) Add(s sdk.ReadOnlySpan) {
	select {
	case q.waiting <- s:
	default:
		q.dropped.Inc()
	}
}

// Run sends spans until ctx ends, and then, for a limited time, the remaining ones.
func (q *Queue) Run(ctx context.Context) {
	defer func() { _ = q.collector.Stop(ctx) }()
	batch := make([]sdk.ReadOnlySpan, 0, batchLength)
	for ctx.Err() == nil {
		batch = q.gatherBatch(ctx, batch[:0])
		if len(batch) > 0 {
			q.send(ctx, batch)
		}
	}
	q.drain(ctx, batch)
}

// gatherBatch waits for a span, and then for more until the interval ends or the batch is full.
func (q *Queue) gatherBatch(ctx context.Context, batch []sdk.ReadOnlySpan) []sdk.ReadOnlySpan {
	select {
	case s := <-q.waiting:
		batch = append(batch, s)
	case <-ctx.Done():
		return batch
	}
	full := time.NewTimer(q.options.Interval)
	defer full.Stop()
	for len(batch) < batchLength {
		select {
		case s := <-q.waiting:
			batch = append(batch, s)
		case <-full.C:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

// send sends a batch, with retries. If ctx ends, it returns unsent spans to the queue for drain, if
// there is room.
func (q *Queue) send(ctx context.Context, batch []sdk.ReadOnlySpan) {
	began := time.Now()
	for failures := 0; ; {
		err := q.sendOnce(ctx, batch)
		switch {
		case err == nil:
			q.outcomes.WithLabelValues(outcomeSent).Add(float64(len(batch)))
			q.logRecovery()
			return
		case ctx.Err() != nil:
			for _, s := range batch {
				q.Add(s)
			}
			return
		}
		q.logFailure(err)
		if failures++; !worthRetry(err) || time.Since(began) > retryPeriod {
			q.outcomes.WithLabelValues(outcomeFailed).Add(float64(len(batch)))
			return
		}
		// The next attempt notices if ctx has ended.
		_ = timing.Sleep(ctx, max(retryAfter(err), timing.Jitter(timing.Backoff(minBackoff, maxBackoff, failures))))
	}
}

func (q *Queue) sendOnce(ctx context.Context, batch []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, q.options.Timeout)
	defer cancel()
	return q.exporter.ExportSpans(ctx, batch)
}

// drain sends the remaining spans, trying each batch once.
func (q *Queue) drain(ctx context.Context, batch []sdk.ReadOnlySpan) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	for {
		batch = batch[:0]
		for len(batch) < batchLength && len(q.waiting) > 0 {
			batch = append(batch, <-q.waiting)
		}
		if len(batch) == 0 {
			return
		}
		outcome := outcomeSent
		if err := q.sendOnce(ctx, batch); err != nil {
			q.logFailure(err)
			outcome = outcomeFailed
		}
		q.outcomes.WithLabelValues(outcome).Add(float64(len(batch)))
	}
}

// logFailure logs that spans cannot be sent: the first time, and then once per logInterval.
func (q *Queue) logFailure(err error) {
	if q.failing && time.Since(q.loggedAt) < logInterval {
		return
	}
	q.failing, q.loggedAt = true, time.Now()
	q.options.Log.Warn("spans could not be sent", zap.Error(err))
}

func (q *Queue) logRecovery() {
	if q.failing {
		q.failing = false
		q.options.Log.Info("resolved: spans could not be sent")
	}
}
