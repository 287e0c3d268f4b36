package inventory

import (
	"context"
	"strings"

	"portico/arm"
	"portico/inventory/engine"
)

const (
	locksFrom      = `SELECT ` + lockColumns + ` FROM locks WHERE subscription = ?`
	listLocksAfter = locksFrom + ` AND (scope, name) > (?, ?) ORDER BY scope, name LIMIT ?`
)

// LockID is the ID of a lock on a scope.
func LockID(scope, name string) string {
	return scope + "/providers/Microsoft.Authorization/locks/" + name
}

// SubscriptionLocks lists at most limit locks of a subscription, by scope and name, that
// follow after, of which Scope and Key count; the zero Lock precedes all.
func (s *Store) SubscriptionLocks(ctx context.Context, sub string, after Lock, limit int) ([]Lock, error) {
	return engine.Collect(s.engine.Read(ctx), scanLock, listLocksAfter, arm.Fold(sub), after.Scope, after.Key, engine.AtMost(limit))
}

// LocksHolding lists the locks that hold at an ID in a subscription: those on it, and those
// above it.
func (s *Store) LocksHolding(ctx context.Context, sub, id string) ([]Lock, error) {
	of, args := engine.Among("scope", scopesOf(arm.Fold(sub), arm.Fold(id)), arm.Fold)
	return engine.Collect(s.engine.Read(ctx), scanLock, locksFrom+of+` ORDER BY scope, name`, append([]any{arm.Fold(sub)}, args...)...)
}

// scopesOf are the folded ids from a subscription's to one in it.
func scopesOf(sub, id string) []string {
	all := []string{subscriptionScope(sub)}
	for i := len(all[0]) + 1; i < len(id); i++ {
		end := strings.IndexByte(id[i:], '/')
		if end < 0 {
			end = len(id) - i
		}
		i += end
		all = append(all, id[:i])
	}
	return all
}
