package authorize

import (
	"context"
	"slices"
	"strings"

	"portico/access/roles"
	"portico/gateway/exchange"
	"portico/routing"
)

// Readable is the part of a list that the caller may see. nil means all of it.
type Readable struct {
	action         string
	owned, granted roles.Grants
}

// Shows reports whether the caller may see the element with an ID, in any casing, by
// the action of the list. It allocates nothing.
func (r *Readable) Shows(id string) bool { return r == nil || r.Allows(r.action, id) }

// Allows reports whether the caller may do an action at an ID, both in any casing. It
// serves lists of elements of several types, and allocates nothing.
func (r *Readable) Allows(action, id string) bool {
	if r == nil {
		return true
	}
	if _, ok := r.owned.Find(action, id); ok {
		return true
	}
	_, ok := r.granted.Find(action, id)
	return ok
}

// Within returns the scopes below the given one, an ID in any casing, that together hold
// everything there that the caller may see: folded, sorted, and none inside another. r
// must not be nil.
func (r *Readable) Within(scope string) []string {
	all := r.granted.AppendBelow(r.owned.AppendBelow(nil, r.action, scope), r.action, scope)
	slices.Sort(all)
	all = slices.Compact(all)
	seen := make(map[string]bool, len(all))
	for _, s := range all {
		seen[s] = true
	}
	return slices.DeleteFunc(all, func(s string) bool {
		for i := strings.LastIndexByte(s, '/'); i > 0; i = strings.LastIndexByte(s[:i], '/') {
			if seen[s[:i]] {
				return true
			}
		}
		return false
	})
}

// Subscriptions reports whether the caller of x has a grant that covers all subscriptions
// of its tenant. If not, named lists the subscriptions where the configuration makes it
// an owner; the inventory knows where roles are assigned to it.
func (a *Authorizer) Subscriptions(ctx context.Context, x *exchange.Exchange) (all bool, named []string, err error) {
	if !a.enforced {
		return true, nil, nil
	}
	for _, grant := range a.owners.grantsOf(&x.Principal) {
		id := routing.SubscriptionOf(grant.Scope)
		if id == "" {
			return true, nil, nil
		}
		named = append(named, id)
	}
	granted, err := a.store.GrantsAt(ctx, x.Principal.TenantID, "", x.Principal, roles.TenantScope)
	return granted.Any(), named, err
}
