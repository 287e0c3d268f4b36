package inventory

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// maxBatch is how many waiting writes share one transaction and its flush.
const maxBatch = 64

// durability is what a write needs of the commit that its caller waits for.
type durability bool

const (
	// flushed: on disk before the caller is answered.
	flushed durability = true
	// unflushed: visible. Losing it must be harmless: a lost settle leaves its
	// intent open, and that leads to a verification.
	unflushed durability = false
)

// writer commits the writes that wait, several at a time, and answers each
// caller only after the commit: also a refusal, which may rest on what a
// neighbour wrote. It has a lane for each connection that the engine writes by;
// the writes of one subscription all go the same way.
type writer struct {
	lanes []*lane
	seed  maphash.Seed
	// limit bounds the wait for an answer; 0: nothing does.
	limit time.Duration

	mu     sync.RWMutex // held for reading while a write is queued
	closed bool
}

// write is one caller's part of a transaction.
type write struct {
	about      subject
	run        func(*tx) error
	durability durability
	// taken decides between the writer, who will run it, and a caller who gave
	// up waiting: whoever sets it first wins.
	taken atomic.Bool
	done  chan result
}

type result struct {
	err error
	// panicked is what run panicked with; it continues on the caller's side.
	panicked any
}

// writing is what a writer is made of.
type writing struct {
	sessions  []session
	dialect   dialect
	cache     *Locations
	pollFloor time.Duration
	stale     func() bool   // whether an empty transaction is due
	limit     time.Duration // see writer; a transaction has two thirds of it
	metrics   *metrics
}

func newWriter(of writing) *writer {
	w := &writer{seed: maphash.MakeSeed(), limit: of.limit}
	for _, s := range of.sessions {
		l := &lane{
			writing: of, session: s, queue: make(chan *write, 4*maxBatch), finished: make(chan struct{}),
		}
		w.lanes = append(w.lanes, l)
		go l.loop()
	}
	return w
}

// do runs one write and waits for its commit. about says what it works on, for
// writes to be put together and in order. The error of run is returned as it
// is, and nothing is written. When ctx ends first, a write that had not begun
// is never run; of one that had, the outcome is unknown. run must be a pure
// function of the transaction: it is run on a goroutine of the writer, maybe
// after do has returned, and once more where the transaction has to be repeated.
func (w *writer) do(ctx context.Context, d durability, about subject, run func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return classify(ctx, err)
	}
	if w.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.limit)
		defer cancel()
	}
	m := &write{about: about, run: run, durability: d, done: make(chan result, 1)}
	l := w.lanes[maphash.String(w.seed, about.subscription)%uint64(len(w.lanes))]
	if err := w.enqueue(ctx, l, m); err != nil {
		return err
	}
	select {
	case r := <-m.done:
		return r.unwrap()
	case <-ctx.Done():
	}
	m.taken.Store(true)
	select { // the answer may have come at the same instant
	case r := <-m.done:
		return r.unwrap()
	default:
		return classify(ctx, ctx.Err())
	}
}

func (r result) unwrap() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

func (w *writer) enqueue(ctx context.Context, l *lane, m *write) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return unavailable(errClosed)
	}
	l.waiting.Add(1)
	select {
	case l.queue <- m:
		return nil
	case <-ctx.Done():
		l.waiting.Add(-1)
		return classify(ctx, ctx.Err())
	}
}

var errClosed = errors.New("it is closed")

// close refuses further writes and returns when those that wait are answered.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		for _, l := range w.lanes {
			close(l.queue)
		}
	}
	w.mu.Unlock()
	for _, l := range w.lanes {
		<-l.finished
	}
}

// discard ends the connections of a closed writer.
func (w *writer) discard() {
	for _, l := range w.lanes {
		l.session.discard()
	}
}

func (w *writer) stats() (s Stats) {
	for _, l := range w.lanes {
		s.Writes += l.writes.Load()
		s.Commits += l.commits.Load()
		s.Flushes += l.flushes.Load()
		s.Waiting += int(l.waiting.Load())
	}
	return s
}

// commit runs a write that has a result; see writer.do.
func commit[T any](ctx context.Context, s *Store, d durability, about subject, run func(*tx) (T, error)) (T, error) {
	// run may outlive this call, so value is only read once its commit is known.
	var none, value T
	err := s.writer.do(ctx, d, about, func(t *tx) (err error) {
		value, err = run(t)
		return err
	})
	if err != nil {
		return none, err
	}
	return value, nil
}

// put is what create-or-replace returns.
type put[T any] struct {
	stored  T
	created bool
}
