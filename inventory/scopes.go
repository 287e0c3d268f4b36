package inventory

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/events"
	"portico/inventory/assignments"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/memory"
)

// Scopes caches subscriptions, groups, registrations and grants for requests. The cache
// is at most [memory.Bound] behind commits of other replicas, and never behind this one.
// Writes use it too, because the transaction of their intent checks again.
//
// The cache holds only what admits a read: no absence, no Deleted subscription, only
// Active groups, only registered namespaces. Whatever it denies is read from the store.
// It does hold that a caller has no grants.
//
// A group that is gone but still cached could matter in two cases. A resource that the
// index does not track may outlive its group, so a cached group counts only together with
// a tracked resource in it, which the index or its cache knows (package routing). A
// tracked resource is removed before its group, and a 404 of its provider is checked
// against the store; but a PUT with an unknown outcome can land after the group was
// removed. If there is such a PUT, the group is removed only once it has been marked for
// longer than the bound: by then no replica has it in its cache (closeGroup).
//
// One case remains: a subscription that is marked Deleted, or given to another tenant.
// For up to the bound, reads through other replicas may find it as it was.
type Scopes struct {
	store         *Store
	changes       *memory.Changes
	subscriptions *memory.ScopeTable[Subscription]
	groups        *memory.ScopeTable[Group]
	registrations *memory.ScopeTable[Registration]
	grants        *memory.Joint[granted]
}

// granted is the cached value of a caller's grants.
type granted struct {
	roles.CallerGrants
	generations [2][16]byte // for all grants of a caller with many: before they were read
}

// bytesPerGrants bounds the average size of the cached grants of one principal.
const bytesPerGrants = 1 << 10

func newScopes(s *Store) (*Scopes, error) {
	o := s.options
	m := &Scopes{store: s, changes: memory.NewChanges(memory.ChangesOptions{Ask: s.database.ScopeChanges, Now: o.clock(), TTL: o.CacheTTL})}
	var err error
	m.subscriptions, err = memory.NewScopeTable(m.changes, o.ScopeEntries, m.briefSubscription, func(s Subscription) bool { return s.State != Deleted })
	if err == nil {
		m.groups, err = memory.NewScopeTable(m.changes, o.ScopeEntries, m.briefGroup, func(g Group) bool { return g.State == index.GroupActive })
	}
	if err == nil {
		m.registrations, err = memory.NewScopeTable(m.changes, o.ScopeEntries, s.Registration, func(r Registration) bool { return r.State.Permits() })
	}
	if err == nil {
		m.grants, err = memory.NewJoint(m.changes, o.ScopeEntries, o.ScopeEntries*bytesPerGrants, func(g granted) int { return g.Size() })
	}
	if err != nil {
		m.changes.Close()
	}
	return m, err
}

// The brief forms leave out the members whose size has no small bound.
func (m *Scopes) briefSubscription(ctx context.Context, id, _ string) (Subscription, error) {
	found, err := m.store.Subscription(ctx, id)
	return found.brief(), err
}

func (m *Scopes) briefGroup(ctx context.Context, sub, name string) (Group, error) {
	found, err := m.store.Group(ctx, sub, name)
	return found.brief(), err
}

func (s Subscription) brief() Subscription {
	s.Tags, s.Features = nil, nil
	return s
}

func (g Group) brief() Group {
	g.Tags, g.ManagedBy = nil, ""
	return g
}

// Subscription returns a subscription without tags and features, from memory if possible.
// now is when the request arrived.
func (m *Scopes) Subscription(ctx context.Context, id string, now time.Time) (s Subscription, remembered bool, err error) {
	return m.subscriptions.Get(ctx, id, "", now)
}

// Group returns a group without tags and manager, from memory if possible. now is when the
// request arrived.
func (m *Scopes) Group(ctx context.Context, sub, name string, now time.Time) (g Group, remembered bool, err error) {
	return m.groups.Get(ctx, sub, name, now)
}

// Registration returns a registration, from memory if possible. now is when the request
// arrived.
func (m *Scopes) Registration(ctx context.Context, sub, namespace string, now time.Time) (r Registration, remembered bool, err error) {
	return m.registrations.Get(ctx, sub, namespace, now)
}

// GrantsAt returns the grants that [assignments.Roles.GrantsAt] does, from memory if
// possible. A remembered result may lack new grants, so a refusal has to be checked in the
// store. now is when the decision is made. For a caller with few grants a remembered result
// allocates nothing; callers share it, and must not change it.
func (m *Scopes) GrantsAt(
	ctx context.Context, tenant, subscription string, who access.Principal, scope string, now time.Time,
) (held roles.CallerGrants, remembered bool, err error) {
	q := memory.Question{Tenant: tenant, Subscription: subscription, Name: who.ObjectID, More: string(who.Groups)}
	g, remembered, err := m.grants.Get(ctx, q, now, func(ctx context.Context) (granted, error) {
		held, err := m.store.Roles.FewGrants(ctx, tenant, subscription, who)
		return granted{CallerGrants: held}, err
	})
	if err != nil || g.Whole {
		return g.CallerGrants, remembered, err
	}
	q.Scope = scope
	g, remembered, err = m.grants.Get(ctx, q, now, func(ctx context.Context) (granted, error) {
		above, err := m.store.Roles.GrantsAbove(ctx, tenant, subscription, who, scope)
		return granted{CallerGrants: roles.CallerGrants{Grants: above}}, err
	})
	return g.CallerGrants, remembered, err
}

// everywhere stands for all scopes.
const everywhere = "*"

