package sweep_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs/jobstest"
	"portico/jobs/sweep"
	"portico/probe"
	"portico/regions"
)

// heard is what searches last heard, by region, while a sweeper reads it.
type heard struct{ sync.Map }

func (h *heard) LastReply(e *regions.Endpoint) probe.LastReply {
	last, _ := h.Load(e.Region)
	said, _ := last.(probe.LastReply)
	return said
}

// shown are the subscriptions with their regions: those that do not answer in capitals.
func (s *site) shown() string {
	s.T.Helper()
	found, err := s.sweeper.Uncovered(s.T.Context(), "", 10)
	s.ok(err)
	var all []string
	for _, u := range found {
		for _, r := range u.Regions {
			name := r.Region
			if len(r.Unreachable) > 0 {
				name = strings.ToUpper(name)
			}
			all = append(all, fmt.Sprintf("%s:%s:%d", u.Subscription.ID[35:], name, r.Lists))
		}
	}
	return strings.Join(all, " ")
}

func (s *site) wantShown(want string) {
	s.T.Helper()
	if got := s.shown(); got != want {
		s.T.Errorf("%q, want %q", got, want)
	}
}

// The latest that is known of a region decides whether it holds up what is created: a try
// to list it, a search, a list that was read. What is covered meanwhile, by whatever
// sweep, counts at once.
func TestUncoveredRegionsAndWhatTheySayLast(t *testing.T) {
	s := newSite(t)
	searches := &heard{}
	s.sweeper.Searches = searches
	s.wantShown("1:eastus:2 1:westus:2 2:eastus:2 2:westus:2")
	searches.Store("eastus", probe.LastReply{At: s.Store.Now(), Answered: false})
	s.wantShown("1:EASTUS:2 1:westus:2 2:EASTUS:2 2:westus:2")

	s.east.fail(always(http.StatusServiceUnavailable))
	s.work()
	job := s.order(sweep.Order{Subscription: jobstest.Subscription, Uncovered: true})
	s.Within("a try", func() bool { _, r := s.state(job); return r.Ended != nil && len(r.Unlisted) > 0 })
	s.Within("what the other could be listed of", func() bool { return s.shown() == "1:EASTUS:2 2:EASTUS:2" })
	searches.Store("eastus", probe.LastReply{At: s.Store.Now().Add(time.Hour), Answered: true})
	s.wantShown("1:eastus:2 2:eastus:2")
	searches.Delete("eastus")
	found, err := s.sweeper.UncoveredIn(t.Context(), jobstest.Subscription)
	s.ok(err)
	if r := found.Regions[0]; !slices.Equal(r.Unreachable, []string{jobstest.Machines}) || !strings.Contains(r.Reason, "503") || found.Job.ID != job.ID || found.Restored || !found.Since.Equal(found.Subscription.Created) {
		t.Errorf("%+v", found)
	}
	s.measure()
	for name, want := range map[string]float64{"portico_index_creations_held_subscriptions": 2, "portico_index_unlisted_subscriptions": 2} {
		if s.gauge(name, "eastus") != want || s.gauge(name, "westus") != 0 {
			t.Errorf("%s: %v in eastus, %v in westus", name, s.gauge(name, "eastus"), s.gauge(name, "westus"))
		}
	}

	// Its progress is no end, and it says what it waits for.
	s.work()
	s.Within("a pause", func() bool {
		now, err := s.Store.Jobs.Get(t.Context(), job.Subscription, job.ID)
		s.ok(err)
		shown := s.sweeper.Describe().Progress(now)
		return now.Owner == "" && shown.Done == 2 && shown.Of == 4 && slices.Equal(shown.WaitingFor, []string{"eastus"}) && strings.Contains(shown.Outcome, "503")
	})

	// Another sweep lists it.
	s.east.fail(nil)
	s.sweep(everything)
	s.wantShown("")
	s.measure()
	if n := s.gauge("portico_index_creations_held_subscriptions", "eastus") + s.gauge("portico_index_unlisted_subscriptions", "eastus"); n != 0 {
		t.Errorf("the metrics still count %v", n)
	}
}

// A region that answers, and whose list cannot be read, is asked and holds nothing up.
func TestUncoveredRegionWhoseListIsOdd(t *testing.T) {
	s := newSite(t)
	s.east.hold(vm("a"), vm("b"), vm("c"))
	s.east.foreign = true
	s.work()
	job := s.order(sweep.Order{Subscription: jobstest.Subscription, Uncovered: true})
	s.Within("a try", func() bool { _, r := s.state(job); return r.Ended != nil && len(r.Unlisted) > 0 })
	s.Within("what the other region was listed of", func() bool { return strings.HasPrefix(s.shown(), "1:eastus:2") })
}

// What lies in an unknown group keeps a region uncovered, and its sweep goes on until the
// group is there.
func TestUncoveredBecauseOfAnUnknownGroup(t *testing.T) {
	s := newSite(t)
	s.west.hold(machineID(jobstest.Subscription, "later", "v"))
	s.work()
	job := s.order(sweep.Order{Subscription: jobstest.Subscription, Uncovered: true})
	s.Within("a try", func() bool { _, r := s.state(job); return r.Ended != nil })
	s.Within("the reason", func() bool {
		found, err := s.sweeper.UncoveredIn(t.Context(), jobstest.Subscription)
		s.ok(err)
		return len(found.Regions) == 1 && found.Regions[0].Region == "westus" && len(found.Regions[0].Unreachable) == 0 && strings.Contains(found.Regions[0].Reason, "groups that do not exist")
	})
	if state, _ := s.state(job); state.Ended() {
		t.Errorf("its sweep has ended as %s", state)
	}
	s.group(jobstest.Subscription, "later")
	s.ends(job, jobrow.Done)
	if found, err := s.sweeper.UncoveredIn(t.Context(), jobstest.Subscription); err != nil || len(found.Regions) != 0 {
		t.Errorf("%+v %v", found, err)
	}
}

// In a subscription that takes no writes nothing is held up, though it is not covered.
func TestUncoveredSubscriptionThatTakesNoWrites(t *testing.T) {
	s := newSite(t)
	searches := &heard{}
	s.sweeper.Searches = searches
	searches.Store("eastus", probe.LastReply{At: s.Store.Now().Add(time.Hour)})
	_, _, err := s.Store.PutSubscription(t.Context(), inventory.Subscription{ID: secondSub, TenantID: "t", State: inventory.Disabled})
	s.ok(err)
	s.wantShown("1:EASTUS:2 1:westus:2 2:eastus:2 2:westus:2")
}
