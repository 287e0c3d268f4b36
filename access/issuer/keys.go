package issuer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// KeyOptions configure how an issuer's keys are fetched and kept.
type KeyOptions struct {
	// Refresh is the interval of fetches while tokens are used.
	Refresh time.Duration
	// AtMostEvery is the minimum time between two fetches, whatever tokens arrive.
	AtMostEvery time.Duration
	// KeepFor bounds how long keys are used while they cannot be fetched.
	KeepFor time.Duration
	// Folder stores the keys for the next start; "" keeps them only in memory.
	Folder string
	// CA is a PEM file with the authorities of the issuer's certificate; "":
	// the system's.
	CA string
}

// maxWaiting bounds the requests that wait for one fetch.
const maxWaiting = 256

// Keys holds the keys of one issuer. It is safe for concurrent use.
type Keys struct {
	issuer  string
	options KeyOptions
	fetcher *fetcher
	log     *zap.Logger
	metrics *Metrics

	set  atomic.Pointer[keySet] // nil: none was fetched yet
	used atomic.Bool            // since the last fetch

	mu      sync.Mutex
	flight  chan struct{} // closed at the end of the running fetch
	waiting int           // for it
	last    time.Time     // when the last fetch began
	failed  error         // the last fetch's error
	failing time.Time     // when fetches began to fail; zero: the last one succeeded
}

// newKeys returns the keys of an issuer, from the last successful fetch if a
// folder stores them.
func newKeys(issuer string, o KeyOptions, f *fetcher, log *zap.Logger, metrics *Metrics) *Keys {
	k := &Keys{issuer: issuer, options: o, fetcher: f, log: log, metrics: metrics}
	set, err := load(o.Folder, issuer, time.Now())
	if err != nil {
		log.Warn("the stored keys of an issuer cannot be read", zap.String("issuer", issuer), zap.Error(err))
	}
	if set != nil {
		k.set.Store(set)
	}
	return k
}

// fetched reports whether any keys are present.
func (k *Keys) fetched() bool { return k.set.Load() != nil }

// current returns the keys unless they are too old.
func (k *Keys) current(now time.Time) *keySet {
	set := k.set.Load()
	if set == nil || now.Sub(set.fetched) > k.options.KeepFor {
		return nil
	}
	return set
}

// has reports whether the issuer still publishes the key of this name.
func (k *Keys) has(name string, now time.Time) bool {
	if !k.used.Load() {
		k.used.Store(true)
	}
	set := k.current(now)
	return set != nil && set.names[name]
}

// find returns the keys that may have signed a token with this key id. If no
// such key is present, find fetches the keys again.
func (k *Keys) find(ctx context.Context, id, algorithm string, now time.Time) ([]key, error) {
	k.used.Store(true)
	if found, err := k.lookUp(id, algorithm, now); err == nil {
		return found, nil
	}
	if err := k.fetch(ctx); err != nil {
		return nil, err
	}
	return k.lookUp(id, algorithm, now)
}

// findWithoutFetch is like find without a fetch: it returns errMustFetch if find would
// start or await a fetch.
func (k *Keys) findWithoutFetch(_ context.Context, id, algorithm string, now time.Time) ([]key, error) {
	found, err := k.lookUp(id, algorithm, now)
	if err == nil {
		return found, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.flight != nil, k.mayFetch():
		return nil, errMustFetch
	case k.failed != nil:
		return nil, k.failed
	}
	return nil, err
}

// lookUp returns matching keys that are present. The error is errUnavailable
// if there are no keys at all, else errUnknownKey.
func (k *Keys) lookUp(id, algorithm string, now time.Time) ([]key, error) {
	set := k.current(now)
	if set == nil {
		return nil, errUnavailable
	}
	if found := set.find(id, algorithm); found != nil {
		return found, nil
	}
	return nil, errUnknownKey
}

// mayFetch reports whether the last fetch is long enough ago. The caller holds the lock.
func (k *Keys) mayFetch() bool { return k.last.IsZero() || time.Since(k.last) >= k.options.AtMostEvery }

// fetch fetches the keys, or waits for a running fetch. If the last fetch is
// too recent, it returns that fetch's result.
func (k *Keys) fetch(ctx context.Context) error {
	k.mu.Lock()
	if flight := k.flight; flight != nil {
		if k.waiting >= maxWaiting {
			k.mu.Unlock()
			return errUnavailable
		}
		k.waiting++
		k.mu.Unlock()
		select {
		case <-flight:
		case <-ctx.Done():
		}
		k.mu.Lock()
		k.waiting--
		failed := k.failed
		k.mu.Unlock()
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", errUnavailable, ctx.Err())
		}
		return failed
	}
	if !k.mayFetch() {
		defer k.mu.Unlock()
		return k.failed
	}
	k.flight, k.last = make(chan struct{}), time.Now()
	k.mu.Unlock()

	// Other callers wait for the fetch too, so it continues without this one.
	err := k.fetchNow(context.WithoutCancel(ctx))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failed = err
	switch {
	case err == nil:
		k.failing = time.Time{}
	case k.failing.IsZero():
		k.failing = time.Now()
	}
	close(k.flight)
	k.flight = nil
	return err
}

func (k *Keys) fetchNow(ctx context.Context) error {
	k.used.Store(false)
	set, err := k.fetcher.fetch(ctx, k.issuer)
	k.metrics.fetched(k.issuer, err)
	if err != nil {
		k.used.Store(true) // the caller still needs them
		k.log.Warn("the keys of an issuer cannot be fetched; the known ones stay in use", zap.String("issuer", k.issuer), zap.Error(err))
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	k.set.Store(set)
	if err := save(k.options.Folder, k.issuer, set); err != nil {
		k.log.Warn("the keys of an issuer cannot be stored for the next start", zap.String("issuer", k.issuer), zap.Error(err))
	}
	return nil
}

// unavailable returns when fetches of the keys began to fail; zero if the
// last one succeeded.
func (k *Keys) unavailable() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failing
}

// due reports whether it is time to fetch keys that are in use.
func (k *Keys) due() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	pause := k.options.Refresh
	if k.failed != nil {
		pause = k.options.AtMostEvery
	}
	return k.used.Load() && time.Since(k.last) >= pause
}
