package frontdoor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/internal/jsontext"
	"portico/inventory"
	"portico/inventory/transaction"
	"portico/routing"
)

const (
	lockNamespace = "Microsoft.Authorization"
	lockType      = lockNamespace + "/locks"

	longestLockName = 90
	longestNotes    = 512
	longestOwners   = 64 << 10 // bytes of their JSON
	atScope         = "atScope()"
)

// locks serves the locks on subscriptions, groups and resources.
type locks struct {
	store    *inventory.Locks
	scopes   route.Scopes
	callWait time.Duration // how long a PUT waits for calls that the lock forbids
	// readBack reads a lock that was put, to check it; it may be nil.
	readBack func(ctx context.Context, subscription, scope, name string) (inventory.Lock, error)
}

// Routes implements Resource. A lock can be changed and removed whatever else is locked.
func (g locks) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Matches: locksPath(1), Action: "Microsoft.Authorization/locks/read", Partly: true, IgnoresLocks: true, Handle: g.list},
		{Method: http.MethodGet, Matches: locksPath(2), Action: "Microsoft.Authorization/locks/read", IgnoresLocks: true, Handle: g.get},
		{Method: http.MethodPut, Matches: locksPath(2), Action: "Microsoft.Authorization/locks/write", IgnoresLocks: true, Handle: g.put},
		{Method: http.MethodDelete, Matches: locksPath(2), Action: "Microsoft.Authorization/locks/delete", IgnoresLocks: true, Handle: g.delete},
	}
}

// locksPath matches paths whose last hop is locks with the given number of segments: one
// for all locks of a scope, two for one lock.
func locksPath(segments int) func(*routing.Request) bool {
	return func(q *routing.Request) bool {
		return q.Path.Subscription() != "" && route.EndsIn(q, lockNamespace, "locks", segments)
	}
}

type lockBody struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Properties lockProperties `json:"properties"`
	ETag       string         `json:"etag,omitempty"`
}

type lockProperties struct {
	Level  string          `json:"level"`
	Notes  string          `json:"notes,omitempty"`
	Owners json.RawMessage `json:"owners,omitempty"`
}

func lockOf(l inventory.Lock) lockBody {
	return lockBody{
		ID: inventory.LockID(l.ScopeID, l.Name), Name: l.Name, Type: lockType,
		Properties: lockProperties{l.Level.String(), l.Notes, l.Owners}, ETag: l.ETag,
	}
}

// LockETag returns the entity tag of a lock.
func LockETag(l inventory.Lock) string {
	l.ETag = ""
	return arm.WeakETag(lockOf(l))
}

// lockName returns the name of the lock in a request.
func lockName(x *exchange.Exchange) string { return x.Request.Path.LastHop().Segment(1) }

func (g locks) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	on, err := g.scopes.Find(r.Context(), x)
	if err != nil {
		return err
	}
	filter, _ := x.Request.Query.Get("$filter")
	if filter != "" && !strings.EqualFold(filter, atScope) {
		return arm.NewError(arm.InvalidQueryParameter, "$filter", "it can only be atScope()").WithTarget("$filter")
	}
	locks, err := g.readableLocks(r.Context(), req, on.Key, filter == "")
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(locks, lockOf))
}

// mostLockedScopes bounds the scopes whose locks are read one by one; for more, the locks
// of the whole subscription, a bounded number, are read.
const mostLockedScopes = 32

// readableLocks returns the locks on a scope, and below if wanted, that the caller may
// see.
func (g locks) readableLocks(ctx context.Context, req route.Request, scope string, andBelow bool) (all []inventory.Lock, err error) {
	if req.Readable == nil {
		return g.store.List(ctx, req.Subscription.ID, scope, andBelow)
	}
	if !andBelow {
		return nil, nil // the caller may see nothing at the scope itself
	}
	scopes := req.Readable.Within(scope)
	if len(scopes) > mostLockedScopes {
		scopes = []string{scope}
	}
	for _, within := range scopes {
		locks, err := g.store.List(ctx, req.Subscription.ID, within, true)
		if err != nil {
			return nil, fmt.Errorf("read locks: %w", err)
		}
		all = append(all, locks...)
	}
	return slices.DeleteFunc(all, func(l inventory.Lock) bool { return !req.Readable.Shows(l.Scope) }), nil
}

func (g locks) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	on, err := g.scopes.Find(r.Context(), x)
	if err != nil {
		return err
	}
	l, err := g.store.Get(r.Context(), req.Subscription.ID, on.Key, lockName(x))
	if errors.Is(err, inventory.ErrNotFound) {
		return arm.NewError(arm.LockNotFound, lockName(x))
	}
	if err != nil {
		return fmt.Errorf("read a lock: %w", err)
	}
	return route.AnswerTagged(w, r, x, http.StatusOK, l.ETag, lockOf(l))
}

