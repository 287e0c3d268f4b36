package limits

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// world is a throttle with a clock.
type world struct {
	*Throttle
	now      time.Time
	replicas int
}

func newWorld(s ThrottleSettings) *world {
	w := &world{now: start, replicas: 1}
	w.Throttle = NewThrottle(s, NewBucketLevels(start), func() int { return w.replicas })
	return w
}

// same are limits by which reads, writes and deletes are alike.
func same(bucket, perSecond, factor float64) RequestLimits {
	r := Rate{bucket, perSecond}
	return RequestLimits{[RequestKinds]Rate{r, r, r}, factor}
}

func (w *world) take(caller, subscription string) (Ticket, *Refusal) {
	return w.Take(ThrottledRequest{Reads, caller, subscription, w.now}, func() bool { return true })
}

// takeAll takes until it is refused, and returns how often it was not.
func (w *world) takeAll(t *testing.T, caller, subscription string) (n int, refusal *Refusal) {
	t.Helper()
	for ; n < 1e6; n++ {
		if _, refusal = w.take(caller, subscription); refusal != nil {
			return n, refusal
		}
	}
	t.Fatal("it is never refused")
	return n, nil
}

func headersOf(ticket Ticket) http.Header {
	h := http.Header{}
	ticket.SetHeaders(h)
	return h
}

// A bucket lets through what a plain model of one does, in thousandths of tokens, and the
// Retry-After of a refusal is true, and not a second too long.
func TestBucketIsAsThePlainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bucket, perSecond := rapid.Int64Range(1, 300).Draw(t, "bucket"), rapid.Int64Range(1, 50).Draw(t, "perSecond")
		w := newWorld(ThrottleSettings{RequestLimits: same(float64(bucket), float64(perSecond), 1000)})
		level := bucket * 1000
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			passed := rapid.SampledFrom([]int64{0, 0, 0, 1, 7, 40, 999, 5000, 100_000}).Draw(t, "passed")
			w.now = w.now.Add(time.Duration(passed) * time.Millisecond)
			level = min(bucket*1000, level+passed*perSecond)
			ticket, refusal := w.take("ann", "s")
			if (refusal == nil) != (level >= 1000) {
				t.Fatalf("with %d thousandths: %+v", level, refusal)
			}
			if refusal != nil {
				seconds := int64(refusal.RetryAfter / time.Second)
				if refusal.RetryAfter%time.Second != 0 || seconds < 1 || level+1000*seconds*perSecond < 1000 || seconds > 1 && level+1000*(seconds-1)*perSecond >= 1000 {
					t.Fatalf("with %d thousandths, %d per second: %v", level, perSecond, refusal.RetryAfter)
				}
				continue
			}
			level -= 1000
			more := rapid.SampledFrom([]int64{0, 0, 0, 1, 30}).Draw(t, "regions")
			ticket.Charge(int(more))
			level = max(level-1000*more, 1000-60_000*perSecond)
			if want := fmt.Sprint(max(level, 0) / 1000); headersOf(ticket)["X-Ms-Ratelimit-Remaining-Subscription-Reads"][0] != want {
				t.Fatalf("%v are left, want %s", headersOf(ticket), want)
			}
		}
	})
}

func TestKindsHaveBucketsOfTheirOwn(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(3, 1, 15)})
	for method, name := range map[string]string{
		http.MethodGet: "Reads", http.MethodHead: "Reads", http.MethodPut: "Writes", http.MethodPatch: "Writes", http.MethodPost: "Writes", http.MethodDelete: "Deletes",
	} {
		for subscription, prefix := range map[string]string{"s": "Subscription-", "": "Tenant-"} {
			ticket, refusal := w.Take(ThrottledRequest{RequestKindOf(method), method + subscription, subscription, w.now}, func() bool { return true })
			h := headersOf(ticket)
			if refusal != nil || len(h["X-Ms-Ratelimit-Remaining-"+prefix+name]) != 1 || h["X-Ms-Ratelimit-Remaining-"+prefix+name][0] != "2" {
				t.Errorf("%s: %v %v", method, h, refusal)
			}
			if subscription != "" && len(h["X-Ms-Ratelimit-Remaining-Subscription-Global-"+name]) != 1 {
				t.Errorf("%s: %v", method, h)
			}
		}
	}
	w.takeAll(t, "ann", "s")
	if _, refusal := w.Take(ThrottledRequest{Writes, "ann", "s", w.now}, nil); refusal != nil {
		t.Error("reads have used up the writes")
	}
}

