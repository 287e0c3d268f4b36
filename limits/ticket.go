package limits

import (
	"math"
	"strconv"
	"time"
)

// Ticket records what a request has paid. The methods of the zero Ticket have no effect.
type Ticket struct {
	throttle                                 *Throttle
	kind                                     RequestKind
	paid                                     BucketScope // CallerBucket, which includes the subscription's bucket, or TenantBucket
	now                                      time.Duration
	cost                                     int
	tenantKey, callerKey, subscriptionKey    key
	tenantRate, callerRate, subscriptionRate Rate
	callerLeft, subscriptionLeft             int64 // tokens, as shown to the client
}

// takeAtTenant takes a token from the caller's bucket at its tenant.
func (t *Ticket) takeAtTenant() *Refusal {
	t.paid, t.cost = TenantBucket, 1
	s := t.throttle.levels.callers.shard(t.tenantKey)
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &s.bucketsOf(t.tenantKey).byKind[t.kind]
	own.refill(t.tenantRate, t.now)
	wait := own.timeToToken(t.tenantRate)
	if wait == 0 {
		own.missing++
	}
	t.callerLeft = own.wholeTokens(t.tenantRate)
	return t.newRefusal(TenantBucket, wait)
}

// takeInSubscription takes a token from the caller's bucket in the subscription and one from the
// subscription's, or none. If the caller has no bucket there, it creates one if exists is set, and
// otherwise returns known=false.
func (t *Ticket) takeInSubscription(exists bool) (known bool, refusal *Refusal) {
	s, w := t.throttle.levels.callers.shard(t.callerKey), t.throttle.levels.subscriptions.shard(t.subscriptionKey)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !exists && !s.hasBuckets(t.callerKey) {
		return false, nil
	}
	w.mu.Lock() // always after s.mu
	defer w.mu.Unlock()
	t.paid, t.cost = CallerBucket, 1
	within := s.bucketsOf(t.callerKey)
	within.disowned = false
	own, all := &within.byKind[t.kind], &w.bucketsOf(t.subscriptionKey).byKind[t.kind]
	own.refill(t.callerRate, t.now)
	all.refill(t.subscriptionRate, t.now)
	wait, subscriptionWait := own.timeToToken(t.callerRate), all.timeToToken(t.subscriptionRate)
	if wait == 0 && subscriptionWait == 0 {
		own.missing++
		all.missing++
	}
	t.callerLeft, t.subscriptionLeft = own.wholeTokens(t.callerRate), all.wholeTokens(t.subscriptionRate)
	if wait == 0 && subscriptionWait > 0 {
		return true, t.newRefusal(SubscriptionBucket, subscriptionWait)
	}
	return true, t.newRefusal(CallerBucket, max(wait, subscriptionWait))
}

// newRefusal returns nil if there is no wait.
func (t *Ticket) newRefusal(of BucketScope, wait time.Duration) *Refusal {
	if wait == 0 {
		return nil
	}
	t.cost = 0
	seconds := min(max(math.Ceil(wait.Seconds()), 1), MaxThrottleWait.Seconds())
	return &Refusal{of, time.Duration(seconds) * time.Second}
}

// Charge takes n more tokens for a request that costs more than one, even if there are fewer.
func (t *Ticket) Charge(n int) {
	if n <= 0 {
		return
	}
	t.cost += n
	switch t.paid {
	case CallerBucket:
		t.callerLeft = t.charge(&t.throttle.levels.callers, t.callerKey, t.callerRate, n)
		t.subscriptionLeft = t.charge(&t.throttle.levels.subscriptions, t.subscriptionKey, t.subscriptionRate, n)
	case TenantBucket:
		t.callerLeft = t.charge(&t.throttle.levels.callers, t.tenantKey, t.tenantRate, n)
	case NoBucket, SubscriptionBucket:
	}
}

// ChargeLeft takes n more tokens, or as many as the caller has left.
func (t *Ticket) ChargeLeft(n int) { t.Charge(int(min(int64(n), t.callerLeft))) }

// charge takes n tokens from a bucket and returns the number left. If n is negative, it returns
// tokens to the bucket.
func (t *Ticket) charge(from *table, k key, r Rate, n int) int64 {
	s := from.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.bucketsOf(k).byKind[t.kind]
	b.missing += float64(n)
	b.refill(r, t.now)
	return b.wholeTokens(r)
}

// Disown moves the charge from the subscription's bucket to the caller's bucket at its tenant,
// because the subscription turned out not to exist for the caller. The next request pays there too.
func (t *Ticket) Disown() {
	if t.paid == CallerBucket {
		levels := t.throttle.levels
		levels.callers.disown(t.callerKey)
		t.charge(&levels.subscriptions, t.subscriptionKey, t.subscriptionRate, -t.cost)
		t.charge(&levels.callers, t.tenantKey, t.tenantRate, t.cost)
	}
	t.paid = NoBucket
}

// Setter sets headers by their canonical names, as [net/http.Header] does.
type Setter interface{ Set(name, value string) }

// Headers with the number of remaining requests, by kind.
var (
	callerHeaders = [RequestKinds]string{
		"X-Ms-Ratelimit-Remaining-Subscription-Reads", "X-Ms-Ratelimit-Remaining-Subscription-Writes", "X-Ms-Ratelimit-Remaining-Subscription-Deletes",
	}
	subscriptionHeaders = [RequestKinds]string{
		"X-Ms-Ratelimit-Remaining-Subscription-Global-Reads", "X-Ms-Ratelimit-Remaining-Subscription-Global-Writes",
		"X-Ms-Ratelimit-Remaining-Subscription-Global-Deletes",
	}
	tenantHeaders = [RequestKinds]string{
		"X-Ms-Ratelimit-Remaining-Tenant-Reads", "X-Ms-Ratelimit-Remaining-Tenant-Writes", "X-Ms-Ratelimit-Remaining-Tenant-Deletes",
	}
)

// SetHeaders sets the number of requests that the caller has left on this replica. It sets nothing
// about a subscription that does not exist for the caller.
func (t *Ticket) SetHeaders(to Setter) {
	var buffer [48]byte
	switch own := strconv.AppendInt(buffer[:0], t.callerLeft, 10); t.paid {
	case CallerBucket:
		both := string(strconv.AppendInt(own, t.subscriptionLeft, 10)) // one allocation
		to.Set(callerHeaders[t.kind], both[:len(own)])
		to.Set(subscriptionHeaders[t.kind], both[len(own):])
	case TenantBucket:
		if t.subscriptionKey == (key{}) {
			to.Set(tenantHeaders[t.kind], string(own))
		}
	case NoBucket, SubscriptionBucket:
	}
}

// Return gives back what the request has paid, as if it had not been sent.
func (t *Ticket) Return() {
	switch t.paid {
	case CallerBucket:
		t.charge(&t.throttle.levels.callers, t.callerKey, t.callerRate, -t.cost)
		t.charge(&t.throttle.levels.subscriptions, t.subscriptionKey, t.subscriptionRate, -t.cost)
	case TenantBucket:
		t.charge(&t.throttle.levels.callers, t.tenantKey, t.tenantRate, -t.cost)
	case NoBucket, SubscriptionBucket:
	}
	t.paid = NoBucket
}
