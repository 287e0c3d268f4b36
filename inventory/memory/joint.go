package memory

import (
	"context"
	"time"

	"portico/arm"
)

// Joint remembers values of one kind, each of which changes with its subscription and
// with what belongs to a tenant. Their size is bounded as well as their number.
type Joint[T any] struct {
	recall[T]
}

// ofTenants begins the rows of tenants.
const ofTenants = "/tenants/"

// TenantPartition is what stands in place of a subscription where something belongs to a tenant.
// No subscription has such an id, so one change sequence serves both.
func TenantPartition(tenant string) string { return ofTenants + arm.Fold(tenant) }

// Question says which value is meant.
type Question struct {
	// Tenant and Subscription may have any casing.
	Tenant, Subscription string
	// Scope tells values apart in any casing.
	Scope string
	// Name and More tell values apart exactly as they are written. More holds no NUL.
	Name, More string
}

// NewJoint makes an empty table of at most so many entries and bytes, by what size says
// of a value.
func NewJoint[T any](c *Changes, entries, bytes int, size func(T) int) (*Joint[T], error) {
	known, err := newLRUTable[counted[T]](tableBounds{
		Entries: entries, TTL: c.options.TTL, Started: c.started, Bytes: bytes,
	})
	if err != nil {
		return nil, err
	}
	return &Joint[T]{recall[T]{changes: c, keys: newHashes(), known: known, keep: always[T], size: size}}, nil
}

// Get returns the value that a question means, and whether memory said so; else what
// read returns, which it remembers. now is when it is asked, by the clock of
// ChangesOptions.Now. What memory answers allocates nothing. Callers share the value, and must
// not change what it points to.
func (t *Joint[T]) Get(ctx context.Context, q Question, now time.Time, read func(context.Context) (T, error)) (value T, remembered bool, err error) {
	var buffer [192]byte
	key := arm.AppendFold(append(buffer[:0], ofTenants...), q.Tenant)
	ofTenant := t.changes.count(key)
	key = append(key, 0)
	length := len(key)
	key = arm.AppendFold(key, q.Subscription)
	ofSubscription := t.changes.count(key[length:])
	key = arm.AppendFold(append(key, 0), q.Scope)
	key = append(append(append(key, 0), q.Name...), 0)
	return t.get(ctx, t.keys.KeyBefore(key, q.More), counts{ofTenant, ofSubscription}, now, func() (T, error) { return read(ctx) })
}

// always remembers every value.
func always[T any](T) bool { return true }