// Whoever uses up what one caller may leaves the rest of the subscription's to others, and
// all together get no more than that.
func TestSubscriptionIsShared(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(20, 2, 3)})
	n, refusal := w.takeAll(t, "greedy", "s")
	if n != 20 || refusal.Scope != CallerBucket {
		t.Errorf("%d, then %v", n, refusal)
	}
	for _, other := range []string{"ann", "bob"} {
		if n, _ := w.takeAll(t, other, "S"); n != 20 {
			t.Errorf("%s gets %d", other, n)
		}
	}
	if n, refusal := w.takeAll(t, "carl", "s"); n != 0 || refusal.Scope != SubscriptionBucket || refusal.RetryAfter != time.Second {
		t.Errorf("%d, then %v", n, refusal)
	}
	for _, elsewhere := range []string{"another", ""} {
		if n, _ := w.takeAll(t, "greedy", elsewhere); n != 20 {
			t.Errorf("%q gives %d", elsewhere, n)
		}
	}
	w.now = w.now.Add(2 * time.Second) // 4 tokens for each caller, 12 for the subscription
	for _, c := range []struct {
		caller string
		want   int
	}{{"greedy", 4}, {"ann", 4}, {"carl", 4}, {"dora", 0}} {
		if n, _ := w.takeAll(t, c.caller, "s"); n != c.want {
			t.Errorf("%s gets %d", c.caller, n)
		}
	}
}

// Subscriptions that do not exist for a caller use up the caller's tokens at its tenant,
// and neither a subscription's nor the room for others' buckets; then no one is asked
// any more whether one exists.
func TestInventedSubscriptionsCostTheirInventor(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(1000, 1, 15)})
	if n, _ := w.takeAll(t, "ann", "s"); n != 1000 {
		t.Fatal(n)
	}
	calls, refused := 0, 0
	for i := range 100_000 {
		ticket, refusal := w.Take(ThrottledRequest{Reads, "eve", fmt.Sprint(i), w.now}, func() bool { calls++; return false })
		if refusal != nil {
			refused++
			if refusal.Scope != TenantBucket {
				t.Fatalf("%+v", refusal)
			}
		}
		if h := headersOf(ticket); len(h) > 0 {
			t.Fatalf("a subscription that does not exist has headers: %v", h)
		}
	}
	if calls != 1000 || refused != 99_000 {
		t.Errorf("%d were looked for, %d refused", calls, refused)
	}
	if _, refusal := w.take("ann", "s"); refusal == nil {
		t.Error("others' buckets were forgotten")
	}
	if n, _ := w.takeAll(t, "bob", "1"); n != 1000 {
		t.Errorf("another caller gets %d of one that was asked for in vain", n)
	}
}

// What turns out not to exist for a caller, though it seemed to, costs the caller at its
// tenant too.
func TestDisownedSubscriptionIsNotCharged(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(10, 1, 2)})
	for i := range 10 {
		ticket, refusal := w.take("eve", "s")
		if refusal != nil {
			t.Fatal(i, refusal)
		}
		ticket.Disown()
		if h := headersOf(ticket); len(h) > 0 {
			t.Fatalf("it has headers: %v", h)
		}
	}
	if _, refusal := w.take("eve", "s"); refusal == nil || refusal.Scope != TenantBucket {
		t.Errorf("got %v", refusal)
	}
	ann, _ := w.takeAll(t, "ann", "s")
	bob, _ := w.takeAll(t, "bob", "s")
	if ann != 10 || bob != 10 {
		t.Errorf("others get %d and %d", ann, bob)
	}
}

// Whoever can have a subscription turn out not to exist gets no full buckets by that.
func TestDisowningFillsNoBucket(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(10, 1, 2)})
	for range 9 {
		if _, refusal := w.take("eve", "s"); refusal != nil {
			t.Fatal(refusal)
		}
	}
	ticket, _ := w.Take(ThrottledRequest{Writes, "eve", "s", w.now}, nil)
	ticket.Disown()
	if n, refusal := w.takeAll(t, "eve", "s"); n != 1 || refusal.Scope != CallerBucket {
		t.Errorf("%d more are let through, then %v", n, refusal)
	}
}

// A list may cost more than there is; no one waits for longer than a minute then.
func TestDebtEnds(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(5, 1, 1000)})
	ticket, _ := w.take("ann", "s")
	ticket.Charge(999)
	_, refusal := w.take("ann", "s")
	if refusal == nil || refusal.RetryAfter != MaxThrottleWait {
		t.Fatalf("got %+v", refusal)
	}
	if h := headersOf(ticket); h["X-Ms-Ratelimit-Remaining-Subscription-Reads"][0] != "0" {
		t.Errorf("got %v", h)
	}
	w.now = w.now.Add(MaxThrottleWait)
	if _, refusal := w.take("ann", "s"); refusal != nil {
		t.Errorf("after a minute: %+v", refusal)
	}
}