// readLock reads a lock from content. Members that only the service sets must agree with
// the URL.
func readLock(x *exchange.Exchange, content []byte, id string) (l inventory.Lock, err error) {
	var sent lockBody
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		return l, fault
	}
	if n := len(sent.Properties.Owners); n > longestOwners {
		return l, arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("The owners take %d bytes, and may take %d. Path 'properties.owners'", n, longestOwners)).
			WithTarget("properties.owners")
	}
	if jsontext.Null(sent.Properties.Owners) {
		sent.Properties.Owners = nil
	}
	l = inventory.Lock{ScopeID: id, Name: lockName(x), Notes: sent.Properties.Notes, Owners: sent.Properties.Owners}
	want := route.Names{ID: lockOf(l).ID, Name: l.Name, Type: lockType}
	if fault := (route.Names{ID: sent.ID, Name: sent.Name, Type: sent.Type}).Check(want); fault != nil {
		return l, fault
	}
	for _, level := range inventory.LockLevels() {
		if strings.EqualFold(sent.Properties.Level, level.String()) {
			l.Level = level
		}
	}
	switch {
	case l.Level == 0:
		return l, arm.NewError(arm.InvalidRequestContent, "The level is CanNotDelete or ReadOnly. Path 'properties.level'").WithTarget("properties.level")
	case utf8.RuneCountInString(l.Notes) > longestNotes:
		return l, arm.NewError(arm.InvalidRequestContent, "The notes have at most 512 characters. Path 'properties.notes'").WithTarget("properties.notes")
	case utf8.RuneCountInString(l.Name) > longestLockName:
		return l, arm.NewError(arm.InvalidResourceName, l.Name).WithTarget("resourceName").
			WithMessage("The provided lock name '%s' is longer than %d characters.", l.Name, longestLockName)
	}
	l.ETag = LockETag(l)
	return l, nil
}

func (g locks) put(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	on, err := g.scopes.Find(r.Context(), x)
	if err != nil {
		return err
	}
	next, contentErr := readLock(x, req.Content, on.ID)
	next.Host = arm.Fold(on.Host)
	conditions := route.Preconditions(r, x)
	edit := func(current *inventory.Lock) (*inventory.Lock, error) {
		etag := ""
		if current != nil {
			etag = current.ETag
		}
		return &next, cmp.Or(conditions(etag), contentErr)
	}
	l, created, err := g.store.Edit(r.Context(), req.Subscription.ID, x.Request.Path.Group(), on.Key, lockName(x), edit)
	if err == nil {
		err = g.waitForConflictingCalls(r.Context(), x, l)
	}
	if err == nil && on.Host != "" && g.readBack != nil {
		_, err = g.readBack(r.Context(), req.Subscription.ID, on.Key, lockName(x))
	}
	if errors.Is(err, inventory.ErrNotFound) {
		return g.scopeDeleted(r.Context(), x, on)
	}
	if err != nil {
		return lockRefusal(x, err)
	}
	return route.AnswerTagged(w, r, x, route.StatusOf(created), l.ETag, lockOf(l))
}

// scopeDeleted answers the PUT of a lock whose scope a concurrent DELETE removed together
// with the lock. If the scope was created again since, it is busy.
func (g locks) scopeDeleted(ctx context.Context, x *exchange.Exchange, s route.Scope) error {
	if err := g.scopes.CheckHost(ctx, x, s); err != nil {
		return err
	}
	return admission.Busy(s.ID)
}

// waitForConflictingCalls waits, within a bound, for the calls under way that the lock
// forbids, so that a client rarely sees one end after its PUT was answered. The lock is
// in force already; the bound only limits the delay of the answer.
func (g locks) waitForConflictingCalls(ctx context.Context, x *exchange.Exchange, l inventory.Lock) error {
	ctx, cancel := context.WithTimeout(ctx, g.callWait)
	defer cancel()
	_, err := g.store.WaitForConflictingWrites(ctx, x.Request.Path.Group(), l)
	return err
}

func (g locks) delete(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	on, err := g.scopes.Find(r.Context(), x)
	if err != nil {
		return err
	}
	conditions := route.Preconditions(r, x)
	err = g.store.Delete(r.Context(), req.Subscription.ID, x.Request.Path.Group(), on.Key, lockName(x),
		func(l inventory.Lock) error { return conditions(l.ETag) })
	if errors.Is(err, inventory.ErrNotFound) {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	if err != nil {
		return lockRefusal(x, err)
	}
	return x.Answer(w, http.StatusOK, nil)
}

func lockRefusal(x *exchange.Exchange, err error) error {
	var quota *transaction.QuotaError
	switch {
	case errors.As(err, &quota) && quota.Kind == transaction.QuotaAllLocks:
		return arm.NewError(arm.LockQuotaExceeded, lockName(x), quota.Limit, quota.Current).
			WithMessage("Creating the lock '%s' would exceed the quota of '%d' locks per subscription. The current lock count is '%d', please delete some "+
				"locks before creating a new one.", lockName(x), quota.Limit, quota.Current)
	case errors.As(err, &quota):
		return arm.NewError(arm.LockQuotaExceeded, lockName(x), quota.Limit, quota.Current)
	}
	return admission.Refusal(x, err)
}
