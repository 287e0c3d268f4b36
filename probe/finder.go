package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"portico/arm"
	"portico/internal/timing"
	"portico/inventory"
	"portico/limits"
	"portico/routing"
)

// How often the resources of one subscription are searched for: each search costs a call
// to every region where absence was not seen.
const (
	searchesPerSecond = 50
	searchBurst       = 200
	regionsAtOnce     = 32
)

// Finder searches for tracked resources where their absence was not seen. It is safe for
// concurrent use, and runs one search at a time for a caller and a resource.
type Finder struct {
	prober  Prober
	log     *zap.Logger
	replies lastReplies

	mu       sync.Mutex
	searches map[string]*search // by the caller's share and the resource's key
	// rates holds a limiter for each subscription that is not covered; operators create
	// subscriptions, so there are few.
	rates map[string]*rate.Limiter
}

type search struct {
	done chan struct{}
	err  error
}

// NewFinder returns a finder with the map, client and store of a prober.
func NewFinder(p Prober, log *zap.Logger) *Finder {
	return &Finder{prober: p, log: log, searches: map[string]*search{}, rates: map[string]*rate.Limiter{}}
}

// Find asks the endpoints of sought, and lets the index adopt the resource if one of them
// holds it. Without an error, the index knows whether the resource exists; an error is
// meant for the client. Concurrent calls for one resource and one caller share a search,
// which the first of them runs to its end even if its ctx ends.
func (f *Finder) Find(ctx context.Context, caller Caller, sought routing.SearchedResource) error {
	// A caller that has used up its share must not fail the search of another.
	key := caller.Share + " " + sought.Key
	f.mu.Lock()
	running := f.searches[key]
	first := running == nil
	if first {
		running = &search{done: make(chan struct{})}
		f.searches[key] = running
	}
	f.mu.Unlock()
	if first {
		f.run(ctx, key, running, caller, sought)
		return running.err
	}
	select {
	case <-running.done:
		return running.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Finder) run(ctx context.Context, key string, s *search, caller Caller, sought routing.SearchedResource) {
	s.err = errBrokenOff // replaced at the end
	defer func() {
		f.mu.Lock()
		delete(f.searches, key)
		f.mu.Unlock()
		close(s.done)
	}()
	err := f.throttle(sought)
	if err == nil {
		err = f.search(context.WithoutCancel(ctx), caller, sought)
	}
	s.err = err
}

var errBrokenOff = errors.New("gateway: the search for a resource broke off")

// throttle refuses a search beyond the subscription's rate.
func (f *Finder) throttle(sought routing.SearchedResource) error {
	f.mu.Lock()
	limiter := f.rates[sought.Subscription.ID]
	if limiter == nil {
		limiter = rate.NewLimiter(searchesPerSecond, searchBurst)
		f.rates[sought.Subscription.ID] = limiter
	}
	f.mu.Unlock()
	now := time.Now()
	reservation := limiter.ReserveN(now, 1)
	pause := reservation.DelayFrom(now)
	if pause == 0 {
		return nil
	}
	reservation.CancelAt(now)
	seconds := math.Ceil(pause.Seconds())
	fault := &arm.Error{
		Status: http.StatusTooManyRequests, Code: "SubscriptionRequestsThrottled",
		RetryAfter: time.Duration(seconds) * time.Second,
	}
	return fault.WithMessage("Number of requests for subscription '%s' and operation '%s' exceeded the backend storage limit. Please try again after '%d' seconds.",
		sought.Subscription.ID, "GET/"+strings.ToUpper(sought.Type.FullName), int(seconds))
}

func existenceQuestion(sought routing.SearchedResource) string {
	return fmt.Sprintf("the resource '%s' exists", sought.ID)
}

// searchRounds bounds how often a resource is searched for that was written to or deleted
// while it was being read.
const searchRounds = 2

func (f *Finder) search(ctx context.Context, caller Caller, sought routing.SearchedResource) error {
	for round := range searchRounds {
		// Wait until resources removed before this search count as removed before it: the
		// removal must be older by the slack, and its clock may have been ahead by as
		// much.
		if err := timing.Sleep(ctx, 2*time.Duration(round)*f.prober.Store.ClockSlack()); err != nil {
			return err
		}
		seen, err := f.discoverAll(ctx, caller, sought)
		if err != nil || len(seen) == 0 {
			return err
		}
		again, err := f.adopt(ctx, sought, seen)
		if err != nil || !again {
			return err
		}
	}
	return inconclusive(existenceQuestion(sought), sought.ID, []regionFailure{{
		sought.Endpoints[0].Region, arm.NewError(arm.Conflict),
	}})
}

// discoverAll asks all endpoints at once, within the time of one call. If one of them
// holds the resource, it exists, whatever the others answer. Only if none does, the
// failures count.
func (f *Finder) discoverAll(ctx context.Context, caller Caller, sought routing.SearchedResource) ([]inventory.Discovery, error) {
	ctx, cancel := context.WithTimeout(ctx, f.prober.Timeout)
	defer cancel()
	type result struct {
		seen  *inventory.Discovery
		fault *arm.Error
	}
	results := make([]result, len(sought.Endpoints))
	limits.ForEach(regionsAtOnce, len(results), func(i int) {
		results[i].seen, results[i].fault = f.prober.discover(ctx, caller, sought, sought.Endpoints[i])
		f.replies.record(sought.Endpoints[i], LastReply{f.prober.Store.Now(), results[i].fault == nil})
	})
	var seen []inventory.Discovery
	var failures []regionFailure
	for i, r := range results {
		switch {
		case r.fault != nil:
			failures = append(failures, regionFailure{sought.Endpoints[i].Region, r.fault})
		case r.seen != nil:
			seen = append(seen, *r.seen)
		}
	}
	if len(seen) == 0 && len(failures) > 0 {
		return nil, inconclusive(existenceQuestion(sought), sought.ID, failures)
	}
	return seen, nil
}

// adopt lets the index adopt the resource. If several regions hold the same ID, the first
// in the map's order gets the row, so that replicas which search at the same time agree;
// the others become strays. again reports that the resource changed while it was being
// read.
func (f *Finder) adopt(ctx context.Context, sought routing.SearchedResource, seen []inventory.Discovery) (again bool, err error) {
	found := false
	ctx, cancel := context.WithTimeout(ctx, f.prober.Timeout)
	defer cancel()
	for _, discovery := range seen {
		result, err := f.prober.Store.Adopt(ctx, discovery)
		if err != nil {
			return false, fmt.Errorf("adopt a discovered resource: %w", err)
		}
		switch result {
		case inventory.Adopted, inventory.Known:
			found = true
		case inventory.Strayed:
			found = true
			f.log.Warn("a resource exists in a second region", zap.String("id", discovery.ID), zap.String("region", discovery.Region))
		case inventory.TooYoung:
			again = true
		case inventory.NoGroup:
			return false, arm.NewError(arm.ResourceGroupNotFound, sought.Group.Name).WithTarget("resourceGroupName")
		}
	}
	return again && !found, nil
}
