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
	batchSize  = 64 << 10               // of so many bytes nothing waits any more
	batchLimit = 4 << 20                // that wait while earlier ones are written
)

// Batch collects lines that may be lost and writes many at once: writing each by itself
// would cost a request more than making it. It is safe for concurrent use.
type Batch struct {
	to   zapcore.WriteSyncer
	lost atomic.Uint64

	started, full chan struct{} // there is a line; there are enough

	mu      sync.Mutex
	waiting []byte // whole lines
	spare   []byte // the memory for the next ones

	writing sync.Mutex // keeps batches in their order
}

func newBatch() *Batch {
	return &Batch{started: make(chan struct{}, 1), full: make(chan struct{}, 1)}
}

// Access returns the logger of access lines that go where those of log do, and the
// batch that they wait in, which the caller has to run.
func Access(log *zap.Logger) (*zap.Logger, *Batch) {
	b := newBatch()
	return log.Named(AccessName).WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		own, ok := c.(*core)
		if !ok {
			return c
		}
		b.to = own.to
		return newCore(b, own.Core)
	})), b
}

// Write takes a line. It implements [zapcore.WriteSyncer].
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

// Run writes the lines until ctx ends, and then those that still wait. Each is
// written within a second, unless what takes them is slower.
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

// wait gives a line time to be joined by others.
func (b *Batch) wait(ctx context.Context) {
	delay := time.NewTimer(batchDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-b.full:
	case <-ctx.Done():
	}
}

// Sync writes the lines that wait. It implements [zapcore.WriteSyncer].
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
	if cap(lines) <= 4*batchSize || len(lines) >= cap(lines)/8 { // more is for floods alone
		b.mu.Lock()
		b.spare = lines
		b.mu.Unlock()
	}
}

// Lost counts the lines that were not written: too many waited, or the write failed.
func (b *Batch) Lost() uint64 { return b.lost.Load() }
