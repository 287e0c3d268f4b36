package gateway

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
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/limits"
	"portico/routing"
)

// How often the resources of one subscription are looked for: each search costs
// a call to every region where absence was not seen.
const (
	searchesPerSecond = 50
	searchBurst       = 200
	regionsAtOnce     = 32
)

// finder looks for tracked resources where their absence was not seen, for all
// requests of this process. For one caller a resource is looked for once at a time.
type finder struct {
	gateway *Gateway

	mu       sync.Mutex
	searches map[string]*search // by caller and the resource's key
	// rates are those of the subscriptions that are not covered: as many as the
	// operator made.
	rates map[string]*rate.Limiter
}

// search is one search under way.
type search struct {
	key  string
	done chan struct{}
	err  error
}

func newFinder(g *Gateway) *finder {
	return &finder{gateway: g, searches: map[string]*search{}, rates: map[string]*rate.Limiter{}}
}

// Find is as routing.Finder has it. Who asks for a resource that is being
// looked for shares the result; the first one sees the search to its end even
// when its client has gone.
func (f *finder) Find(ctx context.Context, sought routing.Sought) error {
	// What a caller has used up of its share is not to fail the search of another.
	key := exchange.FromContext(ctx).Caller() + " " + sought.Key
	f.mu.Lock()
	under := f.searches[key]
	first := under == nil
	if first {
		under = &search{key: key, done: make(chan struct{})}
		f.searches[key] = under
	}
	f.mu.Unlock()
	if first {
		f.run(ctx, under, sought)
		return under.err
	}
	select {
	case <-under.done:
		return under.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *finder) run(ctx context.Context, s *search, sought routing.Sought) {
	s.err = errBrokenOff // unless this gets to its end
	defer func() {
		f.mu.Lock()
		delete(f.searches, s.key)
		f.mu.Unlock()
		close(s.done)
	}()
	err := f.throttle(sought)
	if err == nil {
		err = f.search(context.WithoutCancel(ctx), sought)
	}
	s.err = err
}

var errBrokenOff = errors.New("gateway: the search for a resource broke off")

// throttle refuses a search beyond the subscription's rate.
func (f *finder) throttle(sought routing.Sought) error {
	f.mu.Lock()
	limiter := f.rates[sought.Subscription.ID]
	if limiter == nil {
		limiter = rate.NewLimiter(searchesPerSecond, searchBurst)
		f.rates[sought.Subscription.ID] = limiter
	}
	f.mu.Unlock()
	now := time.Now()
	turn := limiter.ReserveN(now, 1)
	pause := turn.DelayFrom(now)
	if pause == 0 {
		return nil
	}
	turn.CancelAt(now)
	seconds := math.Ceil(pause.Seconds())
	fault := &arm.Error{
		Status: http.StatusTooManyRequests, Code: "SubscriptionRequestsThrottled",
		RetryAfter: time.Duration(seconds) * time.Second,
	}
	return fault.Saying("Number of requests for subscription '%s' and operation '%s' exceeded the backend storage limit. Please try again after '%d' seconds.",
		sought.Subscription.ID, "GET/"+strings.ToUpper(sought.Type.FullName), int(seconds))
}

func existence(sought routing.Sought) string {
	return fmt.Sprintf("the resource '%s' exists", sought.ID)
}

// searchRounds is how often a resource is looked for that was being written to,
// or was deleted, while it was seen.
const searchRounds = 2

func (f *finder) search(ctx context.Context, sought routing.Sought) error {
	for range searchRounds {
		seen, err := f.ask(ctx, sought)
		if err != nil || len(seen) == 0 {
			return err
		}
		again, err := f.adopt(ctx, sought, seen)
		if err != nil || !again {
			return err
		}
	}
	return unsaid(existence(sought), sought.ID, []silence{{
		sought.Endpoints[0].Region, arm.NewError(arm.Conflict).WithStatus(http.StatusServiceUnavailable),
	}})
}

// ask asks all endpoints at once, within the time of one question. What one of
// them holds is there, whatever the others say. Only where none says so do
// those count that said nothing.
func (f *finder) ask(ctx context.Context, sought routing.Sought) ([]inventory.Sighting, error) {
	ctx, cancel := context.WithTimeout(ctx, f.gateway.config.Index.AskTimeout)
	defer cancel()
	x := exchange.FromContext(ctx)
	type word struct {
		seen  *inventory.Sighting
		fault *arm.Error
	}
	words := make([]word, len(sought.Endpoints))
	limits.ForEach(regionsAtOnce, len(words), func(i int) {
		words[i].seen, words[i].fault = f.gateway.sight(ctx, x, sought, sought.Endpoints[i])
	})
	var seen []inventory.Sighting
	var silent []silence
	for i, w := range words {
		switch {
		case w.fault != nil:
			silent = append(silent, silence{sought.Endpoints[i].Region, w.fault})
		case w.seen != nil:
			seen = append(seen, *w.seen)
		}
	}
	if len(seen) == 0 && len(silent) > 0 {
		return nil, unsaid(existence(sought), sought.ID, silent)
	}
	return seen, nil
}

// adopt has the index take the resource over. Where several regions hold the
// same ID the first in the map's order gets the row, so that replicas which look
// at the same time agree, whatever they were asked; the others become strays.
func (f *finder) adopt(ctx context.Context, sought routing.Sought, seen []inventory.Sighting) (again bool, err error) {
	found := false
	ctx, cancel := context.WithTimeout(ctx, f.gateway.config.Index.AskTimeout)
	defer cancel()
	for _, sighting := range seen {
		result, err := f.gateway.store.Adopt(ctx, sighting)
		if err != nil {
			return false, err
		}
		switch result {
		case inventory.Adopted, inventory.Known:
			found = true
		case inventory.Strayed:
			found = true
			f.gateway.log.Warn("a resource lies in a second region", zap.String("id", sighting.ID), zap.String("region", sighting.Region))
		case inventory.TooYoung:
			again = true
		case inventory.NoGroup:
			return false, arm.NewError(arm.ResourceGroupNotFound, sought.Group.Name).About("resourceGroupName")
		}
	}
	return again && !found, nil
}
