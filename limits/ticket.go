package limits

import (
	"math"
	"strconv"
	"time"
)

// Ticket is what a request has paid. The zero Ticket has paid nothing: what it does has no
// effect.
type Ticket struct {
	throttle                    *Throttle
	kind                        RequestKind
	paid                        BucketScope // CallerBucket, also for the subscription's part, or TenantBucket
	now                         time.Duration
	cost                        int
	atTenant, within, whole     key
	tenantRate, rate, wholeRate Rate
	left, wholeLeft             int64 // for the client
}

// takeAtTenant takes a token of the caller's bucket at its tenant.
func (t *Ticket) takeAtTenant() *Refusal {
	t.paid, t.cost = TenantBucket, 1
	s := t.throttle.levels.callers.shard(t.atTenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &s.of(t.atTenant).of[t.kind]
	own.refill(t.tenantRate, t.now)
	wait := own.wait(t.tenantRate)
	if wait == 0 {
		own.missing++
	}
	t.left = own.whole(t.tenantRate)
	return t.refusal(TenantBucket, wait)
}

// takeWithin takes a token of the caller's bucket in the subscription, and one of the
// subscription's, or none. Where the caller has no bucket there, it makes one, or takes
// nothing and reports known as false.
func (t *Ticket) takeWithin(exists bool) (known bool, refusal *Refusal) {
	s, w := t.throttle.levels.callers.shard(t.within), t.throttle.levels.subscriptions.shard(t.whole)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !exists && !s.knows(t.within) {
		return false, nil
	}
	w.mu.Lock() // always the second
	defer w.mu.Unlock()
	t.paid, t.cost = CallerBucket, 1
	within := s.of(t.within)
	within.disowned = false
	own, all := &within.of[t.kind], &w.of(t.whole).of[t.kind]
	own.refill(t.rate, t.now)
	all.refill(t.wholeRate, t.now)
	wait, wholeWait := own.wait(t.rate), all.wait(t.wholeRate)
	if wait == 0 && wholeWait == 0 {
		own.missing++
		all.missing++
	}
	t.left, t.wholeLeft = own.whole(t.rate), all.whole(t.wholeRate)
	if wait == 0 && wholeWait > 0 {
		return true, t.refusal(SubscriptionBucket, wholeWait)
	}
	return true, t.refusal(CallerBucket, max(wait, wholeWait))
}

// refusal returns nil for no wait.
func (t *Ticket) refusal(of BucketScope, wait time.Duration) *Refusal {
	if wait == 0 {
		return nil
	}
	t.cost = 0
	seconds := min(max(math.Ceil(wait.Seconds()), 1), MaxThrottleWait.Seconds())
	return &Refusal{of, time.Duration(seconds) * time.Second}
}

// Charge takes n further tokens for a request that costs more than one, whether there are
// so many or not.
func (t *Ticket) Charge(n int) {
	if n <= 0 {
		return
	}
	t.cost += n
	switch t.paid {
	case CallerBucket:
		t.left = t.charge(&t.throttle.levels.callers, t.within, t.rate, n)
		t.wholeLeft = t.charge(&t.throttle.levels.subscriptions, t.whole, t.wholeRate, n)
	case TenantBucket:
		t.left = t.charge(&t.throttle.levels.callers, t.atTenant, t.tenantRate, n)
	case NoBucket, SubscriptionBucket:
	}
}

// ChargeLeft takes n further tokens, or those that are left.
func (t *Ticket) ChargeLeft(n int) { t.Charge(int(min(int64(n), t.left))) }

// charge takes n tokens from one bucket, or gives them back, and returns what is left.
func (t *Ticket) charge(from *table, k key, r Rate, n int) int64 {
	s := from.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.of(k).of[t.kind]
	b.missing += float64(n)
	b.refill(r, t.now)
	return b.whole(r)
}

// Disown charges the caller's bucket at its tenant for what the subscription's has paid, and
// for the next request too: the subscription turned out not to exist for the caller.
func (t *Ticket) Disown() {
	if t.paid == CallerBucket {
		levels := t.throttle.levels
		levels.callers.disown(t.within)
		t.charge(&levels.subscriptions, t.whole, t.wholeRate, -t.cost)
		t.charge(&levels.callers, t.atTenant, t.tenantRate, t.cost)
	}
	t.paid = NoBucket
}

// Setter sets headers by their canonical names, as [net/http.Header] does.
type Setter interface{ Set(name, value string) }

// Names of the headers that say what is left, by kind.
var (
	withinHeaders = [RequestKinds]string{
		"X-Ms-Ratelimit-Remaining-Subscription-Reads", "X-Ms-Ratelimit-Remaining-Subscription-Writes", "X-Ms-Ratelimit-Remaining-Subscription-Deletes",
	}
	wholeHeaders = [RequestKinds]string{
		"X-Ms-Ratelimit-Remaining-Subscription-Global-Reads", "X-Ms-Ratelimit-Remaining-Subscription-Global-Writes",
		"X-Ms-Ratelimit-Remaining-Subscription-Global-Deletes",
	}
	tenantHeaders = [RequestKinds]string{
		"X-Ms-Ratelimit-Remaining-Tenant-Reads", "X-Ms-Ratelimit-Remaining-Tenant-Writes", "X-Ms-Ratelimit-Remaining-Tenant-Deletes",
	}
)

// SetHeaders says how many requests are left to the caller by way of this replica. It
// says nothing about a subscription that does not exist for the caller.
func (t *Ticket) SetHeaders(to Setter) {
	var buffer [48]byte
	switch own := strconv.AppendInt(buffer[:0], t.left, 10); t.paid {
	case CallerBucket:
		both := string(strconv.AppendInt(own, t.wholeLeft, 10)) // one allocation
		to.Set(withinHeaders[t.kind], both[:len(own)])
		to.Set(wholeHeaders[t.kind], both[len(own):])
	case TenantBucket:
		if t.whole == (key{}) {
			to.Set(tenantHeaders[t.kind], string(own))
		}
	case NoBucket, SubscriptionBucket:
	}
}

// Return gives back what the request has paid, as if it had not been sent.
func (t *Ticket) Return() {
	switch t.paid {
	case CallerBucket:
		t.charge(&t.throttle.levels.callers, t.within, t.rate, -t.cost)
		t.charge(&t.throttle.levels.subscriptions, t.whole, t.wholeRate, -t.cost)
	case TenantBucket:
		t.charge(&t.throttle.levels.callers, t.atTenant, t.tenantRate, -t.cost)
	case NoBucket, SubscriptionBucket:
	}
	t.paid = NoBucket
}
