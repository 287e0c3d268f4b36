package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/inventory"
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

// lockBody is a lock as clients see it.
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
		ID: l.ScopeID + "/providers/" + lockType + "/" + l.Name, Name: l.Name, Type: lockType,
		Properties: lockProperties{l.Level.String(), l.Notes, l.Owners}, ETag: l.ETag,
	}
}

// lockRoutes adds the locks on subscriptions, groups and resources: the last hop
// of their paths, on a scope of any length.
func (g *Gateway) lockRoutes(m *mux.Router) {
	for _, route := range []struct {
		named   bool
		methods []string
		handler ownHandler
	}{
		{false, []string{http.MethodGet}, g.listLocks},
		{true, []string{http.MethodGet}, g.getLock},
		{true, []string{http.MethodPut}, g.putLock},
		{true, []string{http.MethodDelete}, g.deleteLock},
	} {
		m.MatcherFunc(func(r *http.Request, _ *mux.RouteMatch) bool { return lockPath(exchange.From(r).Request, route.named) }).
			Methods(route.methods...).Handler(g.ownRoute(route.handler))
	}
}

func lockPath(q *routing.Request, named bool) bool {
	if q.Path.Hops() == 0 || q.Path.Subscription() == "" {
		return false
	}
	hop := q.Path.LastHop()
	segments := 1
	if named {
		segments = 2
	}
	return hop.Len() == segments && arm.EqualFold(hop.Namespace(), lockNamespace) && arm.EqualFold(hop.Segment(0), "locks")
}

// lockName is the name of the lock in a request.
func lockName(x *exchange.Exchange) string { return x.Request.Path.LastHop().Segment(1) }

func noLock(x *exchange.Exchange) *arm.Error { return arm.NewError(arm.LockNotFound, lockName(x)) }

func (g *Gateway) listLocks(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	on, err := g.scopeOf(r.Context(), x)
	if err != nil {
		return err
	}
	filter, _ := x.Request.Query.Get("$filter")
	if filter != "" && !strings.EqualFold(filter, atScope) {
		return arm.NewError(arm.InvalidQueryParameter, "$filter", "it can only be atScope()").About("$filter")
	}
	locks, err := g.store.Locks(r.Context(), c.Subscription.ID, on.key, filter == "")
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(locks, lockOf))
}

func (g *Gateway) getLock(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	on, err := g.scopeOf(r.Context(), x)
	if err != nil {
		return err
	}
	l, err := g.store.Lock(r.Context(), c.Subscription.ID, on.key, lockName(x))
	if errors.Is(err, inventory.ErrNotFound) {
		return noLock(x)
	}
	if err != nil {
		return err
	}
	w.Header()["ETag"] = []string{l.ETag}
	if arm.ParsePreconditions(r.Header).NotModified(l.ETag) {
		return x.Answer(w, http.StatusNotModified, nil)
	}
	return x.Answer(w, http.StatusOK, lockOf(l))
}

// readLock reads what a client sends for a lock. What only the service sets may
// come back from a GET, and has to be the same.
func readLock(x *exchange.Exchange, content []byte, id string) (l inventory.Lock, err error) {
	var sent lockBody
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		return l, fault
	}
	if n := len(sent.Properties.Owners); n > longestOwners {
		return l, arm.NewError(arm.InvalidRequestContent, fmt.Sprintf("The owners take %d bytes, and may take %d. Path 'properties.owners'", n, longestOwners)).About("properties.owners")
	}
	l = inventory.Lock{ScopeID: id, Name: lockName(x), Notes: sent.Properties.Notes, Owners: sent.Properties.Owners}
	if fault := matchURL(echoed{"id", sent.ID, lockOf(l).ID}, echoed{"name", sent.Name, l.Name}, echoed{"type", sent.Type, lockType}); fault != nil {
		return l, fault
	}
	for _, level := range inventory.LockLevels() {
		if strings.EqualFold(sent.Properties.Level, level.String()) {
			l.Level = level
		}
	}
	switch {
	case l.Level == 0:
		return l, arm.NewError(arm.InvalidRequestContent, "The level is CanNotDelete or ReadOnly. Path 'properties.level'").About("properties.level")
	case utf8.RuneCountInString(l.Notes) > longestNotes:
		return l, arm.NewError(arm.InvalidRequestContent, "The notes have at most 512 characters. Path 'properties.notes'").About("properties.notes")
	case utf8.RuneCountInString(l.Name) > longestLockName:
		return l, arm.NewError(arm.InvalidResourceName, l.Name).About("resourceName").
			Saying("The provided lock name '%s' is longer than %d characters.", l.Name, longestLockName)
	}
	l.ETag = arm.WeakETag(lockOf(l))
	return l, nil
}

