package engine

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"portico/tracing/spans"
)

// Durability is the durability of a write when its caller returns.
type Durability bool

const (
	// Flushed writes are on disk.
	Flushed Durability = true
	// Unflushed writes are visible, but a crash may lose them. That must be harmless.
	Unflushed Durability = false
)

// answerLimit bounds the wait for the commit of a write. Its transaction gets two
// thirds of it.
const answerLimit = 12 * time.Second

// writer commits the waiting writes, several at a time. Each caller gets its result only
// after the commit, even a refusal, because that may depend on what another member wrote.
// There is a queue for each writing connection.
type writer struct {
	queues []*commitQueue
	seed   maphash.Seed

	mu     sync.RWMutex // held for reading while a write is queued
	closed bool
}

// Write is one caller's part of a transaction.
type Write struct {
	Locks      LockSet
	Durability Durability
	// Run must be a pure function of the transaction: it runs on a goroutine of the
	// engine, possibly after its caller gave up, and again if the transaction is repeated.
	Run func(Unit) error

	// claimed is set by the queue when it takes the write, or by a caller that gives up
	// before that, so that the write does not run.
	claimed atomic.Bool
	done    chan result
	context context.Context // of the caller, only for its values
	span    *spans.Span     // of the write; nil unless its trace is sampled
	started time.Time
	// rehearsed: the write is rolled back; see [Rehearse].
	rehearsed bool
}

type result struct {
	err error
	// panicked is the value of a panic in Run, which continues in the caller.
	panicked any
}

func newWriter(e *Engine) *writer {
	w := &writer{seed: maphash.MakeSeed()}
	for _, s := range e.sessions {
		q := &commitQueue{engine: e, session: s, queue: make(chan *Write, 4*maxGroup), finished: make(chan struct{})}
		w.queues = append(w.queues, q)
		go q.loop()
	}
	return w
}

// Do runs one write and waits for its commit. An error of Run is returned unchanged,
// and nothing is written. If ctx ends before the write began, it never runs; if ctx
// ends later, the outcome is unknown. A Write is used once.
func (e *Engine) Do(ctx context.Context, m *Write) error {
	if err := ctx.Err(); err != nil {
		return Classify(ctx, err)
	}
	if m.span = beginSpan(ctx, e.options.Driver, spans.StoreWrite, "store write"); m.span != nil {
		m.started = time.Now()
	}
	m.context, m.rehearsed = ctx, rehearsed(ctx)
	err := e.commit(ctx, m)
	endSpan(m.span, err)
	return err
}

func (e *Engine) commit(ctx context.Context, m *Write) error {
	w := e.writer
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	m.done = make(chan result, 1)
	q := w.queues[maphash.String(w.seed, m.Locks.Partition)%uint64(len(w.queues))]
	if err := w.enqueue(ctx, q, m); err != nil {
		return err
	}
	select {
	case r := <-m.done:
		return r.unwrap()
	case <-ctx.Done():
	}
	m.claimed.Store(true)
	select { // the answer may have come at the same moment
	case r := <-m.done:
		return r.unwrap()
	default:
		return fmt.Errorf("wait for a transaction: %w", Classify(ctx, ctx.Err()))
	}
}

// Commit runs a write and returns its result. U is the type of the state that the owner of
// the tables keeps for a transaction.
func Commit[U Unit, T any](ctx context.Context, e *Engine, d Durability, locks LockSet, run func(U) (T, error)) (T, error) {
	// run may outlive this call, so value is read only after the commit.
	var none, value T
	err := e.Do(ctx, &Write{
		Locks: locks, Durability: d,
		Run: func(u Unit) (err error) {
			value, err = run(u.(U))
			return err
		},
	})
	if err != nil {
		return none, err
	}
	return value, nil
}

// Put runs a write that creates or replaces a record, and returns the stored record.
func Put[U Unit, T any](ctx context.Context, e *Engine, locks LockSet, run func(U) (stored T, created bool, err error)) (stored T, created bool, err error) {
	type put struct {
		stored  T
		created bool
	}
	result, err := Commit(ctx, e, Flushed, locks, func(u U) (p put, err error) {
		p.stored, p.created, err = run(u)
		return p, err
	})
	return result.stored, result.created, err
}

// PieceSize is the number of records that [InPieces] ends or removes in one transaction.
const PieceSize = 100

// InPieces runs a write over possibly many records, with one transaction for each piece:
// no transaction holds its locks for long or exceeds its time limit, and earlier pieces
// stay committed if a later one fails. run returns how many records it ended or removed;
// InPieces returns their sum.
func InPieces[U Unit, T any](ctx context.Context, e *Engine, all []T, run func(t U, piece []T) (int, error)) (ended int, err error) {
	for piece := range slices.Chunk(all, PieceSize) {
		n, err := Commit(ctx, e, Unflushed, LockSet{}, func(u U) (int, error) { return run(u, piece) })
		if ended += n; err != nil {
			return ended, err
		}
	}
	return ended, nil
}

// DeletePassed deletes at most limit rows that have expired at the given time, and returns
// how many. find selects the pairs that name them; remove deletes a row unless its time
// has changed since.
func DeletePassed(ctx context.Context, e *Engine, find, remove string, at time.Time, limit int) (int, error) {
	type pair struct{ first, second string }
	bound := Micros(at)
	found, err := Collect(e.Read(ctx), func(scan Scanner) (p pair, err error) {
		err = scan(&p.first, &p.second)
		return p, err
	}, find, bound, LimitArg(limit))
	if err != nil {
		return 0, err
	}
	return InPieces(ctx, e, found, func(u Unit, piece []pair) (deleted int, err error) {
		for _, p := range piece {
			n, err := u.Base().Exec(remove, p.first, p.second, bound)
			if err != nil {
				return 0, err
			}
			deleted += int(n)
		}
		return deleted, nil
	})
}

func (r result) unwrap() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

func (w *writer) enqueue(ctx context.Context, q *commitQueue, m *Write) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return Unavailable(ErrClosed)
	}
	select {
	case q.queue <- m:
		q.waiting.Add(1) // afterwards, so that n counted writes are n queued ones
		return nil
	default:
	}
	q.waiting.Add(1)
	select {
	case q.queue <- m:
		return nil
	case <-ctx.Done():
		q.waiting.Add(-1)
		return fmt.Errorf("wait for a place among the writes: %w", Classify(ctx, ctx.Err()))
	}
}

// close refuses further writes and returns when the waiting ones have ended.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		for _, q := range w.queues {
			close(q.queue)
		}
	}
	w.mu.Unlock()
	for _, q := range w.queues {
		<-q.finished
	}
}

// discard closes the connections of a closed writer.
func (w *writer) discard() {
	for _, q := range w.queues {
		q.session.Discard()
	}
}

func (w *writer) stats() (s Stats) {
	for _, q := range w.queues {
		s.Writes += q.writes.Load()
		s.Commits += q.commits.Load()
		s.Flushes += q.flushes.Load()
		s.Waiting += max(0, int(q.waiting.Load())) // negative if a write was taken before it was counted
	}
	return s
}
