package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"portico/access"
	"portico/arm"
	"portico/inventory/assignments"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// SubscriptionState is the state of a subscription as clients see it. The
// numbers are stored.
type SubscriptionState uint8

// The states of a subscription.
const (
	Enabled SubscriptionState = iota
	PastDue
	Warned
	Disabled
	Deleted
)

var subscriptionStates = [...]string{"Enabled", "PastDue", "Warned", "Disabled", "Deleted"}

func (s SubscriptionState) String() string { return index.NameOf(subscriptionStates[:], int(s)) }

// ParseSubscriptionState parses a state in any casing; its error lists the valid values.
func ParseSubscriptionState(text string) (SubscriptionState, error) {
	for i, name := range subscriptionStates {
		if strings.EqualFold(name, text) {
			return SubscriptionState(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not a subscription state (allowed: %s)", text, strings.Join(subscriptionStates[:], ", "))
}

// Subscription is the scope of billing and isolation that contains groups.
type Subscription struct {
	ID          string // folded
	TenantID    string
	DisplayName string
	State       SubscriptionState
	OfferID     string // quotaId in notifications to providers
	PlacementID string // locationPlacementId in notifications: where its resources may be
	// Features has its registered features, "Namespace/name", sorted. Writing a
	// subscription with nil keeps them.
	Features []string
	// Covered means that the index has every resource of the subscription. It is set only
	// when the subscription is created. A restored store ignores it.
	Covered bool
	// Version is raised by each change that providers must know, also of a registration.
	// The store sets it.
	Version int64
	// FinalVersion is the version of a Deleted subscription when no write to it was open
	// any more, and providers were notified once more; 0 before that.
	FinalVersion int64
	// Erased: it is Deleted, and neither the store nor any provider in the region map has
	// records of it; see [Notices.UnnotifiedRegions].
	Erased           bool
	Tags             map[string]string // only EditSubscriptionTags changes them
	Created, Changed time.Time
}

// ErrErasing refuses to recreate a subscription while providers or the inventory still have
// records of it.
var ErrErasing = errors.New("inventory: the deleted subscription is still being erased")

const (
	subscriptionColumns = `subscription, tenant, display_name, state, offer, placement, features, tags,
		covered, version, final_version, erased, created, changed`

	insertSubscription = `INSERT INTO subscriptions (` + subscriptionColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription) DO NOTHING`
	updateSubscription = `UPDATE subscriptions SET tenant = ?, display_name = ?, state = ?, offer = ?, placement = ?, features = ?,
			covered = ?, version = ?, final_version = ?, erased = ?, created = ?, changed = ?
		WHERE subscription = ?`
	selectSubscription = `SELECT ` + subscriptionColumns + ` FROM subscriptions WHERE subscription = ?`
	// lockSubscription blocks only changes of the subscription itself: writes in it read
	// its row without a lock.
	lockSubscription  = selectSubscription + engine.ForUpdate
	listSubscriptions = `SELECT ` + subscriptionColumns + ` FROM subscriptions
		WHERE subscription > ? ORDER BY subscription LIMIT ?`
	listTenantSubscriptions = `SELECT ` + subscriptionColumns + ` FROM subscriptions
		WHERE tenant = ? AND subscription > ? ORDER BY subscription LIMIT ?`
)

func scanSubscription(scan engine.Scanner) (Subscription, error) {
	var (
		s                Subscription
		features         string
		created, changed int64
		tags             string
	)
	err := scan(&s.ID, &s.TenantID, &s.DisplayName, &s.State, &s.OfferID, &s.PlacementID, &features, &tags,
		&s.Covered, &s.Version, &s.FinalVersion, &s.Erased, &created, &changed)
	if err != nil {
		return s, err
	}
	if features != "" {
		s.Features = strings.Fields(features)
	}
	s.Created, s.Changed = engine.TimeOf(created), engine.TimeOf(changed)
	s.Tags, err = readTags(tags, s.ID)
	return s, err
}

func (s Subscription) insert(t *tx) (created bool, err error) {
	t.ChangesScope(arm.Fold(s.ID))
	n, err := t.Exec(insertSubscription, arm.Fold(s.ID), arm.Fold(s.TenantID), s.DisplayName, s.State, s.OfferID, s.PlacementID,
		joinFeatures(s.Features), "{}", engine.Flag(s.Covered && t.store.Events.Restored().IsZero()), 1, 0, 0, engine.Micros(t.Now), engine.Micros(t.Now))
	return n == 1, err
}

func (s Subscription) update(t *tx) error {
	t.ChangesScope(s.ID)
	return t.Later(updateSubscription, arm.Fold(s.TenantID), s.DisplayName, s.State, s.OfferID, s.PlacementID,
		joinFeatures(s.Features), engine.Flag(s.Covered), s.Version, s.FinalVersion, engine.Flag(s.Erased), engine.Micros(s.Created), engine.Micros(s.Changed), s.ID)
}

// joinFeatures returns the stored form of features, whose names have no spaces.
func joinFeatures(features []string) string {
	sorted := slices.Clone(features)
	slices.SortFunc(sorted, func(a, b string) int { return strings.Compare(arm.Fold(a), arm.Fold(b)) })
	return strings.Join(slices.CompactFunc(sorted, arm.EqualFold), " ")
}

// HasFeature reports whether the subscription is registered for a feature,
// "Namespace/name" in any casing.
func (s Subscription) HasFeature(name string) bool {
	return slices.ContainsFunc(s.Features, func(f string) bool { return arm.EqualFold(f, name) })
}

// SeedSubscriptions creates the subscriptions that are absent, and notifies providers of
// them. It does not change the others, because the configuration has only their initial
// state.
func (s *Store) SeedSubscriptions(ctx context.Context, seeds []Subscription, targets ...NotificationTarget) error {
	for _, seed := range seeds {
		if _, err := s.Subscription(ctx, seed.ID); err == nil {
			continue
		}
		err := s.write(ctx, engine.Flushed, transaction.SubscriptionLocks(seed.ID), func(t *tx) error {
			created, err := seed.insert(t)
			if err != nil || !created {
				return err
			}
			if err := t.recordSubscription(seed); err != nil {
				return err
			}
			return t.notifyChange(seed.ID, targets)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PutSubscription creates a subscription or replaces its mutable members, and notifies
// providers. It uses Covered only to create one. A Deleted subscription can be recreated
// once it is erased: before that the error is ErrErasing, and *UnnotifiedRegionsError
// while an endpoint that the region map lacked has not confirmed the deletion.
func (s *Store) PutSubscription(ctx context.Context, p Subscription, targets ...NotificationTarget) (stored Subscription, created bool, err error) {
	return engine.Put(ctx, s.engine, transaction.SubscriptionLocks(p.ID), func(t *tx) (stored Subscription, created bool, err error) {
		current, err := loadSubscription(t, lockSubscription, p.ID)
		switch {
		case errors.Is(err, ErrNotFound):
			created, err := p.insert(t)
			if err == nil && !created {
				err = engine.ErrOvertaken // by another replica, since there was no row to lock
			}
			if err == nil {
				err = t.recordSubscription(p)
			}
			if err == nil {
				err = t.notifyChange(p.ID, targets)
			}
			if err != nil {
				return stored, false, err
			}
			stored, err = loadSubscription(t, selectSubscription, p.ID)
			return stored, true, err
		case err != nil:
			return stored, false, err
		}
		next, recreated, err := p.nextVersion(current, t.Now)
		next.Covered = next.Covered && s.Events.Restored().IsZero()
		if err == nil && recreated {
			err = t.checkRecreate(next.ID)
		}
		if err != nil {
			return stored, false, err
		}
		if err := next.update(t); err != nil {
			return stored, false, err
		}
		if err := t.recordSubscription(next); err != nil {
			return stored, false, err
		}
		if next.TenantID != current.TenantID {
			if err := assignments.RemoveAll(&t.Tx, next.ID); err != nil {
				return stored, false, err
			}
		}
		if next.Version != current.Version {
			err = t.notifyChange(next.ID, targets)
		}
		return next, recreated, err
	})
}

// nextVersion returns the version that a PUT of s makes of the current one, and reports
// whether that recreates the subscription.
func (s Subscription) nextVersion(current Subscription, now time.Time) (next Subscription, recreated bool, err error) {
	recreated = current.State == Deleted && s.State != Deleted
	if recreated && !current.Erased {
		return s, false, ErrErasing
	}
	next = current
	next.TenantID, next.DisplayName, next.State = arm.Fold(s.TenantID), s.DisplayName, s.State
	next.OfferID, next.PlacementID, next.Changed = s.OfferID, s.PlacementID, now
	if s.Features != nil {
		next.Features = strings.Fields(joinFeatures(s.Features))
	}
	if recreated {
		next.Features = strings.Fields(joinFeatures(s.Features))
		next.Covered, next.Created = s.Covered, now
	}
	next.Erased = current.Erased && next.State == Deleted
	if current.State != Deleted {
		next.FinalVersion = 0
	}
	// A repeated DELETE before the erasing has ended notifies once more.
	again := next.State == Deleted && !next.Erased
	if again || recreated || next.noticeContent() != current.noticeContent() {
		next.Version++
	}
	return next, recreated, nil
}

// noticeContent returns the members of a subscription that are in notifications.
func (s Subscription) noticeContent() string {
	return strings.Join([]string{s.State.String(), s.TenantID, s.OfferID, s.PlacementID, joinFeatures(s.Features)}, "\n")
}

// notifyChange notifies providers of a new version of a subscription. For a Deleted one it
// also creates the job that erases it once they have all confirmed.
func (t *tx) notifyChange(id string, targets []NotificationTarget) error {
	sub, err := loadSubscription(t, selectSubscription, id)
	if err != nil {
		return err
	}
	if err := t.notify(sub, targets, everyNamespace); err != nil {
		return err
	}
	if sub.State != Deleted || sub.Erased {
		return nil
	}
	return t.addOrRunSooner(jobrow.Job{Subscription: sub.ID, ID: EraseJobID, Kind: EraseJob, Subject: sub.ID, Due: t.Now, Payload: "{}"})
}

// SetFeature registers a subscription for a feature, "Namespace/name", or ends the
// registration, and notifies the targets. The subscription may refuse it as for EditGroup.
func (s *Store) SetFeature(ctx context.Context, sub, feature string, on bool, targets []NotificationTarget) (Subscription, error) {
	return commit(ctx, s, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) (Subscription, error) {
		current, err := t.openSubscription(sub, false)
		if err != nil || current.HasFeature(feature) == on {
			return current, err
		}
		if on {
			current.Features = append(current.Features, feature)
		} else {
			current.Features = slices.DeleteFunc(current.Features, func(f string) bool { return arm.EqualFold(f, feature) })
		}
		current.Features = strings.Fields(joinFeatures(current.Features))
		current.Version, current.Changed = current.Version+1, t.Now
		if err := current.update(t); err != nil {
			return current, err
		}
		if err := t.recordFeature(current.ID, feature, on); err != nil {
			return current, err
		}
		return current, t.notify(current, targets, commonNamespace(targets))
	})
}

// Subscription returns one subscription, or ErrNotFound.
func (s *Store) Subscription(ctx context.Context, id string) (Subscription, error) {
	return loadSubscription(s.engine.Read(ctx), selectSubscription, id)
}

func loadSubscription(from engine.Source, statement, id string) (Subscription, error) {
	found, err := scanSubscription(from.One(statement, arm.Fold(id)))
	return found, engine.OrNotFound(err)
}

// SubscriptionsOf lists the subscriptions of a tenant whose IDs follow after, in
// the order of their IDs; a limit of 0 means all.
func (s *Store) SubscriptionsOf(ctx context.Context, tenant, after string, limit int) ([]Subscription, error) {
	return engine.Collect(s.engine.Read(ctx), scanSubscription, listTenantSubscriptions, arm.Fold(tenant), arm.Fold(after), engine.LimitArg(limit))
}

// AllSubscriptions lists the subscriptions of all tenants as SubscriptionsOf does for one.
func (s *Store) AllSubscriptions(ctx context.Context, after string, limit int) ([]Subscription, error) {
	return engine.Collect(s.engine.Read(ctx), scanSubscription, listSubscriptions, arm.Fold(after), engine.LimitArg(limit))
}

// namedSubscriptions is followed by a condition of [engine.Among].
const namedSubscriptions = `SELECT ` + subscriptionColumns + ` FROM subscriptions WHERE tenant = ?`

// GrantedSubscriptions lists, as SubscriptionsOf does, the subscriptions of a tenant in
// which a caller has a role, and the named ones. It returns fewer than the limit, which is
// at most 1024, only at the end.
func (s *Store) GrantedSubscriptions(
	ctx context.Context, tenant string, who access.Principal, named []string, after string, limit int,
) (all []Subscription, err error) {
	after = max(arm.Fold(after), "0") // after the assignments of tenants
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

const updateSubscriptionTags = `UPDATE subscriptions SET tags = ?, changed = ? WHERE subscription = ?`

// EditSubscriptionTags changes the tags of a subscription. edit gets a copy of the
// present tags and returns all wanted ones; it runs inside the writing transaction and
// must be pure, and EditSubscriptionTags returns its error unchanged. The subscription's
// state and the locks on it may forbid a change of the kind: ErrSubscriptionNotFound,
// *SubscriptionStateError, *LockedError. etag makes the entity tag of the result for the
// event; nil for none.
func (s *Store) EditSubscriptionTags(
	ctx context.Context, sub string, kind index.WriteKind,
	edit func(map[string]string) (map[string]string, error), etag func(map[string]string) string,
) (map[string]string, error) {
	sub = arm.Fold(sub)
	return commit(ctx, s, engine.Flushed, transaction.SubscriptionLocks(sub), func(t *tx) (map[string]string, error) {
		current, err := t.openSubscription(sub, kind == index.Delete)
		if err != nil {
			return nil, err
		}
		locks, err := engine.Collect(t, scanLock, listLocks, sub, subscriptionScope(sub))
		if err != nil {
			return nil, err
		}
		if err := forbidden(locks, kind, subscriptionScope(sub)); err != nil {
			return nil, err
		}
		tags, err := edit(current.Tags)
		if err != nil {
			return nil, err
		}
		text, err := storedTags(tags)
		if err != nil {
			return nil, err
		}
		t.ChangesScope(sub)
		if err := t.recordSubscriptionTags(sub, kind, entityTag(etag, tags)); err != nil {
			return nil, err
		}
		return tags, t.Later(updateSubscriptionTags, text, engine.Micros(t.Now), sub)
	})
}

// entityTag returns the entity tag of a value, "" if etag is nil.
func entityTag[T any](etag func(T) string, of T) string {
	if etag == nil {
		return ""
	}
	return etag(of)
}

// readTags parses stored tags. It does not parse the common case of none, because every
// request reads a subscription.
func readTags(text, of string) (tags map[string]string, err error) {
	if text == "{}" || text == "null" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, fmt.Errorf("tags of %s: %w", of, err)
	}
	return tags, nil
}
