package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/test/harness"
)

// subscriptionRow is what the store holds of a subscription.
type subscriptionRow struct {
	state        inventory.SubscriptionState
	offer        string
	features     string
	version      int64
	registration inventory.RegistrationState // for the namespace that needs one
	open         int                         // unfinished jobs: notifications and what they cause
}

// subscriptionRows reads the rows of all subscriptions, by id.
func (s *site) subscriptionRows(ctx context.Context) (map[string]subscriptionRow, error) {
	// What was unregistered and never registered counts as never registered: no one is told.
	text := fmt.Sprintf(`SELECT subscription, state, offer, features, version,
			COALESCE((SELECT CASE WHEN r.state = %d AND r.registered = 0 THEN 0 ELSE r.state END FROM registrations r WHERE r.subscription = s.subscription AND r.namespace = '`+registered+`'), 0),
			(SELECT COUNT(*) FROM jobs j WHERE j.subscription = s.subscription AND j.kind IN ('notice', 'registration', 'erase') AND j.state < 2)
		FROM subscriptions s`, inventory.Unregistered)
	all := map[string]subscriptionRow{}
	err := s.query(ctx, text, func(scan func(...any) error) error {
		var id string
		var of subscriptionRow
		err := scan(&id, &of.state, &of.offer, &of.features, &of.version, &of.registration, &of.open)
		all[id] = of
		return err
	})
	return all, err
}

// providerStates are the states as providers are notified of them (subscription
// lifecycle, Subscription States).
var providerStates = map[inventory.SubscriptionState]string{
	inventory.Enabled: "Registered", inventory.PastDue: "Registered", inventory.Warned: "Warned", inventory.Disabled: "Suspended", inventory.Deleted: "Deleted",
}

// mismatch describes how the last notification of an endpoint for a namespace
// differs from the row; "" if it does not.
func (of subscriptionRow) mismatch(namespace string, notifications harness.Notification) string {
	state, newest := providerStates[of.state], true
	if namespace == registered && of.state != inventory.Deleted {
		switch of.registration {
		case inventory.NotRegistered: // perhaps only since the subscription was recreated
			if notifications.State == "" || notifications.State == "Deleted" {
				return ""
			}
			return fmt.Sprintf("it was told %s, where no one registered", notifications.State)
		case inventory.Unregistered:
			state, newest = "Unregistered", false // it is not notified of later versions
		case inventory.Registered:
		case inventory.Registering, inventory.Unregistering:
			return fmt.Sprintf("it is left %v", of.registration)
		}
	}
	var features []string
	for _, f := range notifications.Properties.RegisteredFeatures {
		features = append(features, f.Name)
	}
	want := slices.DeleteFunc(strings.Fields(of.features), func(f string) bool { return !strings.HasPrefix(strings.ToLower(f), namespace+"/") })
	switch {
	case notifications.State != state:
		return fmt.Sprintf("it was told %q, want %q", notifications.State, state)
	case newest && notifications.Properties.QuotaID != of.offer:
		return fmt.Sprintf("it was told %q, want %q", notifications.Properties.QuotaID, of.offer)
	case newest && of.state != inventory.Deleted && !slices.Equal(features, want): // an erased subscription has no features
		return fmt.Sprintf("it was told of the features %q, want %q", features, want)
	}
	return ""
}

// notifications reads the notifications that each endpoint took, by subscription.
func (s *site) notifications(ctx context.Context) ([]map[string]harness.Notifications, error) {
	var all []map[string]harness.Notifications
	for _, c := range s.regions {
		received, err := c.TryNotifications(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, received)
	}
	return all, nil
}

// mismatches describes the endpoints whose last notification of a subscription
// differs from its row.
func (s *site) mismatches(id string, of subscriptionRow, notices []map[string]harness.Notifications) []string {
	var all []string
	for i, c := range s.regions {
		notifications := notices[i][id]
		for _, namespace := range []string{"contoso.compute", registered} {
			if why := of.mismatch(namespace, notifications.Notices[namespace]); why != "" {
				all = append(all, fmt.Sprintf("%s of %s knows another version of %s: %s; the latest it took: %v",
					namespace, c.Region, id, why, notifications.Journal[max(0, len(notifications.Journal)-10):]))
			}
		}
	}
	return all
}

// dueNotifications lists the notifications that are still due and the endpoints
// whose last one is not of the newest version.
func (s *site) dueNotifications(ctx context.Context, _ map[string]row) ([]string, error) {
	all, err := s.subscriptionRows(ctx)
	if err != nil {
		return nil, err
	}
	notices, err := s.notifications(ctx)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for id, of := range all {
		if of.open > 0 {
			wrong = append(wrong, fmt.Sprintf("%d notices of %s are due, or what comes of them", of.open, id))
		}
		wrong = append(wrong, s.mismatches(id, of, notices)...)
	}
	return wrong, nil
}

// settledState is a moment at which every endpoint knew the newest version.
type settledState struct {
	at    time.Time
	offer string // of the newest version
	last  int64  // of the offers given by then
}

// awaitSettled waits until no notification of the subscription is due and checks
// what the endpoints know. It reports whether that came within the bound. The
// endpoints are compared with the row only if the row is the same before and after
// they are read.
func (s *subscriptionClient) awaitSettled(ctx context.Context, bound time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		before, err := s.site.subscriptionRows(ctx)
		if err != nil || before[s.id].open > 0 {
			continue
		}
		notices, err := s.site.notifications(ctx)
		if err != nil { // a region is down
			continue
		}
		after, err := s.site.subscriptionRows(ctx)
		if err != nil || before[s.id] != after[s.id] {
			continue
		}
		for _, what := range s.site.mismatches(s.id, after[s.id], notices) {
			s.count.surprise("nothing is left to be told, but " + what)
		}
		s.findStale(notices)
		s.lastSettled = settledState{time.Now(), after[s.id].offer, s.offer}
		s.count.note("notice", "all told", "and judged")
		return true
	}
	return false
}

// findStale finds notifications that arrived after the last settled state but are
// of an older version: the gateway must not settle while one can still arrive.
func (s *subscriptionClient) findStale(notices []map[string]harness.Notifications) {
	for i, c := range s.site.regions {
		for _, once := range notices[i][s.id].Journal {
			if s.isStale(once) {
				s.count.surprise(fmt.Sprintf("%s of %s was told %s %s at %v, after all knew %s",
					once.Namespace, c.Region, once.State, once.QuotaID, once.Time, s.lastSettled.offer))
			}
		}
	}
}

func (s *subscriptionClient) isStale(once harness.NotificationEntry) bool {
	var given int64
	_, err := fmt.Sscanf(once.QuotaID, "offer-%d", &given)
	return err == nil && once.Time.After(s.lastSettled.at) && once.QuotaID != s.lastSettled.offer && given <= s.lastSettled.last && s.answered[once.QuotaID]
}

// settleSubscriptions checks the notifications of each subscription at the end.
func (r *run) settleSubscriptions(t *testing.T) {
	for _, s := range r.subscriptionClients {
		if !s.awaitSettled(t.Context(), 10*time.Second) {
			t.Errorf("something is left to be told of %s", s.id)
		}
	}
}
