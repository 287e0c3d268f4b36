// Package export sends spans to a collector, by OTLP over HTTP: in batches, from a
// bounded queue. What ends a span never waits: where the queue is full, the span is
// dropped and counted. A collector that is slow, refuses or is gone costs spans, and
// nothing else.
package export
