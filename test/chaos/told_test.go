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

// standing is what the store says of a subscription.
type standing struct {
	state        inventory.SubscriptionState
	offer        string
	features     string
	version      int64
	registration inventory.RegistrationState // for the namespace that asks for it
	open         int                         // notices, and what comes of them, that have not ended
}

// standings reads them by the ids of the subscriptions.
func (s *site) standings(ctx context.Context) (map[string]standing, error) {
	const text = `SELECT subscription, state, offer, features, version,
			COALESCE((SELECT r.state FROM registrations r WHERE r.subscription = s.subscription AND r.namespace = '` + registered + `'), 0),
			(SELECT COUNT(*) FROM jobs j WHERE j.subscription = s.subscription AND j.kind IN ('notice', 'registration', 'erase') AND j.state < 2)
		FROM subscriptions s`
	all := map[string]standing{}
	err := s.query(ctx, text, func(scan func(...any) error) error {
		var id string
		var of standing
		err := scan(&id, &of.state, &of.offer, &of.features, &of.version, &of.registration, &of.open)
		all[id] = of
		return err
	})
	return all, err
}

// toldStates are the states as providers know them (subscription lifecycle,
// Subscription States).
var toldStates = map[inventory.SubscriptionState]string{
	inventory.Enabled: "Registered", inventory.PastDue: "Registered", inventory.Warned: "Warned", inventory.Disabled: "Suspended", inventory.Deleted: "Deleted",
}

// misfits tells in what that differs which an endpoint was told last for a
// namespace, when it should know all.
func (of standing) misfits(namespace string, told harness.Notice) string {
	state, newest := toldStates[of.state], true
	if namespace == registered && of.state != inventory.Deleted {
		switch of.registration {
		case inventory.NotRegistered: // since it was made anew, maybe
			if told.State == "" || told.State == "Deleted" {
				return ""
			}
			return fmt.Sprintf("it was told %s, where nobody registered", told.State)
		case inventory.Unregistered:
			state, newest = "Unregistered", false // later versions are none of its business
		case inventory.Registered:
		case inventory.Registering, inventory.Unregistering:
			return fmt.Sprintf("it is left %v", of.registration)
		}
	}
	var features []string
	for _, f := range told.Properties.RegisteredFeatures {
		features = append(features, f.Name)
	}
	want := slices.DeleteFunc(strings.Fields(of.features), func(f string) bool { return !strings.HasPrefix(strings.ToLower(f), namespace+"/") })
	switch {
	case told.State != state:
		return fmt.Sprintf("it was told %q, want %q", told.State, state)
	case newest && told.Properties.QuotaID != of.offer:
		return fmt.Sprintf("it was told %q, want %q", told.Properties.QuotaID, of.offer)
	case newest && of.state != inventory.Deleted && !slices.Equal(features, want): // what is erased has none any more
		return fmt.Sprintf("it was told of the features %q, want %q", features, want)
	}
	return ""
}

// notices reads what each endpoint was told of each subscription.
func (s *site) notices(ctx context.Context) ([]map[string]harness.Told, error) {
	var all []map[string]harness.Told
	for _, c := range s.regions {
		told, err := c.TryTold(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, told)
	}
	return all, nil
}

// misled compares what the endpoints were told last of a subscription with what
// is so.
func (s *site) misled(id string, of standing, notices []map[string]harness.Told) []string {
	var all []string
	for i, c := range s.regions {
		told := notices[i][id]
		for _, namespace := range []string{"contoso.compute", registered} {
			if why := of.misfits(namespace, told.Notices[namespace]); why != "" {
				all = append(all, fmt.Sprintf("%s of %s knows another version of %s: %s; the latest it took: %v",
					namespace, c.Region, id, why, told.Journal[max(0, len(told.Journal)-10):]))
			}
		}
	}
	return all
}

// untold lists the notices that are due, and where the newest that was taken is
// not that of the newest version.
func (s *site) untold(ctx context.Context, _ map[string]row) ([]string, error) {
	all, err := s.standings(ctx)
	if err != nil {
		return nil, err
	}
	notices, err := s.notices(ctx)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for id, of := range all {
		if of.open > 0 {
			wrong = append(wrong, fmt.Sprintf("%d notices of %s are due, or what comes of them", of.open, id))
		}
		wrong = append(wrong, s.misled(id, of, notices)...)
	}
	return wrong, nil
}

// rest is a moment at which every endpoint knew the newest version.
type rest struct {
	at    time.Time
	offer string // of the newest version
	last  int64  // of the offers given by then
}

// rest waits until nothing is left to be told of the subscription, judges what
// the endpoints know, and tells whether it came to that. What the store and the
// endpoints say counts if nothing has changed between the first and the last of
// it.
func (k *clerk) rest(ctx context.Context, bound time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, 100*time.Millisecond) {
		before, err := k.site.standings(ctx)
		if err != nil || before[k.id].open > 0 {
			continue
		}
		notices, err := k.site.notices(ctx)
		if err != nil { // a region is down
			continue
		}
		after, err := k.site.standings(ctx)
		if err != nil || before[k.id] != after[k.id] {
			continue
		}
		for _, what := range k.site.misled(k.id, after[k.id], notices) {
			k.count.surprise("nothing is left to be told, but " + what)
		}
		k.regressed(notices)
		k.rested = rest{time.Now(), after[k.id].offer, k.offer}
		k.count.note("notice", "all told", "and judged")
		return true
	}
	return false
}

// regressed finds the notices taken after the last rest that are of a version
// which had been replaced by then: whatever could still arrive of them was to be
// waited for.
func (k *clerk) regressed(notices []map[string]harness.Told) {
	for i, c := range k.site.regions {
		for _, once := range notices[i][k.id].Journal {
			if k.stale(once) {
				k.count.surprise(fmt.Sprintf("%s of %s was told %s %s at %v, after all knew %s",
					once.Namespace, c.Region, once.State, once.QuotaID, once.Time, k.rested.offer))
			}
		}
	}
}

func (k *clerk) stale(once harness.ToldOnce) bool {
	var given int64
	_, err := fmt.Sscanf(once.QuotaID, "offer-%d", &given)
	return err == nil && once.Time.After(k.rested.at) && once.QuotaID != k.rested.offer && given <= k.rested.last && k.answered[once.QuotaID]
}

// lastRests judges what is told of each subscription when all is quiet.
func (r *run) lastRests(t *testing.T) {
	for _, k := range r.clerks {
		if !k.rest(t.Context(), 10*time.Second) {
			t.Errorf("something is left to be told of %s", k.id)
		}
	}
}
