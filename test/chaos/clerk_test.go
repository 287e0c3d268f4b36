package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"portico/test/harness"
)

// Subscriptions of which the providers are told. The clients work in the first,
// which is open for writes all the time; the others become whatever a
// subscription can, and hold nothing.
var subscriptions = []string{
	harness.SubscriptionID, "00000000-0000-0000-0000-00000000c1e1", "00000000-0000-0000-0000-00000000c1e2",
}

// registered is the namespace that subscriptions have to register for; of the
// other one every endpoint is told by itself.
const registered = "contoso.insight"

const (
	// toldBound is how long a clerk waits, amid faults, for the endpoints to know.
	toldBound = 25 * time.Second
	// erasedBound is how long it waits for a subscription to be erased.
	erasedBound = 20 * time.Second
)

// clerk changes one subscription, a few times in quick succession, and then
// waits until nothing is left to be told and judges what the endpoints know.
type clerk struct {
	*client
	id string
	// offer is the last that was given. No two changes give the same, so that a
	// notice tells by it what it is of; answered are those whose change was seen
	// to be made, and so cannot be made any more.
	offer    int64
	answered map[string]bool
	rested   rest
}

func (k *clerk) work(ctx context.Context) {
	for ctx.Err() == nil {
		for range 1 + k.random.IntN(3) {
			k.change(ctx)
			pause(ctx, time.Duration(k.random.Int64N(int64(300*time.Millisecond))))
		}
		if !k.rest(ctx, toldBound) && ctx.Err() == nil {
			k.count.note("notice", "not all told", "within "+toldBound.String())
		}
		pause(ctx, time.Duration(k.random.Int64N(int64(2*time.Second))))
	}
}

// change does one thing of which endpoints have to be told.
func (k *clerk) change(ctx context.Context) {
	free := k.id != subscriptions[0]
	switch n := k.random.IntN(10); {
	case n < 1 && free:
		k.renew(ctx)
	case n < 4 && free:
		k.post(ctx, "/providers/"+registered+"/", "register", "unregister")
	case n < 6:
		k.post(ctx, "/providers/Microsoft.Features/providers/Contoso.Compute/features/bigMachines/", "register", "unregister")
	case free:
		k.put(ctx, []string{"Enabled", "PastDue", "Warned", "Disabled"}[k.random.IntN(4)])
	default:
		k.put(ctx, []string{"Enabled", "PastDue"}[k.random.IntN(2)])
	}
}

// put has the subscription in a state, and tells whether that is so, as far as
// is known.
func (k *clerk) put(ctx context.Context, state string) bool {
	k.offer++
	offer := fmt.Sprintf("offer-%d", k.offer)
	a, err := k.tell(ctx, harness.Request{
		Method: http.MethodPut, Path: "/admin/subscriptions/" + k.id,
		Body: fmt.Sprintf(`{"tenantId":%q,"state":%q,"offerId":%q}`, harness.TenantID, state, offer),
	})
	done := err == nil && (a.Status == http.StatusOK || a.Status == http.StatusCreated)
	// Without an answer it may be made yet, and have what came after it overtaken.
	k.answered[offer] = done || err == nil && a.Status < http.StatusInternalServerError
	return done
}

// post chooses one of two actions, the second half as often.
func (k *clerk) post(ctx context.Context, path, often, seldom string) {
	action := often
	if k.random.IntN(3) == 0 {
		action = seldom
	}
	_, _ = k.tell(ctx, harness.Request{Method: http.MethodPost, Path: "/subscriptions/" + k.id + path + action + groupVersion})
}

// renew deletes the subscription, and makes it anew when nothing is left of it.
func (k *clerk) renew(ctx context.Context) {
	if !k.put(ctx, "Deleted") {
		return
	}
	if k.random.IntN(2) == 0 {
		k.rest(ctx, erasedBound)
	}
	for deadline := k.clock() + erasedBound; ctx.Err() == nil && k.clock() < deadline; {
		if k.put(ctx, "Enabled") {
			k.count.note("notice", "made anew", "200")
			return
		}
		pause(ctx, 500*time.Millisecond)
	}
}

// refusals are those that a clerk may meet with beside the clients'.
var refusals = []string{
	"409 ReadOnlyDisabledSubscription", "404 SubscriptionNotFound",
	"503 Conflict", // the store does not answer
}

// tell makes a call that changes the subscription.
func (k *clerk) tell(ctx context.Context, r harness.Request) (harness.Answer, error) {
	what := strings.ReplaceAll(strings.TrimSuffix(r.Path[strings.LastIndexByte(r.Path, '/')+1:], groupVersion), k.id, "subscription")
	a, err := k.ask(ctx, k.replica(), r)
	if err != nil {
		k.count.note("notice", what, noAnswer)
		pause(ctx, 100*time.Millisecond) // let what is down come back
		return a, err
	}
	k.surprising("notice", a, refusals...)
	k.count.note("notice", what, describe(a))
	return a, nil
}
