// Package admission decides about requests before anything is done for them: which region
// serves them, whether the resource exists, whether a lock or the state of the
// subscription forbids them, and whether the store has room to remember their outcome.
// The proxy and Portico's own routes both use it.
package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/inventory"
)

// Admission admits requests under one configuration. Counts may be shared between
// configurations.
type Admission struct {
	Store  *inventory.Store
	Config *config.Config
	Counts *Counts
}

// How long a count is used: in general, and once the limit was reached.
const (
	countLasts = 10 * time.Second
	fullLasts  = time.Second
)

// mostCounts bounds the counts held in memory.
const mostCounts = 4096

// Counts holds approximate counts: the operations remembered for each caller in each
// subscription, and the removed resources of each subscription. Counting in the store on
// every write would cost too much, so a count is used for a while, each write since then
// adds one, and at the limit the store counts again. A caller can therefore pass the
// limit by what other gateways admitted meanwhile and by further polling URLs that
// providers returned for one write.
type Counts struct {
	mu    sync.Mutex
	byKey map[countKey]*count
}

// countKey selects the operations of a caller in a subscription or, if removed is set and
// there is no caller, the removed resources of a subscription.
type countKey struct {
	subscription, tenant, object string
	removed                      bool
}

type count struct {
	mu   sync.Mutex
	n    int
	full bool      // whether the store's count reached the limit
	at   time.Time // when the store counted; zero if it has not yet
}

// NewCounts returns counts without a known value.
func NewCounts() *Counts { return &Counts{byKey: map[countKey]*count{}} }

// count returns the count of a key. If there are too many counts, all start afresh.
func (c *Counts) count(key countKey) *count {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] == nil {
		if len(c.byKey) >= mostCounts {
			clear(c.byKey)
		}
		c.byKey[key] = &count{}
	}
	return c.byKey[key]
}

// admit adds one, unless the count has reached limit. recount counts in the store.
func (c *count) admit(limit int, recount func() (int, error)) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := time.Since(c.at)
	if age > countLasts || c.n >= limit && (!c.full || age > fullLasts) {
		n, err := recount()
		if err != nil {
			return false, fmt.Errorf("count records: %w", err)
		}
		c.n, c.full, c.at = n, n >= limit, time.Now()
	}
	if c.n >= limit {
		return false, nil
	}
	c.n++
	return true, nil
}

// CheckOperation refuses a request that may begin an operation if the store remembers as
// many operations of its caller as it may. Call it before anything is sent: an operation
// that a provider has accepted is never dropped because of a limit.
func (a *Admission) CheckOperation(ctx context.Context, x *exchange.Exchange, in *inventory.Subscription) error {
	principal := x.Principal.In(in.TenantID)
	err := a.CheckRecord(ctx, in.ID, principal.TenantID, principal.ObjectID)
	if errors.Is(err, ErrFull) {
		return refuseUntilForgotten("as many operations of this caller are remembered in the subscription as may be; they are forgotten in time")
	}
	return err
}

// ErrFull reports that a further polling URL of an operation cannot be recorded.
var ErrFull = errors.New("as many operations of this caller are remembered as may be")

// CheckRecord returns ErrFull if the store remembers as many operations of a caller as it
// may.
func (a *Admission) CheckRecord(ctx context.Context, subscription, tenant, object string) error {
	limit := a.Config.Operations.PerCaller
	key := countKey{subscription: arm.Fold(subscription), tenant: tenant, object: object}
	room, err := a.Counts.count(key).admit(limit, func() (int, error) {
		return a.Store.Operations.Count(ctx, key.subscription, key.tenant, key.object, limit)
	})
	if err == nil && !room {
		return ErrFull
	}
	return err
}

// CheckRemoval refuses a write of a tracked resource if the store remembers as many
// removed resources of its subscription as it may: the write may leave one more.
func (a *Admission) CheckRemoval(ctx context.Context, in *inventory.Subscription) error {
	limit := a.Config.Limits.TombstonesPerSubscription
	key := countKey{subscription: arm.Fold(in.ID), removed: true}
	room, err := a.Counts.count(key).admit(limit, func() (int, error) {
		return a.Store.CountTombstones(ctx, key.subscription, limit)
	})
	if err != nil || room {
		return err
	}
	return refuseUntilForgotten("as many removed resources of the subscription are remembered as may be; they are forgotten in time")
}

// refuseUntilForgotten returns an error for clients to retry after the store has dropped
// old records.
func refuseUntilForgotten(why string) *arm.Error {
	fault := arm.NewError(arm.TooManyRequests, why)
	fault.RetryAfter = arm.MaxRetryAfter
	return fault
}
