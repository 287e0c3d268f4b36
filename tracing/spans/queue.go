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

// QueueOptions bound a [Queue].
type QueueOptions struct {
	// Length is how many spans wait at most.
	Length int
	// Interval is how long the first span of a batch waits for others.
	Interval time.Duration
	// Timeout bounds one attempt to send a batch.
	Timeout time.Duration
	Metrics prometheus.Registerer
	Log     *zap.Logger
}

// The outcomes of spans, as the metric names them.
const (
	outcomeSent    = "sent"
	outcomeDropped = "dropped" // the queue was full
	outcomeFailed  = "failed"  // the collector did not take it
)

const (
	batchLength = 512
	// A batch that the collector does not take is sent again for so long, while the
	// queue takes what comes.
	retryTime = 30 * time.Second
	// lastTime bounds the sending of what is left at the end.
	lastTime    = 3 * time.Second
	shortestTry = time.Second
	longestTry  = 10 * time.Second
	warnEvery   = time.Minute
)

// Queue holds the spans that have ended until they are sent to a collector, by OTLP over
// HTTP, in batches. What ends a span never waits: where the queue is full, the span is
// dropped and counted. A collector that is slow, refuses or is gone costs spans, and
// nothing else. One goroutine runs it.
type Queue struct {
	options   QueueOptions
	exporter  *otlptrace.Exporter
	collector *Collector
	waiting   chan sdk.ReadOnlySpan
	outcomes  *prometheus.CounterVec
	dropped   prometheus.Counter
	warned    time.Time
	failing   bool
}

// NewQueue returns a queue in front of a collector, and registers its metrics.
func NewQueue(c *Collector, o QueueOptions) *Queue {
	q := &Queue{
		options: o, exporter: otlptrace.NewUnstarted(c), collector: c, waiting: make(chan sdk.ReadOnlySpan, o.Length),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_spans_total",
			Help: "Spans of traces that ended: sent, dropped (more ended than could be sent, so that the queue was full), or failed (the " +
				"collector did not take them).",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{outcomeSent, outcomeFailed} {
		q.outcomes.WithLabelValues(outcome)
	}
	q.dropped = q.outcomes.WithLabelValues(outcomeDropped)
	o.Metrics.MustRegister(q.outcomes, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "portico_spans_waiting", Help: "Spans that wait to be sent to the collector, of at most tracing.queue.",
	}, func() float64 { return float64(len(q.waiting)) }))
	return q
}

// Add takes a span that has ended. It never waits.
func (q *Queue) Add(s sdk.ReadOnlySpan) {
	select {
	case q.waiting <- s:
	default:
		q.dropped.Inc()
	}
}

// Run sends spans until ctx ends, then those that are left, for a while.
func (q *Queue) Run(ctx context.Context) {
	defer func() { _ = q.collector.Stop(ctx) }()
	batch := make([]sdk.ReadOnlySpan, 0, batchLength)
	for ctx.Err() == nil {
		batch = q.gather(ctx, batch[:0])
		if len(batch) > 0 {
			q.send(ctx, batch)
		}
	}
	q.finish(ctx, batch)
}

// gather waits for a span, and for as many as come within the interval or fill a batch.
func (q *Queue) gather(ctx context.Context, batch []sdk.ReadOnlySpan) []sdk.ReadOnlySpan {
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

// send sends a batch, again and again for a while. What is not sent when ctx ends is put
// back for finish, as far as there is room.
func (q *Queue) send(ctx context.Context, batch []sdk.ReadOnlySpan) {
	began := time.Now()
	for failures := 0; ; {
		err := q.try(ctx, batch)
		switch {
		case err == nil:
			q.outcomes.WithLabelValues(outcomeSent).Add(float64(len(batch)))
			q.recovered()
			return
		case ctx.Err() != nil:
			for _, s := range batch {
				q.Add(s)
			}
			return
		}
		q.warn(err)
		if failures++; !worthRetry(err) || time.Since(began) > retryTime {
			q.outcomes.WithLabelValues(outcomeFailed).Add(float64(len(batch)))
			return
		}
		_ = timing.Sleep(ctx, max(retryAfter(err), timing.Jitter(timing.Backoff(shortestTry, longestTry, failures)))) // the next try sees that ctx has ended
	}
}

func (q *Queue) try(ctx context.Context, batch []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, q.options.Timeout)
	defer cancel()
	return q.exporter.ExportSpans(ctx, batch)
}

// finish sends what is left, each batch once.
func (q *Queue) finish(ctx context.Context, batch []sdk.ReadOnlySpan) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
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
		if err := q.try(ctx, batch); err != nil {
			q.warn(err)
			outcome = outcomeFailed
		}
		q.outcomes.WithLabelValues(outcome).Add(float64(len(batch)))
	}
}

// warn logs that the collector does not take spans: at first, then once in a while.
func (q *Queue) warn(err error) {
	if q.failing && time.Since(q.warned) < warnEvery {
		return
	}
	q.failing, q.warned = true, time.Now()
	q.options.Log.Warn("spans could not be sent", zap.Error(err))
}

func (q *Queue) recovered() {
	if q.failing {
		q.failing = false
		q.options.Log.Info("over: spans could not be sent")
	}
}
