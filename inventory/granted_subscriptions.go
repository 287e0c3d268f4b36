package inventory

import (
	"context"
	"slices"

	"portico/access"
	"portico/arm"
	"portico/inventory/engine"
)

// namedSubscriptions ends with which subscriptions; see [engine.Among].
const namedSubscriptions = `SELECT ` + subscriptionColumns + `, tags FROM subscriptions WHERE tenant = ?`

// GrantedSubscriptions lists, as SubscriptionsOf, those of a tenant in which a role is
// assigned to a caller, and those that are named. It returns less than the limit, of at
// most 1024, only at the end.
func (s *Store) GrantedSubscriptions(ctx context.Context, tenant string, who access.Principal, named []string, after string, limit int) (all []Subscription, err error) {
	after = max(arm.Fold(after), "0") // behind what belongs to tenants
	for {
		ids, err := s.Roles.Subscriptions(ctx, tenant, who, after, limit)
		if err != nil {
			return nil, err
		}
		for _, id := range named {
			if id = arm.Fold(id); id > after {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		ids = ids[:min(limit, len(ids))]
		if len(ids) == 0 {
			return all, nil
		}
		among, args := engine.Among("subscription", ids, arm.Fold)
		found, err := engine.Collect(s.engine.Read(ctx), scanSubscription, namedSubscriptions+among+` ORDER BY subscription LIMIT ?`,
			append(append([]any{arm.Fold(tenant)}, args...), limit-len(all))...)
		all = append(all, found...)
		if err != nil || len(all) == limit || len(ids) < limit {
			return all, err
		}
		after = ids[len(ids)-1] // assignments can outlive a subscription, or its tenant
	}
}