func TestLimitsOfOneSubscription(t *testing.T) {
	own := same(2, 1, 4)
	w := newWorld(ThrottleSettings{RequestLimits: same(10, 1, 2), Subscriptions: map[string]*RequestLimits{"abc": &own}})
	for _, c := range []struct {
		caller, subscription string
		want                 int
	}{{"ann", "ABC", 2}, {"bob", "abc", 2}, {"ann", "def", 10}, {"ann", "", 10}} {
		if n, _ := w.takeAll(t, c.caller, c.subscription); n != c.want {
			t.Errorf("%s in %q gets %d", c.caller, c.subscription, n)
		}
	}
}

// Another configuration finds the levels that the one before has left.
func TestLevelsOutliveConfigurations(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(10, 1, 2)})
	w.takeAll(t, "ann", "s")
	w.Throttle = NewThrottle(ThrottleSettings{RequestLimits: same(15, 1, 2)}, w.levels, func() int { return 1 })
	if n, _ := w.takeAll(t, "ann", "s"); n != 5 {
		t.Errorf("%d are let through after a reload", n)
	}
}

// Replicas together let through what one would, and while their number changes less than
// twice that.
func TestSharesOfReplicas(t *testing.T) {
	const bucket, perSecond, seconds = 60, 6, 20
	run := func(replicas int, known func(replica, second int) int) (passed int) {
		worlds := make([]*world, replicas)
		for i := range worlds {
			worlds[i] = newWorld(ThrottleSettings{RequestLimits: same(bucket, perSecond, 15)})
		}
		for second := range seconds {
			for i, w := range worlds {
				w.now = start.Add(time.Duration(second) * time.Second)
				if w.replicas = known(i, second); w.replicas == 0 {
					continue // it is not there
				}
				n, _ := w.takeAll(t, "ann", "s")
				passed += n
			}
		}
		return passed
	}
	limit := bucket + perSecond*(seconds-1)
	for _, replicas := range []int{1, 2, 3, 5} {
		if got := run(replicas, func(int, int) int { return replicas }); got > limit || got < limit-replicas {
			t.Errorf("%d replicas let through %d, want %d", replicas, got, limit)
		}
	}
	// The second joins after 4 seconds, and the first hears of it after 9.
	got := run(2, func(replica, second int) int {
		switch {
		case replica == 0 && second < 9:
			return 1
		case replica == 1 && second < 4:
			return 0
		}
		return 2
	})
	if most := limit + bucket/2 + 5*perSecond/2; got > most || got < limit {
		t.Errorf("%d while a replica joins, want %d to %d", got, limit, most)
	}
	// The second leaves after 4, and the first hears of it after 9.
	got = run(2, func(replica, second int) int {
		switch {
		case replica == 1 && second >= 4:
			return 0
		case second >= 9:
			return 1
		}
		return 2
	})
	if most := limit + bucket/2; got > most || got < limit-bucket/2-5*perSecond/2 {
		t.Errorf("%d while a replica leaves, want at most %d", got, most)
	}
}

// However many replicas there are, each lets a request through in a minute.
func TestManyReplicas(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(2, 1, 2)})
	w.replicas = 1000
	if _, refusal := w.take("ann", "s"); refusal != nil {
		t.Fatal(refusal)
	}
	_, refusal := w.take("ann", "s")
	if refusal == nil || refusal.RetryAfter != MaxThrottleWait {
		t.Fatalf("got %+v", refusal)
	}
}

// A caller that uses the buckets of very many subscriptions pushes out its own.
func TestMemoryIsBounded(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(10, 1, 1000)})
	for i := range 100_000 {
		w.takeAll(t, "greedy", fmt.Sprint(i))
	}
	n := 0
	for i := range w.levels.callers {
		n += w.levels.callers[i].buckets.Len()
	}
	if n > perShard+1 { // its tenant's may have a place of its own
		t.Errorf("one caller has %d buckets", n)
	}
}

func TestWarmRequestAllocatesNothing(t *testing.T) {
	w := newWorld(ThrottleSettings{RequestLimits: same(1e9, 1, 15), Subscriptions: map[string]*RequestLimits{"x": {}}})
	caller, subscription := strings.Repeat("c", 73), "00000000-0000-0000-0000-0000000000AA"
	h := http.Header{}
	exists := func() bool { return len(h) == 0 }
	if n := testing.AllocsPerRun(100, func() { _, _ = w.Take(ThrottledRequest{Reads, caller, subscription, w.now}, exists) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkTake(b *testing.B) {
	w := newWorld(ThrottleSettings{RequestLimits: same(1e12, 1, 15)})
	caller, subscription := strings.Repeat("c", 73), "00000000-0000-0000-0000-0000000000AA"
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := w.Take(ThrottledRequest{Reads, caller, subscription, w.now}, func() bool { return true }); refusal != nil {
			b.Fatal(refusal)
		}
	}
}
