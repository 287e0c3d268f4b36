package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"portico/test/harness"
)

// The subscriptions that providers are notified of. The clients work in the first,
// which always permits writes; the others are empty and take every state.
var subscriptions = []string{
	harness.SubscriptionID, "00000000-0000-0000-0000-00000000c1e1", "00000000-0000-0000-0000-00000000c1e2",
}

// registered is the namespace that needs a registration. Endpoints of the other
// namespace are notified of every subscription.
const registered = "contoso.insight"

const (
	// notifyBound is how long a client waits, amid faults, until all are notified.
	notifyBound = 25 * time.Second
	// erasedBound is how long it waits for a subscription to be erased.
	erasedBound = 20 * time.Second
)

// subscriptionClient changes one subscription a few times in quick succession,
// waits until all endpoints are notified, and checks what they know.
type subscriptionClient struct {
	*client
	id string
	// offer is the number of the last offer. Each change has its own, which shows
	// the change that a notification belongs to. answered holds the offers whose
	// change was answered, so it cannot be made later.
	offer       int64
	answered    map[string]bool
	lastSettled settledState
}

func (s *subscriptionClient) work(ctx context.Context) {
	for ctx.Err() == nil {
		for range 1 + s.random.IntN(3) {
			s.change(ctx)
			pause(ctx, time.Duration(s.random.Int64N(int64(300*time.Millisecond))))
		}
		if !s.awaitSettled(ctx, notifyBound) && ctx.Err() == nil {
			s.count.note("notice", "not all told", "within "+notifyBound.String())
		}
		pause(ctx, time.Duration(s.random.Int64N(int64(2*time.Second))))
	}
}

// change makes one change that endpoints must be notified of.
func (s *subscriptionClient) change(ctx context.Context) {
	free := s.id != subscriptions[0]
	switch n := s.random.IntN(10); {
	case n < 1 && free:
		s.renew(ctx)
	case n < 4 && free:
		s.post(ctx, "/providers/"+registered+"/", "register", "unregister")
	case n < 6:
		s.post(ctx, "/providers/Microsoft.Features/providers/Contoso.Compute/features/bigMachines/", "register", "unregister")
	case free:
		s.put(ctx, []string{"Enabled", "PastDue", "Warned", "Disabled"}[s.random.IntN(4)])
	default:
		s.put(ctx, []string{"Enabled", "PastDue"}[s.random.IntN(2)])
	}
}

// put sets the subscription's state and reports whether that is known to have
// succeeded.
func (s *subscriptionClient) put(ctx context.Context, state string) bool {
	s.offer++
	offer := fmt.Sprintf("offer-%d", s.offer)
	a, err := s.send(ctx, harness.Request{
		Method: http.MethodPut, Path: "/admin/subscriptions/" + s.id,
		Body: fmt.Sprintf(`{"tenantId":%q,"state":%q,"offerId":%q}`, harness.TenantID, state, offer),
	})
	done := err == nil && (a.Status == http.StatusOK || a.Status == http.StatusCreated)
	// A change without an answer may still be made, after later ones.
	s.answered[offer] = done || err == nil && a.Status < http.StatusInternalServerError
	return done
}

// post sends one of two actions, the second half as often as the first.
func (s *subscriptionClient) post(ctx context.Context, path, often, seldom string) {
	action := often
	if s.random.IntN(3) == 0 {
		action = seldom
	}
	_, _ = s.send(ctx, harness.Request{Method: http.MethodPost, Path: "/subscriptions/" + s.id + path + action + groupVersion})
}

// renew deletes the subscription and recreates it once nothing is left of it.
func (s *subscriptionClient) renew(ctx context.Context) {
	if !s.put(ctx, "Deleted") {
		return
	}
	if s.random.IntN(2) == 0 {
		s.awaitSettled(ctx, erasedBound)
	}
	for deadline := s.clock() + erasedBound; ctx.Err() == nil && s.clock() < deadline; {
		if s.put(ctx, "Enabled") {
			s.count.note("notice", "made anew", "200")
			return
		}
		pause(ctx, 500*time.Millisecond)
	}
}

// refusals are the refusals that only changes of a subscription may get.
var refusals = []string{
	"409 ReadOnlyDisabledSubscription", "404 SubscriptionNotFound",
	"503 Conflict", // the store does not answer
}

// send makes a call that changes the subscription.
func (s *subscriptionClient) send(ctx context.Context, r harness.Request) (harness.Answer, error) {
	what := strings.ReplaceAll(strings.TrimSuffix(r.Path[strings.LastIndexByte(r.Path, '/')+1:], groupVersion), s.id, "subscription")
	a, err := s.ask(ctx, s.replica(), r)
	if err != nil {
		s.count.note("notice", what, noAnswer)
		pause(ctx, 100*time.Millisecond) // let what is down come back
		return a, err
	}
	s.surprising("notice", a, refusals...)
	s.count.note("notice", what, describe(a))
	return a, nil
}
