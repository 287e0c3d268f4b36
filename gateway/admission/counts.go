// Package admission decides about requests before anything is done for them: who serves
// them, whether a resource exists, and which of them a lock or the state of their
// subscription forbids, or the store has no room to remember the outcome of. The proxy and
// Portico's own routes both ask it.
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

// Admission admits requests by one configuration. Counts outlast it.
type Admission struct {
	Store  *inventory.Store
	Config *config.Config
	Counts *Counts
}

// How long a count is used: in general, and where it refuses.
const (
	countLasts = 10 * time.Second
	fullLasts  = time.Second
)

// mostCounts is how many counts are held in memory.
const mostCounts = 4096

// Counts holds about how many operations are remembered for each caller in each
// subscription, and how many removed resources of each subscription. To count for
// every write would cost more than it saves: a count serves for a while, each write
// since then counts as one more, and at the limit the store counts again. So a
// caller can pass the limit by no more than what other gateways have admitted in
// that while, and what providers have named beyond one URL for a write.
type Counts struct {
	mu sync.Mutex
	of map[counted]*count
}

// counted is what is counted: the operations of a caller in a subscription or,
// without a caller and with removed set, the removed resources of a subscription.
type counted struct {
	subscription, tenant, object string
	removed                      bool
}

type count struct {
	mu   sync.Mutex
	n    int
	full bool      // as it was counted
	at   time.Time // when the store counted; the zero time: not yet
}

// NewCounts returns counts without a known value.
func NewCounts() *Counts { return &Counts{of: map[counted]*count{}} }

// count returns a count. Where there are too many they begin anew.
func (c *Counts) count(of counted) *count {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[of] == nil {
		if len(c.of) >= mostCounts {
			clear(c.of)
		}
		c.of[of] = &count{}
	}
	return c.of[of]
}

// admit counts one more, unless there are limit of them already. recount counts
// them in the store.
func (c *count) admit(limit int, recount func() (int, error)) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := time.Since(c.at)
	if age > countLasts || c.n >= limit && (!c.full || age > fullLasts) {
		n, err := recount()
		if err != nil {
			return false, fmt.Errorf("count what is remembered: %w", err)
		}
		c.n, c.full, c.at = n, n >= limit, time.Now()
	}
	if c.n >= limit {
		return false, nil
	}
	c.n++
	return true, nil
}

// CheckOperation refuses a request that may begin an operation where the store
// remembers as many for its caller as it may. It is asked before anything is sent:
// what a provider has accepted is never forgotten for a limit's sake.
func (a *Admission) CheckOperation(ctx context.Context, x *exchange.Exchange, in *inventory.Subscription) error {
	principal := x.Principal.In(in.TenantID)
	err := a.CheckRecord(ctx, in.ID, principal.TenantID, principal.ObjectID)
	if errors.Is(err, ErrFull) {
		return untilForgotten("as many operations of this caller are remembered in the subscription as may be; they are forgotten in time")
	}
	return err
}

// ErrFull is why a further polling URL of an operation is not recorded.
var ErrFull = errors.New("as many operations of this caller are remembered as may be")

// CheckRecord returns ErrFull where the store remembers as many operations of a
// caller as it may.
func (a *Admission) CheckRecord(ctx context.Context, subscription, tenant, object string) error {
	limit := a.Config.Operations.PerCaller
	of := counted{subscription: arm.Fold(subscription), tenant: tenant, object: object}
	room, err := a.Counts.count(of).admit(limit, func() (int, error) {
		return a.Store.Operations.Count(ctx, of.subscription, of.tenant, of.object, limit)
	})
	if err == nil && !room {
		return ErrFull
	}
	return err
}

// CheckRemoval refuses a write of a tracked resource where the store remembers as
// many removed resources of its subscription as it may: the write may end as one
// more.
func (a *Admission) CheckRemoval(ctx context.Context, in *inventory.Subscription) error {
	limit := a.Config.Limits.TombstonesPerSubscription
	of := counted{subscription: arm.Fold(in.ID), removed: true}
	room, err := a.Counts.count(of).admit(limit, func() (int, error) {
		return a.Store.CountTombstones(ctx, of.subscription, limit)
	})
	if err != nil || room {
		return err
	}
	return untilForgotten("as many removed resources of the subscription are remembered as may be; they are forgotten in time")
}

// untilForgotten refuses what there is room for once something is forgotten.
func untilForgotten(why string) *arm.Error {
	fault := arm.NewError(arm.TooManyRequests, why)
	fault.RetryAfter = arm.MaxRetryAfter
	return fault
}
