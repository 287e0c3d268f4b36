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

// CheckLocks refuses a request that is no read where one of the locks on its subscription, or
// on anything below that its path lies in, forbids it. Whatever a path below a
// subscription names lies in it: locations, providers and their actions too. POST
// is a write, whatever it does.
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

// LocksOver lists the locks that may forbid a request that was classified.
func LocksOver(ctx context.Context, locks *inventory.Locks, x *exchange.Exchange) ([]inventory.Lock, error) {
	if x.Request.Reads() || x.Subscription() == "" || !arm.ValidGUID(x.Subscription()) {
		return nil, nil
	}
	return locks.Over(ctx, x.Subscription(), x.Request.Path.String())
}

// CheckAllLocks refuses a request that ends the group it names where a lock is on, above or
// below that.
func CheckAllLocks(x *exchange.Exchange, locks []inventory.Lock) error {
	return Refusal(x, inventory.CheckAllLocks(locks))
}

// Refusal turns the inventory's refusal of the write in x into ARM's. It returns any
// other error as it is.
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

// Target is what a write is about, as its refusal names it.
type Target struct {
	Subscription string
	Group        string // its name
	ID           string
	Delete       bool
}

// Refusal turns the inventory's refusal of a write of the target, for a lock or for
// its subscription or group, into ARM's. It returns nil for any other error.
func (t Target) Refusal(err error) *arm.Error {
	var group *index.GroupStateError
	var locked *inventory.LockedError
	switch {
	case errors.As(err, &locked):
		return t.locked(locked)
	case errors.Is(err, inventory.ErrSubscriptionNotFound):
		return arm.NewError(arm.SubscriptionNotFound, t.Subscription).About("subscriptionId")
	case errors.As(err, new(*inventory.SubscriptionStateError)):
		return arm.NewError(arm.ReadOnlyDisabledSubscription, t.Subscription).About("subscriptionId")
	case errors.Is(err, index.ErrGroupNotFound):
		return arm.NewError(arm.ResourceGroupNotFound, t.Group).About("resourceGroupName")
	case errors.As(err, &group):
		return routing.GroupClosed(group.State, t.Group)
	}
	return nil
}

// mostScopes bounds how many scopes an error names.
const mostScopes = 20

func (t Target) locked(by *inventory.LockedError) *arm.Error {
	what := "write"
	if t.Delete {
		what = "delete"
	}
	scopes := by.Scopes()
	scopes = scopes[:min(len(scopes), mostScopes)]
	return arm.NewError(arm.ScopeLocked, t.ID, what, strings.Join(scopes, ",")).About(t.ID)
}

// ConflictRetry is when a client may retry after a conflict that passes by itself.
const ConflictRetry = 10 * time.Second

// Busy is the error of a resource that somebody else is changing, or whose state its
// provider has yet to confirm.
func Busy(id string) *arm.Error {
	fault := arm.NewError(arm.Conflict).About(id)
	fault.RetryAfter = ConflictRetry
	return fault
}
