package inventory

import (
	"context"
	"errors"
	"time"

	"portico/access"
	"portico/access/roles"
)

// Grants returns what a caller has been granted, by its object id and its groups, at,
// above and below a subscription of a tenant; subscription "" stands for what is granted
// at the tenant alone. It asks the store.
func (s *Store) Grants(ctx context.Context, tenant, subscription string, who access.Principal) (roles.Grants, error) {
	return nil, errors.ErrUnsupported
}

// Grants is [Store.Grants] from memory if that knows: also that nothing was granted, so
// what it denies has to be asked of the store. asked is when the request arrived. What
// memory answers allocates nothing; callers share it, and must not change it.
func (m *Scopes) Grants(ctx context.Context, tenant, subscription string, who access.Principal, asked time.Time) (g roles.Grants, remembered bool, err error) {
	return nil, false, errors.ErrUnsupported
}