// Grants returns the present grants as [assignments.Roles.Grants] does, from memory if
// nothing has changed in the store: a caller with many grants costs one small query.
// Callers share the result, and must not change it. at is the time of the call.
func (m *Scopes) Grants(ctx context.Context, tenant, subscription string, who access.Principal, at time.Time) (roles.Grants, error) {
	now, err := m.store.Roles.Generations(ctx, tenant, subscription)
	if err != nil {
		return nil, err
	}
	q := memory.Question{Tenant: tenant, Subscription: subscription, Scope: everywhere, Name: who.ObjectID, More: string(who.Groups)}
	read := func(ctx context.Context) (granted, error) {
		all, err := m.store.Roles.Grants(ctx, tenant, subscription, who)
		return granted{CallerGrants: roles.CallerGrants{Grants: all}, generations: now}, err
	}
	g, remembered, err := m.grants.Get(ctx, q, at, read)
	if remembered && g.generations != now {
		for i, partition := range assignments.Partitions(tenant, subscription) {
			if g.generations[i] != now[i] {
				m.changes.Forget(partition)
			}
		}
		g, _, err = m.grants.Get(ctx, q, at, read) // memory has forgotten the grants from before the change
	}
	return g.Grants, err
}

// Ask reads the changes of other replicas from the store now. While it is used, Scopes does
// that by itself.
func (m *Scopes) Ask(ctx context.Context) error { return m.changes.Ask(ctx) }

// Reads returns how often the changes were read from the store.
func (m *Scopes) Reads() uint64 { return m.changes.Reads() }

// registerMetrics registers the counts of the tables.
func (m *Scopes) registerMetrics(registry prometheus.Registerer) {
	registry.MustRegister(memory.ScopeMetrics{
		"subscription": m.subscriptions, "group": m.groups, "registration": m.registrations, "grants": m.grants,
	})
}

// Concerns reports whether an event belongs to a subscription, or to a custom role of its
// tenant that is assignable in it.
func (m *Scopes) Concerns(ctx context.Context, e *events.Event, sub string) (bool, error) {
	if e.Subscription == arm.Fold(sub) {
		return true, nil
	}
	if len(e.AssignableIn(sub)) == 0 {
		return false, nil
	}
	found, _, err := m.Subscription(ctx, sub, m.store.Now())
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && e.Subscription == memory.TenantPartition(found.TenantID), err
}

// TargetQuery selects the records for a request. Empty members select nothing.
type TargetQuery struct {
	Subscription, Group string
	Namespace           string // of the registration
	Key                 string // of a resource
	Locks               bool   // also the locks that may forbid a write in LockGroup
	LockGroup           string // empty for a write directly in the subscription
}

// Target has the records of a resource, and of its group and subscription, for a request.
// Records that do not exist, or were not selected, are nil.
type Target struct {
	Subscription *Subscription
	Group        *Group
	Registration Registration // NotRegistered if there is none
	Row          *Resource
	Locks        []Lock
}

// Target reads the records for a request in one round trip. They may be from different
// moments: a decision that depends on several of them needs a transaction.
func (s *Store) Target(ctx context.Context, q TargetQuery) (Target, error) {
	sub, group, namespace, key := arm.Fold(q.Subscription), arm.Fold(q.Group), arm.Fold(q.Namespace), arm.Fold(q.Key)
	t := Target{Registration: Registration{Subscription: sub, Namespace: namespace}}
	queries := append(make([]engine.Lookup, 0, 5),
		engine.LookupOf(selectSubscription, func(found Subscription) { t.Subscription = &found }, scanSubscription, sub))
	if group != "" {
		queries = append(queries, engine.LookupOf(selectGroup, func(found Group) { t.Group = &found }, scanGroup, sub, group))
	}
	if namespace != "" {
		queries = append(queries, engine.LookupOf(selectRegistration, func(found Registration) { t.Registration = found }, scanRegistration, sub, namespace))
	}
	if key != "" {
		queries = append(queries, engine.LookupOf(selectResource, func(found Resource) { t.Row = &found }, scanResource, sub, key))
	}
	if q.Locks {
		queries = append(queries, lookUpLocks(sub, arm.Fold(q.LockGroup), func(found Lock) { t.Locks = append(t.Locks, found) }))
	}
	err := s.engine.LookUp(ctx, queries...)
	return t, err
}

// Target is like [Store.Target], but takes the subscription, the group and the registration
// from memory if it has all of them; then they lack tags, features and manager, and the
// result has no locks. now is when the request arrived.
func (m *Scopes) Target(ctx context.Context, q TargetQuery, now time.Time) (t Target, remembered bool, err error) {
	subscription, knowsSubscription, ofSubscription := m.subscriptions.Find(q.Subscription, "", now)
	inGroup, knowsGroup, ofGroup := m.groups.Find(q.Subscription, q.Group, now)
	registration, registered, ofRegistration := Registration{}, q.Namespace == "", memory.Place[Registration]{}
	if !registered {
		registration, registered, ofRegistration = m.registrations.Find(q.Subscription, q.Namespace, now)
	}
	if knowsSubscription && knowsGroup && registered {
		t = Target{Subscription: &subscription, Group: &inGroup, Registration: registration}
		t.Row, err = m.rowIfAny(ctx, q.Subscription, q.Key)
		return t, true, err
	}
	t, err = m.store.Target(ctx, q)
	if err != nil {
		return t, false, err
	}
	if t.Subscription != nil && !knowsSubscription {
		ofSubscription.Keep(t.Subscription.brief())
	}
	if t.Group != nil && !knowsGroup {
		ofGroup.Keep(t.Group.brief())
	}
	if !registered {
		ofRegistration.Keep(t.Registration)
	}
	return t, false, nil
}

// rowIfAny returns a row, nil if there is none.
func (m *Scopes) rowIfAny(ctx context.Context, sub, key string) (*Resource, error) {
	row, err := m.store.Resource(ctx, sub, key)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &row, nil
}
