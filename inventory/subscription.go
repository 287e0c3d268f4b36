package inventory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"portico/arm"
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

func (s SubscriptionState) String() string { return nameOf(subscriptionStates[:], int(s)) }

// ParseSubscriptionState reads a state in any casing; its error lists the legal
// values.
func ParseSubscriptionState(text string) (SubscriptionState, error) {
	for i, name := range subscriptionStates {
		if strings.EqualFold(name, text) {
			return SubscriptionState(i), nil
		}
	}
	return 0, fmt.Errorf("%q is no subscription state: want one of %s", text, strings.Join(subscriptionStates[:], ", "))
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}

// Subscription is the billing and isolation scope that every group is in.
type Subscription struct {
	ID          string // folded
	TenantID    string
	DisplayName string
	State       SubscriptionState
	// Covered means that Portico knows all that the subscription holds. It is
	// told when the subscription is created and then only learnt.
	Covered          bool
	Tags             map[string]string // changed by EditSubscriptionTags alone
	Created, Changed time.Time
}

const (
	subscriptionColumns = `subscription, tenant, display_name, state, covered, created, changed`

	insertSubscription = `INSERT INTO subscriptions (` + subscriptionColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscription) DO NOTHING`
	updateSubscription = `UPDATE subscriptions SET tenant = ?, display_name = ?, state = ?, changed = ? WHERE subscription = ?`
	selectSubscription = `SELECT ` + subscriptionColumns + `, tags FROM subscriptions WHERE subscription = ?`
	listSubscriptions  = `SELECT ` + subscriptionColumns + `, tags FROM subscriptions
		WHERE subscription > ? ORDER BY subscription LIMIT ?`
	listTenantSubscriptions = `SELECT ` + subscriptionColumns + `, tags FROM subscriptions
		WHERE tenant = ? AND subscription > ? ORDER BY subscription LIMIT ?`
)

func scanSubscription(scan scanner) (Subscription, error) {
	var (
		s                Subscription
		created, changed int64
		tags             string
	)
	err := scan(&s.ID, &s.TenantID, &s.DisplayName, &s.State, &s.Covered, &created, &changed, &tags)
	if err != nil {
		return s, err
	}
	s.Created, s.Changed = moment(created), moment(changed)
	s.Tags, err = readTags(tags, s.ID)
	return s, err
}

func (s Subscription) insert(t *tx) (created bool, err error) {
	n, err := t.exec(insertSubscription, arm.Fold(s.ID), arm.Fold(s.TenantID), s.DisplayName, s.State, flag(s.Covered),
		micros(t.now), micros(t.now))
	return n == 1, err
}

// SeedSubscriptions creates those that are absent and leaves the others as
// they are: the configuration names a beginning, not the present.
func (s *Store) SeedSubscriptions(ctx context.Context, seeds []Subscription) error {
	return s.writer.do(ctx, flushed, subject{}, func(t *tx) error {
		for _, seed := range seeds {
			if _, err := seed.insert(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// PutSubscription creates a subscription or replaces its tenant, display name
// and state. Covered counts at creation only.
func (s *Store) PutSubscription(ctx context.Context, p Subscription) (stored Subscription, created bool, err error) {
	result, err := commit(ctx, s, flushed, aboutSubscription(p.ID), func(t *tx) (put[Subscription], error) {
		created, err := p.insert(t)
		if err == nil && !created {
			_, err = t.exec(updateSubscription, arm.Fold(p.TenantID), p.DisplayName, p.State, micros(t.now), arm.Fold(p.ID))
		}
		if err != nil {
			return put[Subscription]{}, err
		}
		stored, err := loadSubscription(t, p.ID)
		return put[Subscription]{stored, created}, err
	})
	return result.stored, result.created, err
}

// Subscription returns one subscription, or ErrNotFound.
func (s *Store) Subscription(ctx context.Context, id string) (Subscription, error) {
	return loadSubscription(s.read(ctx), id)
}

func loadSubscription(from source, id string) (Subscription, error) {
	found, err := scanSubscription(from.one(selectSubscription, arm.Fold(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return Subscription{}, ErrNotFound
	}
	return found, err
}

// Subscriptions lists the subscriptions of a tenant, or of all when tenant is
// empty, whose IDs follow after, in the order of their IDs; a limit of 0 means
// all.
func (s *Store) Subscriptions(ctx context.Context, tenant, after string, limit int) ([]Subscription, error) {
	after = arm.Fold(after)
	if tenant == "" {
		return collect(s.read(ctx), scanSubscription, listSubscriptions, after, atMost(limit))
	}
	return collect(s.read(ctx), scanSubscription, listTenantSubscriptions, arm.Fold(tenant), after, atMost(limit))
}

// atMost is the LIMIT for a caller's limit, where 0 means none.
func atMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}
