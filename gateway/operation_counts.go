package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"portico/arm"
	"portico/inventory"
)

// How long a count of remembered operations is gone by: in general, and where it
// refuses.
const (
	countLasts = 10 * time.Second
	fullLasts  = time.Second
)

// mostCounts is how many counts are held in memory.
const mostCounts = 4096

// operationCounts knows about how many operations are remembered for each caller in
// each subscription, and how many removed resources of each subscription. To count
// for every write would cost more than it saves: a count serves for a while, each
// write since then counts as one more, and at the limit the store counts again. So a
// caller can pass the limit by no more than what other gateways have admitted in that
// while, and what providers have named beyond one URL for a write.
type operationCounts struct {
	mu sync.Mutex
	of map[countedCaller]*operationCount
}

// countedCaller is whose operations are counted; without a caller, and with removed
// set, the removed resources of a subscription are.
type countedCaller struct {
	subscription, tenant, object string
	removed                      bool
}

type operationCount struct {
	mu      sync.Mutex
	n       int
	full    bool      // as it was counted
	counted time.Time // the zero time: not yet
}

func newOperationCounts() *operationCounts {
	return &operationCounts{of: map[countedCaller]*operationCount{}}
}

// count returns the count of a caller. Where there are too many they begin anew.
func (c *operationCounts) count(of countedCaller) *operationCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[of] == nil {
		if len(c.of) >= mostCounts {
			clear(c.of)
		}
		c.of[of] = &operationCount{}
	}
	return c.of[of]
}

// admit counts one more, unless there are limit of them already. recount counts
// them in the store.
func (c *operationCount) admit(limit int, recount func() (int, error)) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := time.Since(c.counted)
	if age > countLasts || c.n >= limit && (!c.full || age > fullLasts) {
		n, err := recount()
		if err != nil {
			return false, err
		}
		c.n, c.full, c.counted = n, n >= limit, time.Now()
	}
	if c.n >= limit {
		return false, nil
	}
	c.n++
	return true, nil
}

// roomForOperation reports whether one more operation may be remembered for a
// caller.
func (g *Gateway) roomForOperation(ctx context.Context, of countedCaller) (bool, error) {
	limit := g.config.Operations.PerCaller
	of.subscription = arm.Fold(of.subscription)
	return g.counts.count(of).admit(limit, func() (int, error) {
		return g.store.CountOperations(ctx, of.subscription, of.tenant, of.object, limit)
	})
}

// admitOperation refuses what may begin an operation where as many are remembered
// for its caller as may be. It comes before anything is sent: what a provider has
// accepted is never forgotten for a limit's sake.
func (g *Gateway) admitOperation(ctx context.Context, x *exchange, in inventory.Subscription) error {
	principal := x.principal.In(in.TenantID)
	room, err := g.roomForOperation(ctx, countedCaller{subscription: in.ID, tenant: principal.TenantID, object: principal.ObjectID})
	if err != nil || room {
		return err
	}
	return untilForgotten("as many operations of this caller are remembered in the subscription as may be; they are forgotten in time")
}

// admitRemoval refuses a write of a tracked resource where as many removed ones of
// its subscription are remembered as may be: the write may end as one more.
func (g *Gateway) admitRemoval(ctx context.Context, in inventory.Subscription) error {
	limit := g.config.Limits.TombstonesPerSubscription
	of := countedCaller{subscription: arm.Fold(in.ID), removed: true}
	room, err := g.counts.count(of).admit(limit, func() (int, error) {
		return g.store.CountTombstones(ctx, of.subscription, limit)
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

// errFull is why a further polling URL of an operation is not recorded.
var errFull = errors.New("as many operations of this caller are remembered as may be")

// roomForLink refuses to record a URL that did not come with the answer to a write,
// which was admitted, where there is no room for it: the operation has another one,
// by which it can be polled. What changes a record, or is nobody's, needs no room.
func (g *Gateway) roomForLink(ctx context.Context, x *exchange, p proxied, link pollingLink) error {
	o := link.record
	if !x.request.Reads() || link.learned || p.Operation != nil && o.Token == p.Operation.Token {
		return nil
	}
	room, err := g.roomForOperation(ctx, countedCaller{subscription: o.Subscription, tenant: o.TenantID, object: o.ObjectID})
	if err == nil && !room {
		err = errFull
	}
	return err
}
