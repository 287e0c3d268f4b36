package admission

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/index"
	"portico/routing"
)

// CheckLocks refuses a request other than a read if a lock on its subscription, or on any
// scope below that contains its path, forbids it. Every path below a subscription counts,
// also locations, providers and their actions. POST counts as a write, whatever it does.
func CheckLocks(x *exchange.Exchange, locks []inventory.Lock) error {
	q := x.Request
	if q.Reads() {
		return nil
	}
	kind := index.Put
	if q.Method == http.MethodDelete {
		kind = index.Delete
	}
	return Refusal(x, inventory.CheckLocks(locks, kind, q.Path.String()))
}

// LocksOver lists the locks that may forbid a classified request.
func LocksOver(ctx context.Context, locks *inventory.Locks, x *exchange.Exchange) ([]inventory.Lock, error) {
	if x.Request.Reads() || x.Subscription() == "" || !arm.ValidGUID(x.Subscription()) {
		return nil, nil
	}
	return locks.Over(ctx, x.Subscription(), x.Request.Path.String())
}

// CheckAllLocks refuses a request that deletes the group it names if there is a lock on
// the group, above it or below it.
func CheckAllLocks(x *exchange.Exchange, locks []inventory.Lock) error {
	return Refusal(x, inventory.CheckAllLocks(locks))
}

// Refusal converts the inventory's refusal of the write in x to an ARM error. It returns
// any other error unchanged.
func Refusal(x *exchange.Exchange, err error) error {
	if err == nil {
		return nil
	}
	path := &x.Request.Path
	t := Target{Subscription: path.Subscription(), Group: path.Group(), ID: path.String(), Delete: x.Request.Method == http.MethodDelete}
	if fault := t.Refusal(err); fault != nil {
		return fault
	}
	return err
}

// Target is the object of a write, as its refusal names it.
type Target struct {
	Subscription string
	Group        string // its name
	ID           string
	Delete       bool
}

// Refusal converts the inventory's refusal of a write of the target, because of a lock or
// because of its subscription or group, to an ARM error. It returns nil for any other
// error.
func (t Target) Refusal(err error) *arm.Error {
	var group *index.GroupStateError
	var locked *inventory.LockedError
	switch {
	case errors.As(err, &locked):
		return t.lockedError(locked)
	case errors.Is(err, inventory.ErrSubscriptionNotFound):
		return arm.NewError(arm.SubscriptionNotFound, t.Subscription).WithTarget("subscriptionId")
	case errors.As(err, new(*inventory.SubscriptionStateError)):
		return arm.NewError(arm.ReadOnlyDisabledSubscription, t.Subscription).WithTarget("subscriptionId")
	case errors.Is(err, index.ErrGroupNotFound):
		return arm.NewError(arm.ResourceGroupNotFound, t.Group).WithTarget("resourceGroupName")
	case errors.As(err, &group):
		return routing.GroupClosed(group.State, t.Group)
	}
	return nil
}

const mostScopes = 20

func (t Target) lockedError(by *inventory.LockedError) *arm.Error {
	what := "write"
	if t.Delete {
		what = "delete"
	}
	scopes := by.Scopes()
	scopes = scopes[:min(len(scopes), mostScopes)]
	return arm.NewError(arm.ScopeLocked, t.ID, what, strings.Join(scopes, ",")).WithTarget(t.ID)
}

// ConflictRetry is the time after which a client may retry after a temporary conflict.
const ConflictRetry = 10 * time.Second

// Busy returns the error for a resource that another request is changing, or whose state
// its provider has yet to confirm.
func Busy(id string) *arm.Error {
	fault := arm.NewError(arm.Conflict).WithTarget(id)
	fault.RetryAfter = ConflictRetry
	return fault
}
