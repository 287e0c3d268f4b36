package admin

import (
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
)

// listLocks lists the locks of ?subscription=, at most ?limit= after ?after=. With ?scope= it
// lists the locks that hold at that scope on one page: there are few at each scope.
func (l *listener) listLocks(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	sub, limit, err := l.namedSubscription(r)
	if err != nil {
		return 0, nil, err
	}
	if query.Has("scope") {
		path, err := pathNamed(query.Get("scope"), "scope")
		if err != nil {
			return 0, nil, err
		}
		if !arm.EqualFold(path.Subscription(), sub.ID) {
			return 0, nil, arm.NewError(arm.InvalidQueryParameter, "scope", "it must be in the subscription").WithTarget("scope")
		}
		locks, err := l.Store.Locks.Over(r.Context(), sub.ID, path.String())
		return http.StatusOK, listOf(locks, lockOf), err
	}
	var after inventory.Lock
	if position := query.Get("after"); position != "" {
		var ok bool
		if after.Scope, after.Key, ok = strings.CutLast(position, "/"); !ok {
			return 0, nil, invalidPosition()
		}
	}
	locks, err := l.Store.Locks.OfSubscription(r.Context(), sub.ID, after, limit+1)
	page := pageOf("/admin/locks", query, locks, limit, lockOf, func(last inventory.Lock) string { return last.Scope + "/" + last.Key })
	return http.StatusOK, page, err
}

func lockOf(l inventory.Lock) api.Lock {
	return api.Lock{ID: inventory.LockID(l.ScopeID, l.Name), Scope: l.ScopeID, Name: l.Name, Level: l.Level.String(), Notes: l.Notes}
}