func (g *Gateway) putLock(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	on, err := g.scopeOf(r.Context(), x)
	if err != nil {
		return err
	}
	next, contentErr := readLock(x, c.content, on.id)
	next.Host = arm.Fold(on.host)
	conditions := arm.ParsePreconditions(r.Header)
	l, created, err := g.store.EditLock(r.Context(), c.Subscription.ID, x.Request.Path.Group(), on.key, lockName(x), func(current *inventory.Lock) (*inventory.Lock, error) {
		etag := ""
		if current != nil {
			etag = current.ETag
		}
		if fault := conditions.Write(etag, x.Request.Path.String()); fault != nil {
			return nil, fault
		}
		return &next, contentErr
	})
	if err == nil {
		err = g.outlast(r.Context(), x, l)
	}
	if err == nil && on.host != "" {
		_, err = g.store.Lock(r.Context(), c.Subscription.ID, on.key, lockName(x))
	}
	if errors.Is(err, inventory.ErrNotFound) {
		return g.gone(r.Context(), x, on)
	}
	if err != nil {
		return lockRefusal(x, err)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	w.Header()["ETag"] = []string{l.ETag}
	return x.Answer(w, status, lockOf(l))
}

// gone answers the PUT of a lock that has gone with what it stood on, by a
// DELETE that was on its way before it. That may have been made anew since.
func (g *Gateway) gone(ctx context.Context, x *exchange.Exchange, s scope) error {
	if err := g.mustStand(ctx, x, s); err != nil {
		return err
	}
	return admission.Busy(s.id)
}

// outlast waits, within a bound, for the calls under way that the lock forbids, so
// that a client rarely sees one end after it has the lock. The lock is in force
// already: the client has its answer also where a call is still under way then.
func (g *Gateway) outlast(ctx context.Context, x *exchange.Exchange, l inventory.Lock) error {
	ctx, cancel := context.WithTimeout(ctx, g.config.Index.AskTimeout)
	defer cancel()
	_, err := g.store.Outlast(ctx, x.Request.Path.Group(), l)
	return err
}

func (g *Gateway) deleteLock(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	on, err := g.scopeOf(r.Context(), x)
	if err != nil {
		return err
	}
	conditions := arm.ParsePreconditions(r.Header)
	err = g.store.DeleteLock(r.Context(), c.Subscription.ID, x.Request.Path.Group(), on.key, lockName(x), func(l inventory.Lock) error {
		if fault := conditions.Write(l.ETag, x.Request.Path.String()); fault != nil {
			return fault
		}
		return nil
	})
	if errors.Is(err, inventory.ErrNotFound) {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	if err != nil {
		return lockRefusal(x, err)
	}
	return x.Answer(w, http.StatusOK, nil)
}

func lockRefusal(x *exchange.Exchange, err error) error {
	var state *inventory.GroupStateError
	var quota *inventory.QuotaError
	switch {
	case errors.As(err, &quota) && quota.Kind == inventory.QuotaAllLocks:
		return arm.NewError(arm.LockQuotaExceeded, lockName(x), quota.Limit, quota.Current).
			Saying("Creating the lock '%s' would exceed the quota of '%d' locks per subscription. The current lock count is '%d', please delete some locks before creating a new one.", lockName(x), quota.Limit, quota.Current)
	case errors.As(err, &quota):
		return arm.NewError(arm.LockQuotaExceeded, lockName(x), quota.Limit, quota.Current)
	case errors.Is(err, inventory.ErrGroupNotFound):
		return arm.NewError(arm.ResourceGroupNotFound, x.Request.Path.Group()).About("resourceGroupName")
	case errors.As(err, &state):
		return routing.GroupClosed(state.State, x.Request.Path.Group())
	}
	return admission.Refusal(x, err)
}

// underLocks holds the writes of an own route to the locks on what they lie in. The
// routes of locks are not under it: a lock can be changed and removed whatever is
// locked.
func (g *Gateway) underLocks(handle ownHandler) ownHandler {
	return func(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
		if err := g.admission.CheckLocks(r.Context(), x, c.Subscription.ID); err != nil {
			return err
		}
		return handle(w, r, x, c)
	}
}
