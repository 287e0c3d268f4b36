package issuer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// KeyOptions say how an issuer's keys are had.
type KeyOptions struct {
	// Refresh is how often they are fetched while tokens are used.
	Refresh time.Duration
	// AtMostEvery is the least time between two fetches, whatever tokens come.
	AtMostEvery time.Duration
	// KeepFor is how long they are used while they cannot be fetched.
	KeepFor time.Duration
	// Folder keeps the keys for the next start; "": memory alone does.
	Folder string
	// CA is a PEM file of the authorities of the issuer's certificate; "": the system's.
	CA string
}

// maxWaiting is how many requests may wait for one fetch.
const maxWaiting = 256

// Keys are those of one issuer. They are safe for concurrent use.
type Keys struct {
	issuer  string
	options KeyOptions
	fetcher *fetcher
	log     *zap.Logger
	metrics *Metrics

	set  atomic.Pointer[keySet] // nil: none was had yet
	used atomic.Bool            // since the last fetch

	mu      sync.Mutex
	flight  chan struct{} // closed at the end of the fetch under way
	waiting int           // for it
	last    time.Time     // when the last one began
	failed  error         // of the last one
	failing time.Time     // since when they have failed; zero: the last one did not
}

// newKeys returns the keys of an issuer: those of the last good fetch, if a folder has
// them.
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

// fetched reports whether there are any.
func (k *Keys) fetched() bool { return k.set.Load() != nil }

// current returns the keys unless they are too old.
func (k *Keys) current(now time.Time) *keySet {
	set := k.set.Load()
	if set == nil || now.Sub(set.fetched) > k.options.KeepFor {
		return nil
	}
	return set
}

// has reports whether the issuer still shows the key of this name.
func (k *Keys) has(name string, now time.Time) bool {
	if !k.used.Load() {
		k.used.Store(true)
	}
	set := k.current(now)
	return set != nil && set.names[name]
}

// find returns the keys that may have signed a token with this key id. It fetches
// them anew if there is no such key.
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

// known is find without a fetch: the error is errMustFetch where find would make one, or
// wait for one.
func (k *Keys) known(_ context.Context, id, algorithm string, now time.Time) ([]key, error) {
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

// lookUp returns keys that there are. The error is errUnavailable where there are none at
// all, else errUnknownKey.
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

// mayFetch reports whether the last fetch is long enough ago. The lock is held.
func (k *Keys) mayFetch() bool { return k.last.IsZero() || time.Since(k.last) >= k.options.AtMostEvery }

// fetch fetches the keys, waits for a fetch that is under way, or leaves it at the last
// one that was not long ago.
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

	// Others wait for it too, so it goes on without this caller.
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
		k.used.Store(true) // whoever asked has not got them
		k.log.Warn("the keys of an issuer cannot be fetched; the known ones stay in use", zap.String("issuer", k.issuer), zap.Error(err))
		return fmt.Errorf("%w: %w", errUnavailable, err)
	}
	k.set.Store(set)
	if err := save(k.options.Folder, k.issuer, set); err != nil {
		k.log.Warn("the keys of an issuer cannot be stored for the next start", zap.String("issuer", k.issuer), zap.Error(err))
	}
	return nil
}

// unavailable is since when the keys cannot be fetched; zero: they can, as far as is known.
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
