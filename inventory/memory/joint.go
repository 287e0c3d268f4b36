package memory

import (
	"context"
	"time"

	"portico/arm"
)

// Joint remembers values of one kind that each depend on a subscription and on a tenant.
// Both their number and their total size are bounded.
type Joint[T any] struct {
	coherentTable[T]
}

const tenantPrefix = "/tenants/"

// TenantPartition returns the text that replaces a subscription in records of a tenant. No
// subscription has such an id, so one change sequence serves both.
func TenantPartition(tenant string) string { return tenantPrefix + arm.Fold(tenant) }

// Question identifies a value of a [Joint].
type Question struct {
	// Tenant and Subscription may have any casing.
	Tenant, Subscription string
	// Scope may have any casing.
	Scope string
	// Name and More are compared exactly. More must not contain NUL.
	Name, More string
}

// NewJoint returns an empty table with bounds on its entries and bytes. size returns the
// size of a value in bytes.
func NewJoint[T any](c *Changes, entries, bytes int, size func(T) int) (*Joint[T], error) {
	known, err := newLRUTable[stampedValue[T]](tableBounds{
		Entries: entries, TTL: c.options.TTL, Started: c.started, Bytes: bytes,
	})
	if err != nil {
		return nil, err
	}
	return &Joint[T]{coherentTable[T]{changes: c, keys: newHashes(), table: known, cacheable: cacheAll[T], size: size}}, nil
}

// Get returns the value of q from memory, or the result of read, which it remembers.
// remembered reports which. now is the present time by ChangesOptions.Now. A value from
// memory costs no allocation. Callers share the value and must not change what it points to.
func (t *Joint[T]) Get(ctx context.Context, q Question, now time.Time, read func(context.Context) (T, error)) (value T, remembered bool, err error) {
	var buffer [192]byte
	key := arm.AppendFold(append(buffer[:0], tenantPrefix...), q.Tenant)
	ofTenant := t.changes.counter(key)
	key = append(key, 0)
	length := len(key)
	key = arm.AppendFold(key, q.Subscription)
	ofSubscription := t.changes.counter(key[length:])
	key = arm.AppendFold(append(key, 0), q.Scope)
	key = append(append(append(key, 0), q.Name...), 0)
	return t.get(ctx, t.keys.KeyBefore(key, q.More), counterPair{ofTenant, ofSubscription}, now, func() (T, error) { return read(ctx) })
}

func cacheAll[T any](T) bool { return true }
