package inventory

import (
	"context"
	"errors"
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

// writer is the one goroutine that writes. It commits the writes that wait,
// several at a time, and answers each caller only after the commit: also a
// refusal, which may rest on what a neighbour wrote.
type writer struct {
	now      func() time.Time
	session  *session
	cache    *Locations
	queue    chan *write
	finished chan struct{}

	mu     sync.RWMutex // held for reading while a write is queued
	closed bool

	commits, flushes, writes atomic.Uint64
}

// write is one caller's part of a transaction.
type write struct {
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

func newWriter(s *session, now func() time.Time, cache *Locations) *writer {
	w := &writer{
		now: now, session: s, cache: cache,
		queue: make(chan *write, 4*maxBatch), finished: make(chan struct{}),
	}
	go w.loop()
	return w
}

// do runs one write and waits for its commit. The error of run is returned as
// it is, and nothing is written. When ctx ends first, a write that had not
// begun is never run; of one that had, the outcome is unknown. run must be a
// pure function of the transaction: it is run on the writer's goroutine, maybe
// after do has returned.
func (w *writer) do(ctx context.Context, d durability, run func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return classify(ctx, err)
	}
	m := &write{run: run, durability: d, done: make(chan result, 1)}
	if err := w.enqueue(ctx, m); err != nil {
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

func (w *writer) enqueue(ctx context.Context, m *write) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return unavailable(errClosed)
	}
	select {
	case w.queue <- m:
		return nil
	case <-ctx.Done():
		return classify(ctx, ctx.Err())
	}
}

var errClosed = errors.New("it is closed")

// close refuses further writes and returns when those that wait are answered.
func (w *writer) close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.finished
}

func (w *writer) loop() {
	defer close(w.finished)
	for first := range w.queue {
		if batch := w.gather(first); len(batch) > 0 {
			w.commit(batch)
		}
	}
}

// gather takes what waits already, without waiting for more: under load the
// time of one commit is what fills the next batch.
func (w *writer) gather(first *write) []*write {
	batch := make([]*write, 0, maxBatch)
	for m := first; m != nil; {
		if m.taken.CompareAndSwap(false, true) {
			batch = append(batch, m)
		}
		if m = nil; len(batch) < maxBatch {
			select {
			case m = <-w.queue: // nil when closed and empty
			default:
			}
		}
	}
	return batch
}

func (w *writer) commit(batch []*write) {
	results := make([]result, len(batch))
	changed, err := w.transact(batch, results)
	if err != nil {
		w.session.discard()
		err = unavailable(err)
	}
	// Also after a failure: whether its commit took effect is unknown.
	w.cache.forgetAll(changed)
	for i, m := range batch {
		if err != nil && results[i].panicked == nil {
			results[i].err = err
		}
		m.done <- results[i]
	}
}

// transact runs a batch in one transaction. An error means that nothing can be
// said of any member.
func (w *writer) transact(batch []*write, results []result) ([]place, error) {
	d := unflushed
	for _, m := range batch {
		d = d || m.durability
	}
	// The writer's own context: one caller who gives up must not end the
	// neighbours' transaction. The engine's lock time-out bounds the wait.
	ctx := context.Background()
	t := &tx{query: query{ctx: ctx}, places: &w.cache.places}
	var err error
	if t.statements, err = w.session.begin(ctx, d); err != nil {
		return nil, err
	}
	written := 0
	for i, m := range batch {
		t.now = w.now().UTC().Truncate(time.Microsecond)
		if err := w.member(t, m, &results[i]); err != nil {
			return t.changed, err
		}
		if results[i].err == nil && results[i].panicked == nil {
			written++
		}
	}
	if _, err := t.exec("COMMIT"); err != nil {
		return t.changed, err
	}
	if written > 0 {
		w.commits.Add(1)
		w.writes.Add(uint64(written))
		if d == flushed {
			w.flushes.Add(1)
		}
	}
	return t.changed, nil
}

// member runs one write in a savepoint, so that its refusal takes back what it
// did and nothing else. An error means that the transaction itself is broken.
func (w *writer) member(t *tx, m *write, r *result) error {
	if _, err := t.exec("SAVEPOINT member"); err != nil {
		return err
	}
	r.run(m.run, t)
	if r.err != nil || r.panicked != nil {
		if _, err := t.exec("ROLLBACK TO SAVEPOINT member"); err != nil {
			// The engine gave up the whole transaction; r.err may say why.
			if errors.Is(r.err, ErrUnavailable) {
				return r.err
			}
			return err
		}
	}
	_, err := t.exec("RELEASE SAVEPOINT member")
	return err
}

func (r *result) run(f func(*tx) error, t *tx) {
	defer func() { r.panicked = recover() }()
	r.err = f(t)
}

// commit runs a write that has a result; see writer.do.
func commit[T any](ctx context.Context, s *Store, d durability, run func(*tx) (T, error)) (T, error) {
	// run may outlive this call, so value is only read once its commit is known.
	var none, value T
	err := s.writer.do(ctx, d, func(t *tx) (err error) {
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
