package logs

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Bounds of a batch of lines.
const (
	batchDelay = 100 * time.Millisecond // how long a line waits for others
	batchSize  = 64 << 10               // bytes from which nothing waits any more
	batchLimit = 4 << 20                // bound of waiting bytes while earlier ones are written
)

// Batch collects lines that may be lost and writes many at once: writing each line by
// itself would cost a request more than composing it. It is safe for concurrent use.
type Batch struct {
	to   zapcore.WriteSyncer
	lost atomic.Uint64

	started, full chan struct{} // signals: there is a line, or a full batch

	mu      sync.Mutex
	waiting []byte // whole lines
	spare   []byte // memory for the next lines

	writing sync.Mutex // keeps batches in order
}

func newBatch() *Batch {
	return &Batch{started: make(chan struct{}, 1), full: make(chan struct{}, 1)}
}

// Access returns a logger of access lines with the output of log, and the
// batch that buffers them, which the caller has to run.
func Access(log *zap.Logger) (*zap.Logger, *Batch) {
	b := newBatch()
	return log.Named(AccessName).WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		own, ok := c.(*core)
		if !ok {
			return c
		}
		b.to = own.to
		return newCore(b, own.Core, own.text)
	})), b
}

// Write buffers a line. It implements [zapcore.WriteSyncer].
func (b *Batch) Write(line []byte) (int, error) {
	b.mu.Lock()
	if len(b.waiting)+len(line) > batchLimit {
		b.mu.Unlock()
		b.lost.Add(1)
		return len(line), nil
	}
	first := len(b.waiting) == 0
	b.waiting = append(b.waiting, line...)
	full := len(b.waiting) >= batchSize
	b.mu.Unlock()
	if first {
		signal(b.started)
	}
	if full {
		signal(b.full)
	}
	return len(line), nil
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Run writes the lines until ctx ends, and then the waiting ones. Each is
// written within a second, unless the output is slower.
func (b *Batch) Run(ctx context.Context) {
	for {
		select {
		case <-b.started:
			b.wait(ctx)
			b.flush()
		case <-ctx.Done():
			b.flush()
			return
		}
	}
}

// wait waits for further lines to join the batch.
func (b *Batch) wait(ctx context.Context) {
	delay := time.NewTimer(batchDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-b.full:
	case <-ctx.Done():
	}
}

// Sync writes the waiting lines. It implements [zapcore.WriteSyncer].
func (b *Batch) Sync() error {
	b.flush()
	return nil
}

func (b *Batch) flush() {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	lines := b.waiting
	b.waiting, b.spare = b.spare[:0], nil
	b.mu.Unlock()
	if len(lines) == 0 {
		return
	}
	if n, err := b.to.Write(lines); err != nil {
		b.lost.Add(uint64(bytes.Count(lines[n:], []byte{'\n'}))) //nolint:gosec // not below 0
	}
	if cap(lines) <= 4*batchSize || len(lines) >= cap(lines)/8 { // larger buffers are only for floods
		b.mu.Lock()
		b.spare = lines
		b.mu.Unlock()
	}
}

// Lost returns the number of lines that were not written: too many waited, or
// the write failed.
func (b *Batch) Lost() uint64 { return b.lost.Load() }
