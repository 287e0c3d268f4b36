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
	"portico/inventory/index"
	"portico/inventory/scopes"
)

// Scopes are subscriptions, groups, registrations and grants as requests use them, and
// writes where the transaction of their intent judges them again: from memory, at most
// [scopes.Bound] behind what other replicas committed, and never behind this one.
//
// Memory holds only what admits a read: no absence, no Deleted subscription, only
// Active groups, only registered namespaces. What it denies is asked of the store. Of
// grants it also holds that there are none.
//
// A stale yes for a group that has gone could show in two ways. A resource that the
// index does not track may outlive its group, so memory's word for a group counts only
// beside a tracked resource in it, which the index or its cache knows (package
// routing). A tracked resource goes before its group, and a 404 of its provider is
// checked against the store; but a PUT of unknown fate can land after the group went.
// Where such a PUT is left, the group goes only once it has been marked for longer than
// the bound: by then all replicas have forgotten it (closeGroup).
//
// What remains is a subscription that is marked Deleted, or given to another tenant:
// reads through other replicas may find it as it was, for up to the bound.
type Scopes struct {
	store         *Store
	changes       *scopes.Changes
	subscriptions *scopes.Table[Subscription]
	groups        *scopes.Table[Group]
	registrations *scopes.Table[Registration]
	grants        *scopes.Joint[roles.Grants]
}

// bytesPerGrants is what the grants of one principal may take in memory, on average.
const bytesPerGrants = 1 << 10

func newScopes(s *Store) (*Scopes, error) {
	o := s.options
	m := &Scopes{store: s, changes: scopes.NewChanges(scopes.Options{Ask: s.database.ScopeChanges, Now: o.clock(), TTL: o.CacheTTL})}
	var err error
	m.subscriptions, err = scopes.NewTable(m.changes, o.ScopeEntries, m.briefSubscription, func(s Subscription) bool { return s.State != Deleted })
	if err == nil {
		m.groups, err = scopes.NewTable(m.changes, o.ScopeEntries, m.briefGroup, func(g Group) bool { return g.State == index.GroupActive })
	}
	if err == nil {
		m.registrations, err = scopes.NewTable(m.changes, o.ScopeEntries, s.Registration, func(r Registration) bool { return r.State.Permits() })
	}
	if err == nil {
		m.grants, err = scopes.NewJoint(m.changes, o.ScopeEntries, o.ScopeEntries*bytesPerGrants, roles.Grants.Size)
	}
	if err != nil {
		m.changes.Close()
	}
	return m, err
}

// The brief forms leave out what has no bound that memory could live
// with.
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

// Subscription is [Store.Subscription] from memory if that knows, without tags and
// features. asked is when the request arrived.
func (m *Scopes) Subscription(ctx context.Context, id string, asked time.Time) (s Subscription, remembered bool, err error) {
	return m.subscriptions.Get(ctx, id, "", asked)
}

// Group is [Store.Group] from memory if that knows, without tags and manager.
func (m *Scopes) Group(ctx context.Context, sub, name string, asked time.Time) (g Group, remembered bool, err error) {
	return m.groups.Get(ctx, sub, name, asked)
}

// Registration is [Store.Registration] from memory if that knows.
func (m *Scopes) Registration(ctx context.Context, sub, namespace string, asked time.Time) (r Registration, remembered bool, err error) {
	return m.registrations.Get(ctx, sub, namespace, asked)
}

// Grants is [assignments.Roles.Grants] from memory if that knows: also that nothing was granted, so
// what it denies has to be asked of the store. asked is when it is decided by them. What
// memory answers allocates nothing; callers share it, and must not change it.
func (m *Scopes) Grants(ctx context.Context, tenant, subscription string, who access.Principal, asked time.Time) (g roles.Grants, remembered bool, err error) {
	q := scopes.Question{Tenant: tenant, Subscription: subscription, Name: who.ObjectID, More: string(who.Groups)}
	return m.grants.Get(ctx, q, asked, func(ctx context.Context) (roles.Grants, error) {
		return m.store.Roles.Grants(ctx, tenant, subscription, who)
	})
}

// Ask asks the store now what has changed. Scopes do so by themselves while they are
// used.
func (m *Scopes) Ask(ctx context.Context) error { return m.changes.Ask(ctx) }

// Asked is how often the store was asked what has changed.
func (m *Scopes) Asked() uint64 { return m.changes.Asked() }

// registerMetrics registers what the tables count anyway.
func (m *Scopes) registerMetrics(registry prometheus.Registerer) {
	registry.MustRegister(scopes.Metrics{
		"subscription": m.subscriptions, "group": m.groups, "registration": m.registrations, "grants": m.grants,
	})
}

// Concerns reports whether an event is one of a subscription: its own, or one of a custom
// role of its tenant that is assignable in it.
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
	return err == nil && e.Subscription == scopes.OfTenant(found.TenantID), err
}
